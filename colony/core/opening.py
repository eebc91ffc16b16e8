"""When starts are allowed next: the hours on the clock of a place, also where it is changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from colony.core.hours import Hours
from colony.core.markers import utc

DAY_MS: Final = 86_400_000
_AHEAD_DAYS: Final = 16
"""A span in the hour that a clock skips is missed once; a week later it is there again."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Hours where they hold. No hours: always open."""

    hours: Hours | None = None
    zone: tzinfo = UTC

    def closed_until_ms(self, now_ms: int) -> int | None:
        """When starts are allowed next, as UTC milliseconds; None: now."""
        hours = self.hours
        if hours is None or hours.is_open(_local(now_ms, self.zone)):
            return None
        moments = sorted({*self._beginnings(hours, now_ms), *_changes(self.zone, now_ms)})
        return next(
            (at for at in moments if at > now_ms and hours.is_open(_local(at, self.zone))), now_ms
        )

    def _beginnings(self, hours: Hours, now_ms: int) -> Iterator[int]:
        """Of all spans of the days around and after; where a clock is put back, both times."""
        today = _local(now_ms, self.zone).replace(hour=0, minute=0, second=0, microsecond=0)
        for ahead in range(_AHEAD_DAYS):
            day = today.replace(tzinfo=None) + timedelta(days=ahead)
            for minute in {span.first for span in hours.spans}:
                for fold in (0, 1):
                    at = day + timedelta(minutes=minute)
                    yield _ms(at.replace(tzinfo=self.zone, fold=fold))


ALWAYS: Final = Opening()


def closed(until_ms: int) -> str:
    """Why nothing is started now."""
    return f"outside of COLONY_HOURS until {utc(until_ms)}"


def _changes(zone: tzinfo, now_ms: int) -> Iterator[int]:
    """When the clock there is put forward or back, which may open a span in its middle."""
    for at in range(_AHEAD_DAYS):
        before, after = now_ms + at * DAY_MS, now_ms + (at + 1) * DAY_MS
        if _offset(before, zone) == _offset(after, zone):
            continue
        while after - before > 1:
            middle = (before + after) // 2
            if _offset(middle, zone) == _offset(before, zone):
                before = middle
            else:
                after = middle
        yield after


def _local(at_ms: int, zone: tzinfo) -> datetime:
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at_ms)).astimezone(zone)


def _offset(at_ms: int, zone: tzinfo) -> timedelta | None:
    return _local(at_ms, zone).utcoffset()


def _ms(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
