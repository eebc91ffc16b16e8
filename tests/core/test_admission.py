"""Does one more fit? The rule of seed 000, number for number.

| rule | test |
|---|---|
| held + young + need > limit - min(limit x percent, 8 GB) | test_memory_is_refused_above_… |
| free < need + min(total x percent, 10 GB) | test_disk_is_refused_below_… |
| memory before disk, one cause | test_memory_is_judged_first_and_one_cause_is_told |
| unknown is a refusal | test_unknown_is_a_refusal |
| not Linux passes | test_a_machine_that_is_not_linux_passes |
| a stated limit | test_a_stated_limit_only_lowers_the_line |
| every ancestor | test_the_tightest_level_decides |
| young sessions | test_young_sessions_reserve_what_they_are_to_hold |
| numbers, under 200 characters | test_a_refusal_is_short_and_has_every_number |
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.core.admission import (
    CAUSES,
    GB,
    Bound,
    Disk,
    Full,
    Live,
    Memory,
    Reading,
    Reserved,
    Unknown,
    judge,
    reads,
    reserved,
    stands,
)
from colony.core.guard import MIB, OFF, Guard
from tests.fakes.gauges import machine

ON: Final = Guard(on=True)
NEED: Final = ON.session_memory
NOBODY: Final = Reserved()


def held(limit: int, held_: int, **more: Bound) -> Reading:
    groups = (Bound("cgroup v2", limit, held_), *more.values())
    whole = Bound("/proc/meminfo", 1000 * GB, held_, "the machine")
    return Reading(Memory(whole, groups), (Disk("work folder", 500 * GB, 500 * GB),))


def disk(free: int, total: int, free_inodes: int = 0, inodes: int = 0) -> Reading:
    return replace(machine(900, 1), disks=(Disk("run folder", free, total, free_inodes, inodes),))


@pytest.mark.parametrize(
    ("limit", "kept"), [(4 * GB, 400_000_000), (80 * GB, 8 * GB), (500 * GB, 8 * GB)]
)
def test_memory_is_refused_above_the_line_and_not_at_it(limit: int, kept: int) -> None:
    line = limit - kept
    for young in (0, 2):
        before = Reserved(young, young * NEED)
        at = line - (young + 1) * NEED
        assert judge(held(limit, at), ON, before, NEED) is None
        full = judge(held(limit, at + 1), ON, before, NEED)
        assert full is not None
        assert full.cause == "memory"


@pytest.mark.parametrize(("total", "kept"), [(50, 5), (100, 10), (10_000, 10)])
def test_disk_is_refused_below_the_line_and_not_at_it(total: int, kept: int) -> None:
    line = 2048 * MIB + kept * GB
    assert judge(disk(line, total * GB), ON, NOBODY, NEED) is None
    full = judge(disk(line - 1, total * GB), ON, NOBODY, NEED)
    assert full is not None
    assert full.cause == "disk"


def test_a_disk_without_inodes_is_full() -> None:
    full = judge(disk(400 * GB, 500 * GB, 9_999, 1_000_000), ON, NOBODY, NEED)
    assert full is not None
    assert (full.cause, full.numbers) == (
        "disk", "9999 of 1000000 inodes free where the run folder lies < 10000 for a session",
    )  # fmt: skip
    assert judge(disk(400 * GB, 500 * GB, 10_000, 1_000_000), ON, NOBODY, NEED) is None
    assert judge(disk(400 * GB, 500 * GB, 0, 0), ON, NOBODY, NEED) is None


def test_memory_is_judged_first_and_one_cause_is_told() -> None:
    both = replace(machine(2, 1.5), disks=(Disk("work folder", 0, 500 * GB),))
    full = judge(both, ON, NOBODY, NEED)
    assert full is not None
    assert full.label == "no room: memory"
    assert "where the" not in full.text
    unread = replace(both, disks=(Unknown("the disk cannot be read"),))
    assert judge(unread, ON, NOBODY, NEED) == full


def test_each_disk_is_judged() -> None:
    one, two = Disk("work folder", 99 * GB, 100 * GB), Disk("temporary folder", 1 * GB, 100 * GB)
    full = judge(replace(machine(900, 1), disks=(one, two)), ON, NOBODY, NEED)
    assert full is not None
    assert "temporary folder" in full.numbers


def test_unknown_is_a_refusal() -> None:
    nothing = Reading(Unknown("memory.max cannot be read: Permission denied"), ())
    full = judge(nothing, ON, NOBODY, NEED)
    assert full is not None
    assert full.text == ("no room: unknown — memory.max cannot be read: Permission denied")
    no_disk = replace(machine(900, 1), disks=(Unknown("the disk of the work folder is gone"),))
    full = judge(no_disk, ON, NOBODY, NEED)
    assert full is not None
    assert full.cause == "unknown"


def test_a_machine_that_is_not_linux_passes() -> None:
    assert judge(None, ON, Reserved(40, 40 * NEED), NEED) is None
    assert reads(None, ON) == "on: this is not Linux, so every session fits"


def test_the_guard_can_be_off() -> None:
    assert judge(machine(1, 1), OFF, NOBODY, NEED) is None


def test_a_stated_limit_only_lowers_the_line() -> None:
    free = Bound("cgroup v2", None, 1 * GB)
    whole = Bound("/proc/meminfo", 300 * GB, 200 * GB, "the machine")
    open_ = Reading(Memory(whole, (free,)), ())
    four = replace(ON, memory_limit=4 * GB)
    assert judge(open_, ON, NOBODY, 93 * GB) is not None
    assert judge(open_, ON, NOBODY, 91 * GB) is None
    assert judge(open_, four, NOBODY, 2_600_000_000) is None
    full = judge(open_, four, NOBODY, 2_600_000_001)
    assert full is not None
    assert "4.00 GB of COLONY_MEMORY_LIMIT_MB" in full.numbers
    # The kernel's own limit wins, and that is said.
    own = Reading(Memory(whole, (Bound("cgroup v2", 3 * GB, 1 * GB),)), ())
    assert judge(own, four, NOBODY, 1_700_000_000) is None
    assert judge(own, four, NOBODY, 1_700_000_001) is not None
    assert "COLONY_MEMORY_LIMIT_MB says 4.00 GB: the lower one holds" in reads(own, four)
    assert "the lower one holds" not in reads(open_, four)


def test_a_stated_limit_means_nothing_where_only_the_machine_can_be_read() -> None:
    whole = Bound("/proc/meminfo", 300 * GB, 1 * GB, "the machine")
    alone = Reading(Memory(whole), ())
    assert judge(alone, ON, NOBODY, NEED) is None
    full = judge(alone, replace(ON, memory_limit=4 * GB), NOBODY, NEED)
    assert full is not None
    assert full.label == "no room: unknown"
    assert "only /proc/meminfo could be read" in full.text
    assert full.text.endswith("limit")


def test_the_tightest_level_decides() -> None:
    above = Bound("cgroup v2", 40 * GB, 35 * GB)
    full = judge(held(24 * GB, 3 * GB, above=above), ON, NOBODY, NEED)
    assert full is not None
    assert full.numbers.startswith("35.00 GB held")
    roomy = Bound("cgroup v2", 40 * GB, 3 * GB)
    assert judge(held(24 * GB, 3 * GB, above=roomy), ON, NOBODY, NEED) is None
    machine_ = Reading(
        Memory(Bound("/proc/meminfo", 64 * GB, 60 * GB, "the machine"), (roomy,)), ()
    )
    full = judge(machine_, ON, NOBODY, NEED)
    assert full is not None
    assert "64.00 GB of the machine" in full.numbers


def test_young_sessions_reserve_what_they_are_to_hold() -> None:
    now_ms, warmup_ms = 10_000_000, 600_000
    young = Live(now_ms - warmup_ms + 1, 2 * GB)
    old = Live(now_ms - warmup_ms, 4 * GB)
    ahead = Live(now_ms + 3_600_000, 1 * GB)
    assert reserved([young, old, ahead], now_ms, warmup_ms) == Reserved(2, 3 * GB)
    assert reserved([young, old], now_ms, 0) == Reserved()


def test_pressure_and_kills_are_shown_and_judge_nothing() -> None:
    tight = replace(machine(24, 2), pressure=99.0, kills=7)
    assert judge(tight, ON, NOBODY, NEED) is None
    told = stands(tight, ON, Reserved(2, 2 * NEED))
    assert told == (
        "2.00 GB of 24.00 GB memory held (cgroup v2), 2.15 GB more for 2 just begun,"
        " 500.00 GB of 500.00 GB disk free, memory pressure 99.0 %, 7 killed for want of memory"
    )


def test_what_is_read_is_said_alike_until_files_or_limits_change() -> None:
    first = reads(machine(24, 2), ON)
    assert first == (
        "on: memory from cgroup v2, limit 24.00 GB from cgroup; disk 500.00 GB where the work"
        " folder lies"
    )
    assert reads(replace(machine(24, 20, free=3), pressure=3.0, kills=1), ON) == first
    assert reads(machine(23, 2), ON) != first
    assert reads(Reading(Unknown("why"), ()), ON).startswith("on: memory unknown (why)")


SIZES: Final = st.integers(0, 2**63)


@given(
    st.builds(Bound, st.just("cgroup v1"), SIZES, SIZES),
    st.builds(Disk, st.just("temporary folder"), SIZES, SIZES, SIZES, SIZES),
    st.builds(Reserved, st.integers(0, 1000), SIZES),
    st.one_of(st.none(), SIZES),
)
def test_a_refusal_is_short_and_has_every_number(
    bound: Bound, found: Disk, before: Reserved, stated: int | None
) -> None:
    whole = Bound("/proc/meminfo", 2**62, 0, "the machine")
    reading = Reading(Memory(whole, (bound,)), (found,))
    full = judge(reading, replace(ON, memory_limit=stated), before, NEED)
    if full is not None:
        assert len(full.text) < 200
        assert not full.text.endswith("…")
        assert full.cause in CAUSES
        assert Full.of(full.text) == full


def test_another_processes_words_are_known_again() -> None:
    assert Full.of("no room: disk — 1 < 2") == Full("disk", "1 < 2")
    for other in ("no room: money — 1", "no roome: disk — 1", "the disk is full", ""):
        assert Full.of(other) is None
