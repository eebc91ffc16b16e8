"""Ranges of ports never overlap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.core.ports import free_ranges, parse_range, show_range


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("8700-8799", (8700, 8799)),
        ("1-1", (1, 1)),
        ("8799-8700", None),
        ("0-10", None),
        ("1-65536", None),
        ("8700", None),
        ("a-b", None),
        ("²-³", None),
        ("", None),
        ("-", None),
    ],
)
def test_a_range_is_two_ports_in_order(text: str, span: tuple[int, int] | None) -> None:
    assert parse_range(text) == span
    if span:
        assert show_range(span) == text


@given(st.lists(st.integers(8700, 8799), max_size=8), st.integers(1, 20))
def test_a_free_range_touches_no_taken_one(taken: list[int], size: int) -> None:
    held = [(port, port + 3) for port in taken]
    for low, high in free_ranges((8700, 8799), size, held):
        assert low >= 8700
        assert high <= 8799
        assert high - low + 1 == size
        assert all(high < first or last < low for first, last in held)


def test_a_pool_gives_every_block_once() -> None:
    assert list(free_ranges((8700, 8729), 10, [(8712, 8715)])) == [(8700, 8709), (8720, 8729)]
    assert list(free_ranges((8700, 8704), 10, [])) == []
