"""Spans of time: as a person types one (`30d`), and as a person reads one (`3 h`)."""

from __future__ import annotations

import re
from typing import Final

SECOND_MS: Final = 1000
MINUTE_MS: Final = 60 * SECOND_MS
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS
WEEK_MS: Final = 7 * DAY_MS

_UNITS: Final = {"w": WEEK_MS, "d": DAY_MS, "": DAY_MS, "h": HOUR_MS, "m": MINUTE_MS}
_SPAN: Final = re.compile(r"([0-9]{1,6})([wdhm]?)", re.ASCII)


def parse_span(text: str) -> int | None:
    """Milliseconds of `8w`, `30d`, `12h`, `90m`, or `30`, which are days; None: it is no span."""
    found = _SPAN.fullmatch(text.strip())
    return int(found[1]) * _UNITS[found[2]] if found else None


def show_span(ms: int) -> str:
    """`45 s`, `12 min`, `3 h 20 min`, `2 d 5 h`, `40 d`: what matters of it. Never negative."""
    ms = max(0, ms)
    if ms < MINUTE_MS:
        return f"{ms // SECOND_MS} s"
    if ms < HOUR_MS:
        return f"{ms // MINUTE_MS} min"
    if ms < DAY_MS:
        return _two(ms, HOUR_MS, "h", MINUTE_MS, "min")
    if ms < 10 * DAY_MS:
        return _two(ms, DAY_MS, "d", HOUR_MS, "h")
    return f"{ms // DAY_MS} d"


def brief_span(ms: int) -> str:
    """`45 s`, `12 min`, `3 h`, `40 d`: its largest unit alone, for a column."""
    ms = max(0, ms)
    for large, word in ((DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min")):
        if ms >= large:
            return f"{ms // large} {word}"
    return f"{ms // SECOND_MS} s"


def _two(ms: int, large: int, large_word: str, small: int, small_word: str) -> str:
    rest = ms % large // small
    return f"{ms // large} {large_word}" + (f" {rest} {small_word}" if rest else "")


def show_bytes(count: int) -> str:
    """`812 bytes`, `1.2 MB`: in powers of ten."""
    if count < 1000:
        return f"{count} byte{'s' if count != 1 else ''}"
    size, unit = count / 1000, "kB"
    for larger in ("MB", "GB", "TB"):
        if size < 999.95:
            break
        size, unit = size / 1000, larger
    return f"{size:.1f} {unit}"
