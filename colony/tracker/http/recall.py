"""Whether a write that is about to be sent has happened already, as the history itself tells.

For servers that keep no idempotency keys. Three things show it, the surest first: a machine line
of Colony's that can be there once only; the very same words, after what was known when an answer
was lost; the very same words, after the newest line of the session that the key begins with.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from colony.core.markers import (
    Deployed,
    Handled,
    LeaseExpired,
    LeaseLine,
    Marker,
    Parked,
    Report,
    Retry,
    Verdict,
    is_session_id,
    marker_of,
    parse,
)
from colony.core.ticket import Event, State

_ONCE: Final = (LeaseLine, Parked, Report, Verdict, Deployed, Handled, Retry)
"""Lines with a time, a hash or a number in them. The others come once for each lease."""
_TAKING: Final = frozenset({"started", "salvage"})


@dataclass(frozen=True, slots=True)
class Trace:
    """An event that a write makes."""

    kind: Literal["comment", "state"]
    state: State | Literal[""]
    text: str
    machine: bool
    """Whether Colony's own name will stand at it."""

    def is_like(self, event: Event) -> bool:
        return (
            event.kind == self.kind
            and event.machine == self.machine
            and (self.kind == "comment" or event.after == self.state)
        )

    def is_same(self, event: Event) -> bool:
        return self.is_like(event) and _plain(event.text) == _plain(self.text)


def happened(events: tuple[Event, ...], wanted: Trace, key: str, known: int | None) -> Event | None:
    """The event that an earlier try of this write made. `known`: the last event before a try of
    this process whose answer was lost; None: there was none."""
    if known is not None:
        found = newest(_after(events, known), wanted)
        if found is not None:
            return found
    line = _line_of(wanted.text)
    if line is not None:
        since = 0 if isinstance(line, _ONCE) else _taken(events, line)
        return _first(each for each in _after(events, since) if _says(each, wanted, line))
    session = key.partition(":")[0]
    if not is_session_id(session):
        return None
    since = _last_line_of(events, session)
    return newest(_after(events, since), wanted) if since else None


def newest(events: Iterable[Event], wanted: Trace) -> Event | None:
    found = [each for each in events if wanted.is_same(each)]
    return found[-1] if found else None


def _after(events: tuple[Event, ...], known: int) -> tuple[Event, ...]:
    return tuple(each for each in events if each.id > known)


def _first(events: Iterable[Event]) -> Event | None:
    return next(iter(events), None)


def _says(event: Event, wanted: Trace, line: Marker) -> bool:
    return wanted.is_like(event) and marker_of(event) == line


def _line_of(text: str) -> Marker | None:
    last = text.rstrip().splitlines()[-1:]
    return parse(last[0]) if last else None


def _session_of(marker: Marker | None) -> str:
    return "" if marker is None or isinstance(marker, Handled | Retry) else marker.session


def _taken(events: tuple[Event, ...], line: Marker) -> int:
    """The newest event that took a lease for the session that `line` names; 0: none did."""
    taken = 0
    for event in events:
        marker = marker_of(event)
        if isinstance(marker, LeaseLine) and marker.kind in _TAKING:
            taken = event.id if marker.session == _session_of(line) else taken
    return taken


def _last_line_of(events: tuple[Event, ...], session: str) -> int:
    """The newest event with a line of this session; 0: there is none."""
    ids = [
        event.id
        for event in events
        if _session_of(marker_of(event)) == session
        and not isinstance(marker_of(event), LeaseExpired)
    ]
    return ids[-1] if ids else 0


def _plain(text: str) -> str:
    """The words, however a server keeps line ends and the blanks around them."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
