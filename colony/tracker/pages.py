"""Lists of tickets in parts: what a caller wants of them, and what it gets."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from colony.core.ticket import Event, Ref, State, Ticket
from colony.tracker import limits
from colony.tracker.sql import history, tickets
from colony.tracker.sql.engine import Transaction
from colony.tracker.sql.tickets import Part, Position


@dataclass(frozen=True, slots=True)
class Selection:
    """Which tickets, as `Reads.tickets` takes it, and which part of them."""

    project: str | None = None
    states: Collection[State] | None = None
    since_ms: int | None = None
    events: bool = False
    """Each with its history."""
    after: Position | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Rows ordered by (created_ms, project, number), as they stood at one version."""

    version: str
    rows: tuple[Ticket, ...] = ()
    events: Mapping[Ref, tuple[Event, ...]] = field(default_factory=dict)
    """By ticket, oldest first; empty unless wanted."""
    rest: Position | None = None
    """What to ask after for the rest; None: there is no more."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The tracker in numbers."""

    tickets: Mapping[State, int]
    last_event: int
    running_sessions: int


def page_of(db: Transaction, wanted: Selection, version: str) -> Page:
    """One row more than wanted is read: it tells whether there is a rest."""
    most = None if wanted.limit is None else wanted.limit + 1
    since = None if wanted.since_ms is None else limits.integer(wanted.since_ms)
    part = Part(wanted.after, most)
    found = tickets.some(db, wanted.project, wanted.states, since, part)
    rows = found if wanted.limit is None else found[: wanted.limit]
    events = {row.ref: history.of(db, row.ref) for row in rows} if wanted.events else {}
    more = len(rows) < len(found)
    return Page(
        version, rows, events, Position(rows[-1].created_ms, rows[-1].ref) if more else None
    )
