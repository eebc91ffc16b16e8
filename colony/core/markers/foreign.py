"""Whose machine lines count, and how the words of others are kept from being taken for one.

A machine line counts in a comment or a state change of a machine, and only as its last line that
is not empty: a person or a worker who types one changes nothing. Lines are what `str.splitlines`
takes for lines, here and wherever a history is read.
"""

from __future__ import annotations

import functools
import re
from typing import Final

from colony.core.markers.kinds import Marker
from colony.core.markers.wire import parse
from colony.core.ticket import Event

_LOOKS_LIKE_ONE: Final = re.compile(r"colony-[a-z-]+:|session \S+ started on \S")
_QUOTE: Final = "> "
SHORT: Final = 300
"""Characters of a line that is remembered with what it says: any that Colony writes."""


def marker_of(event: Event) -> Marker | None:
    """What this event's machine line says; None where it has none that counts."""
    if not event.machine or event.kind not in ("comment", "state"):
        return None
    last = event.text.rstrip().splitlines()[-1:]
    if not last:
        return None
    return _read(last[0]) if len(last[0]) <= SHORT else parse(last[0])


# A history is read again and again, by every rule that asks it something.
_read = functools.lru_cache(maxsize=2048)(parse)


def forged(text: str) -> bool:
    """True where this program, or an older one, could read a line of `text` as a machine line."""
    return any(_LOOKS_LIKE_ONE.match(line.strip()) for line in text.splitlines())


def defuse(text: str) -> str:
    """`text` with each line that looks like a machine line made a quotation (`> `)."""
    if not forged(text):
        return text
    return "".join(_quoted(line) for line in text.splitlines(keepends=True))


def _quoted(line: str) -> str:
    bare = line.lstrip()
    if not _LOOKS_LIKE_ONE.match(bare.rstrip()):
        return line
    return line[: len(line) - len(bare)] + _QUOTE + bare
