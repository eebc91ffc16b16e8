"""The words inside a machine line: names that cannot break it, whole numbers, times.

A name (session, host) is written with letters, digits and `._:@+-`; every other character
becomes `%XX` of its UTF-8 bytes, so that any name comes back as it was. Names with a stray `%`
in old lines are read as they stand.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

SESSION_PATTERN: Final = r"s-[0-9]{8}T[0-9]{4}-[0-9a-f]{6}"
"""The form of the session ids that Colony makes."""

_ODD: Final = re.compile(r"[^A-Za-z0-9._:@+-]", re.ASCII)
_ESCAPES: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})+", re.ASCII)
_STAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2})"
    r"(?::([0-9]{2})(?:\.([0-9]{3}))?)?Z",
    re.ASCII,
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_WHOLE_LIMIT: Final = 10**15
_STAMP_LIMIT_MS: Final = 253_402_300_800_000


def is_session_id(text: str) -> bool:
    """True for `s-<UTC yyyymmddThhmm>-<6 hex>`."""
    return re.fullmatch(SESSION_PATTERN, text, re.ASCII) is not None


def escape(name: str) -> str:
    """`name` for a machine line; ValueError where it is empty."""
    if not name:
        raise ValueError("a machine line cannot hold an empty name")
    return _ODD.sub(
        lambda odd: "".join(f"%{byte:02X}" for byte in odd[0].encode("utf-8", "surrogatepass")),
        name,
    )


def unescape(word: str) -> str:
    """The name behind `word`; escapes that are no UTF-8 stay as written."""
    return _ESCAPES.sub(_decoded, word)


def _decoded(escapes: re.Match[str]) -> str:
    try:
        return bytes.fromhex(escapes[0].replace("%", "")).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return escapes[0]


def digits(number: int) -> str:
    """`number` as written in a machine line; ValueError outside of 0 to 10^15."""
    if not 0 <= number < _WHOLE_LIMIT:
        raise ValueError(f"a machine line cannot hold the number {number}")
    return str(number)


def whole(word: str | None) -> int | None:
    """The number that `digits` wrote; None for anything else."""
    if word is None or not re.fullmatch("[0-9]{1,15}", word, re.ASCII):
        return None
    return int(word)


def stamp(ms: int) -> str:
    """`2026-01-31T18:19:00.000Z`; ValueError before 1970 and after the year 9999."""
    if not 0 <= ms < _STAMP_LIMIT_MS:
        raise ValueError(f"a machine line cannot hold the time {ms}")
    return (_EPOCH + timedelta(milliseconds=ms)).strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03}Z"


def unstamp(word: str) -> int | None:
    """The milliseconds behind a stamp, whose seconds may be missing; None if it is none."""
    found = _STAMP.fullmatch(word)
    if not found:
        return None
    year, month, day, hour, minute, second, fraction = (int(part or 0) for part in found.groups())
    try:
        moment = datetime(year, month, day, hour, minute, second, fraction * 1000, UTC)
    except ValueError:
        return None
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def utc(ms: int) -> str:
    """`2026-01-31 18:19 UTC`, for people; the bare number where no calendar holds it."""
    try:
        return (_EPOCH + timedelta(milliseconds=ms)).strftime("%Y-%m-%d %H:%M UTC")
    except OverflowError:
        return f"{ms} ms"
