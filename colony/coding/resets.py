"""The moment of reset that a text of an agent's program states, in any form known here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

GRACE_MS: Final = 3_600_000
"""A stated hour this far in the past was meant, not its return tomorrow: messages may be late."""


def until_ms(text: str, now_ms: int, zone: tzinfo) -> int | None:
    """The moment of reset that `text` states, in milliseconds UTC; None for a form not known here.

    A time without a date is its next return, a date without a year likewise; a minute that a
    change of the clocks skips or repeats is the first that is not over. Wall times without a
    named zone are in `zone`.
    """
    spaced = " ".join(text.split())
    for read in _FORMS:
        found = read(spaced, now_ms, zone)
        if found is not None:
            return found
    return None


# --- the forms -----------------------------------------------------------------------------

_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_ABBREVIATIONS: Final = {
    "UTC": 0, "GMT": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6,
    "PST": -8, "PDT": -7, "BST": 1, "CET": 1, "CEST": 2, "IST": 5.5, "JST": 9,
}  # fmt: skip
_REGIONS: Final = {
    "ET": "America/New_York", "CT": "America/Chicago", "MT": "America/Denver",
    "PT": "America/Los_Angeles",
}  # fmt: skip
_HERE: Final = frozenset({"", "local", "local time", "your time", "your local time"})

_ANCHOR: Final = (
    r"\b(?:resets?|reset (?:at|on)|again|until|access|available|retry)"
    r"(?: (?:will )?(?:be )?(?:at|on|after))?[ :]+(?:on |at )?"
)
_CLOCK: Final = (
    r"(?:(?P<named>noon|midnight)\b"
    r"|(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?::\d{2})?)?(?: ?(?P<half>[ap])\.?m\b\.?)?)"
)
_WORD: Final = r"(?P<word>today|tomorrow|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*)"
_DATE: Final = (
    r"(?:(?P<month>[a-z]{3,9})\.? (?P<day>\d{1,2})|(?P<day2>\d{1,2})(?:st|nd|rd|th)?\.?"
    r"(?: of)? (?P<month2>[a-z]{3,9}))(?:st|nd|rd|th)?,?(?: (?P<year>\d{4})\b,?)?"
)
# Capital letters only: "5pm or upgrade" names no zone.
_ZONE: Final = (
    r"(?: ?\((?P<zone>[^)]{1,40})\)"
    r"| ?(?P<zone2>(?-i:(?:UTC|GMT)[+-]\d{1,2}(?::?\d{2})?|[A-Z][A-Za-z]+/[A-Za-z_/]+"
    r"|[A-Z]{2,4}|Z))\b)?"
)

_DAY_FIRST: Final = re.compile(
    rf"{_ANCHOR}(?:{_WORD},?|{_DATE})?(?: ?(?:at )?{_CLOCK})?{_ZONE}", re.IGNORECASE
)
_CLOCK_FIRST: Final = re.compile(
    rf"{_ANCHOR}{_CLOCK},? (?:on )?(?:{_WORD}|{_DATE}){_ZONE}", re.IGNORECASE
)
_ISO: Final = re.compile(
    r"\b(\d{4}-\d\d-\d\d)[T ](?:at )?(\d\d:\d\d(?::\d\d)?)(?! ?[AaPp]\.?[Mm])(?:\.\d+)?"
    r" ?(Z|UTC|GMT|[+-]\d\d:?\d\d)?"
)
_RELATIVE: Final = re.compile(
    r"\b(?:resets?|again|available|retry) (?:after|in) (?:about )?"
    r"(?:(?P<d>\d{1,3}) ?d(?:ays?)?,? ?)?(?:(?P<h>\d{1,4}) ?h(?:ours?|rs?)?,? ?)?(?:and )?"
    r"(?:(?P<m>\d{1,5}) ?m(?:in(?:ute)?s?)?,? ?)?(?:and )?"
    r"(?:(?P<s>\d{1,7}) ?s(?:ec(?:ond)?s?)?)?\b",
    re.IGNORECASE,
)
_EPOCH: Final = re.compile(r"(?:\||\bresets?_?at\"?:) ?(\d{10}|\d{13})\b", re.IGNORECASE)
"""After a bar, or as the provider's own JSON has it, which the program shows as it came."""


def seconds_to_ms(value: float) -> int | None:
    """A Unix time as the agent gives it, in seconds or milliseconds; None when absurd."""
    for factor in (1000, 1):
        moment = value * factor
        if 1_000_000_000_000 <= moment <= 4_200_000_000_000:
            return int(moment)
    return None


