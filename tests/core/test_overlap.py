"""What is new at the end of a text of which only the end is kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from colony.core.overlap import appended

WORDS = st.lists(st.sampled_from(["a", "b"]), max_size=12)


def test_a_window_that_moves_on_shows_each_entry_once() -> None:
    assert appended([], ["a", "b"]) == ["a", "b"]
    assert appended(["a", "b"], ["a", "b", "c"]) == ["c"]
    assert appended(["a", "b", "c"], ["c", "d"]) == ["d"]
    assert appended(["a", "b"], ["x"]) == ["x"]
    assert appended(["a", "b"], ["a", "b"]) == []
    assert appended(["a"], []) == []


@given(before=WORDS, now=WORDS)
def test_it_leaves_out_the_longest_overlap(before: list[str], now: list[str]) -> None:
    longest = max(size for size in range(len(now) + 1) if size == 0 or before[-size:] == now[:size])
    assert list(appended(before, now)) == now[longest:]


def test_many_equal_entries_cost_no_square() -> None:
    many = ["a"] * 30_000
    assert appended(many, [*many[1:], "b"]) == ["b"]
    assert len(appended([*many, "b"], many)) == len(many)
