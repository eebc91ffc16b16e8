"""Memory that the kernel cannot give back, by the numbers that were measured of one group."""

from __future__ import annotations

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.core.held import FIXED_V2, held_by_machine, held_v1, held_v2

MB: Final = 1_000_000

MEASURED: Final = (
    # what was done, usage, inactive, active, rss, shmem, kernel, unwritten -> held
    ("wrote a file of 300", 309, 299, 1, 1, 0, 8, 300, 309),
    ("read it once", 309, 300, 0, 1, 0, 8, 0, 9),
    ("read it twice", 309, 0, 300, 1, 0, 8, 0, 9),
    ("200 in shared memory", 510, 0, 300, 1, 200, 9, 0, 210),
    ("150 of its own", 660, 0, 300, 151, 200, 9, 0, 360),
    ("20,000 empty files", 691, 0, 305, 151, 200, 35, 0, 386),
    ("up to the limit of 1,200", 1200, 11, 290, 663, 200, 36, 0, 899),
    ("shared memory given back", 487, 11, 290, 151, 0, 34, 0, 186),
)


@pytest.mark.parametrize("row", MEASURED, ids=lambda row: row[0])
def test_active_cache_is_not_counted_as_used(row: tuple[str, int, *tuple[int, ...]]) -> None:
    _, usage, inactive, active, rss, shmem, kernel, unwritten, held = row
    v1 = {
        "total_inactive_file": inactive * MB, "total_active_file": active * MB,
        "total_rss": rss * MB, "total_dirty": unwritten * MB, "total_shmem": shmem * MB,
    }  # fmt: skip
    assert held_v1(usage * MB, v1) == pytest.approx(held * MB, abs=MB)
    v2 = {
        "inactive_file": inactive * MB, "active_file": active * MB, "anon": rss * MB,
        "shmem": shmem * MB, "slab_unreclaimable": kernel * MB, "file_dirty": unwritten * MB,
    }  # fmt: skip
    assert held_v2(usage * MB, v2) == pytest.approx(held * MB, abs=2 * MB)


def test_shared_memory_stays_although_it_is_called_cache() -> None:
    stat = {"anon": MB, "file": 500 * MB, "shmem": 200 * MB, "active_file": 300 * MB}
    assert held_v2(501 * MB, stat) == 201 * MB


def test_what_is_not_written_yet_cannot_go_at_once() -> None:
    assert held_v2(400 * MB, {"inactive_file": 400 * MB, "file_dirty": 250 * MB}) == 250 * MB
    assert held_v1(400 * MB, {"total_inactive_file": 400 * MB, "total_writeback": 9}) == 9


def test_slab_that_can_go_is_not_counted() -> None:
    stat = {"anon": 100 * MB, "slab_reclaimable": 300 * MB}
    assert held_v2(400 * MB, stat) == 100 * MB


def test_the_two_counts_may_differ_by_a_tenth() -> None:
    assert held_v2(109 * MB, {"anon": 100 * MB}) == 100 * MB
    assert held_v2(112 * MB, {"anon": 100 * MB}) == 112 * MB
    assert held_v2(50 * MB, {"anon": 100 * MB}) == 100 * MB


def test_a_kernel_that_leaves_keys_out_hides_nothing() -> None:
    assert held_v2(700 * MB, {}) == 700 * MB
    assert held_v2(700 * MB, {"anon": 10 * MB, "inactive_file": 300 * MB}) == 400 * MB
    assert held_v1(700 * MB, {}) == 700 * MB


def test_files_that_were_read_at_different_moments_give_no_negative_number() -> None:
    assert held_v2(100, {"inactive_file": 300}) == 0
    assert held_v1(100, {"total_active_file": 300}) == 0
    assert held_by_machine({"MemTotal": 100, "MemAvailable": 300}) == 0


def test_a_machine_holds_what_is_not_available() -> None:
    assert held_by_machine({"MemTotal": 100, "MemAvailable": 30, "MemFree": 10}) == 70
    assert held_by_machine({"MemTotal": 100, "MemFree": 10}) == 90


@given(
    st.integers(0, 2**62),
    st.dictionaries(st.sampled_from((*FIXED_V2, "inactive_file", "file_dirty")), st.integers(0)),
)
def test_whatever_is_read_no_less_is_held_than_what_is_named(
    current: int, stat: dict[str, int]
) -> None:
    named = sum(size for key, size in stat.items() if key != "inactive_file")
    assert held_v2(current, stat) >= named
