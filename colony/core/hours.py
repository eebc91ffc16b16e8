"""When sessions may be started: spans of the week on the clock of a place.

A span belongs to the day it begins on: `Fri 18:00-08:00` ends on Saturday morning, whether or not
Saturday has hours of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Final

DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY_MIN: Final = 24 * 60
WEEK_DAYS: Final = range(7)

_SHAPE: Final = "must be days and times such as Mon-Fri 18:00-08:00, Sat, Sun 10:00-16:00"


@dataclass(frozen=True, slots=True)
class Span:
    """Minutes of the day: from `first` up to `end`, which lies on the day after where it is not
    later. `days`: those it begins on, 0 is Monday."""

    days: frozenset[int]
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Hours:
    spans: tuple[Span, ...]

    def is_open(self, local: datetime) -> bool:
        """`local`: as the clock on the wall shows it."""
        day, minute = local.weekday(), local.hour * 60 + local.minute
        before = (day - 1) % 7
        for span in self.spans:
            over_midnight = span.end <= span.first
            if day in span.days and span.first <= minute and (over_midnight or minute < span.end):
                return True
            if over_midnight and before in span.days and minute < span.end:
                return True
        return False


def parse(text: str) -> Hours:
    """`Mon-Fri 18:00-08:00, Sat`: spans with commas between. Without times the whole day, without
    days every day. `ValueError`, in one line, says what is wrong; it repeats nothing of the text,
    which may be a password in the wrong place."""
    parts = text.split(",")
    spans = []
    for number, each in enumerate(parts, 1):
        try:
            spans.append(_span(each.strip()))
        except ValueError as wrong:
            where = f"span {number} of {len(parts)}: " if len(parts) > 1 else ""
            raise ValueError(f"{where}{wrong}") from None
    return Hours(tuple(spans))


def _span(text: str) -> Span:
    match text.split():
        case [days, times]:
            return Span(_days(days), *_times(times))
        case [times] if times[0].isdigit():
            return Span(frozenset(WEEK_DAYS), *_times(times))
        case [days]:
            return Span(_days(days), 0, DAY_MIN)
        case _:
            raise ValueError(_SHAPE)


def _days(text: str) -> frozenset[int]:
    """A day, or from one to another, over the end of the week where it lies in between."""
    ends = [_day(each) for each in text.split("-")]
    if len(ends) > 2:
        raise ValueError(_SHAPE)
    count = (ends[-1] - ends[0]) % 7 + 1
    return frozenset((ends[0] + at) % 7 for at in range(count))


def _day(text: str) -> int:
    if text.capitalize() not in DAYS:
        raise ValueError(f"a day is one of {' '.join(DAYS)}")
    return DAYS.index(text.capitalize())


def _times(text: str) -> tuple[int, int]:
    ends = [_time(each) for each in text.split("-")]
    if len(ends) != 2:
        raise ValueError(_SHAPE)
    first, end = ends
    if first == DAY_MIN:
        raise ValueError("24:00 begins nothing; it is 00:00 of the day after")
    if first == end:
        raise ValueError("it begins and ends at the same time; a day alone is all of it")
    return first, end


def _time(text: str) -> int:
    found = re.fullmatch(r"([0-9]{1,2}):([0-9]{2})", text, re.ASCII)
    minutes = int(found[1]) * 60 + int(found[2]) if found and int(found[2]) < 60 else DAY_MIN + 1
    if minutes > DAY_MIN:
        raise ValueError("a time is one of 00:00 to 24:00")
    return minutes
