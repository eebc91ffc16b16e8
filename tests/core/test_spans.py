"""Spans and sizes: what a person types, and what a person reads."""

from __future__ import annotations

import pytest

from colony.core.spans import brief_span, parse_span, show_bytes, show_span

MIN, HOUR, DAY = 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("30d", 30 * DAY),
        ("30", 30 * DAY),
        ("3w", 21 * DAY),
        ("12h", 12 * HOUR),
        ("90m", 90 * MIN),
        ("0d", 0),
    ],
)
def test_what_a_person_types(text: str, ms: int) -> None:
    assert parse_span(text) == ms


@pytest.mark.parametrize("text", ["", "d", "-1d", "1.5d", "30 d", "3y", "1e9", "9999999d", "३d"])
def test_what_is_no_span(text: str) -> None:
    assert parse_span(text) is None


@pytest.mark.parametrize(
    ("ms", "full", "brief"),
    [
        (-5, "0 s", "0 s"),
        (59_999, "59 s", "59 s"),
        (MIN, "1 min", "1 min"),
        (3 * HOUR + 20 * MIN, "3 h 20 min", "3 h"),
        (2 * HOUR, "2 h", "2 h"),
        (2 * DAY + 5 * HOUR, "2 d 5 h", "2 d"),
        (40 * DAY + HOUR, "40 d", "40 d"),
    ],
)
def test_what_a_person_reads(ms: int, full: str, brief: str) -> None:
    assert (show_span(ms), brief_span(ms)) == (full, brief)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_949, "999.9 kB"),
        (999_999, "1.0 MB"),
        (1_500_000_000, "1.5 GB"),
        (5 * 10**15, "5000.0 TB"),
    ],
)
def test_sizes(count: int, text: str) -> None:
    assert show_bytes(count) == text