def iso_to_ms(text: str) -> int | None:
    """An ISO 8601 moment in milliseconds UTC; one without a zone is UTC. None for no moment."""
    try:
        moment = datetime.fromisoformat(text)
        return seconds_to_ms((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None


def stated_epoch(text: str) -> int | None:
    """A Unix time in the text, in milliseconds; it needs no present moment."""
    found = _EPOCH.search(text)
    return seconds_to_ms(int(found[1])) if found else None


def _bar_form(text: str, now_ms: int, zone: tzinfo) -> int | None:
    del now_ms, zone
    return stated_epoch(text)


def _iso_form(text: str, now_ms: int, zone: tzinfo) -> int | None:
    del now_ms
    found = _ISO.search(text)
    if found is None:
        return None
    offset = {None: "", "Z": "+00:00", "UTC": "+00:00", "GMT": "+00:00"}.get(found[3], found[3])
    try:
        moment = datetime.fromisoformat(f"{found[1]}T{found[2]}{offset}")
    except ValueError:
        return None
    return seconds_to_ms((moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp())


def _relative_form(text: str, now_ms: int, zone: tzinfo) -> int | None:
    del zone
    found = _RELATIVE.search(text)
    if found is None or not any(found.groups()):
        return None
    days, hours, minutes, seconds = (int(found[name] or 0) for name in "dhms")
    return now_ms + 1000 * (((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def _wall_form(text: str, now_ms: int, zone: tzinfo) -> int | None:
    for found in (*_CLOCK_FIRST.finditer(text), *_DAY_FIRST.finditer(text)):
        named = (found["zone"] or found["zone2"] or "").strip()
        in_zone = zone if named.lower() in _HERE else _zone_of(named)
        clock = _clock_of(found)
        if in_zone is None or clock is None:
            continue
        days = _days_of(
            found, datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(in_zone).date()
        )
        moments = [at for day in days for at in _moments(day, clock, in_zone)]
        ahead = [at for at in moments if at >= now_ms - GRACE_MS]
        if ahead:
            return min(ahead)
    return None


_FORMS: Final[tuple[Callable[[str, int, tzinfo], int | None], ...]] = (
    _bar_form,
    _iso_form,
    _relative_form,
    _wall_form,
)


# --- the parts of a wall time --------------------------------------------------------------


def _clock_of(found: re.Match[str]) -> tuple[int, int] | None:
    """Hour and minute; midnight for a date alone; None where neither is there."""
    if found["named"]:
        return (12, 0) if found["named"].lower() == "noon" else (0, 0)
    if found["hour"] is None:
        return (0, 0) if found["month"] or found["month2"] else None
    hour, minute, half = int(found["hour"]), int(found["minute"] or 0), found["half"]
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half.lower() == "p" else 0)
    elif found["minute"] is None:
        return None
    return (hour, minute) if hour < 24 and minute < 60 else None


def _days_of(found: re.Match[str], today: date) -> list[date]:
    """The days that may be meant, in the order of time."""
    month_word = (found["month"] or found["month2"] or "").lower()
    if month_word:
        if month_word[:3] not in _MONTHS:
            return []
        month, day = _MONTHS.index(month_word[:3]) + 1, int(found["day"] or found["day2"])
        years = (
            [int(found["year"])] if found["year"] else [today.year + step for step in (-1, 0, 1)]
        )
        return list(_dates(years, month, day))
    word = (found["word"] or "").lower()
    if word == "today":
        return [today]
    if word == "tomorrow":
        return [today + timedelta(days=1)]
    if word:
        ahead = (_DAYS.index(word[:3]) - today.weekday()) % 7
        return [today + timedelta(days=ahead), today + timedelta(days=ahead + 7)]
    return [today + timedelta(days=step) for step in (-1, 0, 1)]


def _dates(years: list[int], month: int, day: int) -> Iterator[date]:
    for year in years:
        try:
            yield date(year, month, day)
        except ValueError:
            continue


def _moments(day: date, clock: tuple[int, int], zone: tzinfo) -> Iterator[int]:
    """The one or two moments at which the wall shows this; of a skipped one, as if not skipped."""
    for fold in (0, 1):
        wall = datetime(day.year, day.month, day.day, *clock, tzinfo=zone, fold=fold)
        back = wall.astimezone(UTC).astimezone(zone)
        if fold == 0 or back.replace(tzinfo=None) == wall.replace(tzinfo=None):
            yield int(wall.timestamp() * 1000)


def _zone_of(name: str) -> tzinfo | None:
    name = _REGIONS.get(name.upper(), name)
    offset = re.fullmatch(r"(?:UTC|GMT)? ?([+-])(\d{1,2})(?::?(\d{2}))?", name, re.IGNORECASE)
    if offset:
        hours, minutes = int(offset[2]), int(offset[3] or 0)
        if hours > 14 or minutes > 59:
            return None
        delta = timedelta(hours=hours, minutes=minutes)
        return timezone(-delta if offset[1] == "-" else delta)
    if name.upper() in _ABBREVIATIONS:
        return timezone(timedelta(hours=_ABBREVIATIONS[name.upper()]))
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){1,2}", name):
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None
