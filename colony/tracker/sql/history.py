"""Rows of events: appended under one counter, read in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from colony.core.ticket import Event, EventKind, FeedEvent, Me, Ref
from colony.tracker.sql.engine import Transaction


@dataclass(frozen=True, slots=True)
class Stamp:
    """Who writes, and when."""

    me: Me
    at_ms: int


@dataclass(frozen=True, slots=True)
class Entry:
    """What an event says, before it has an id."""

    kind: EventKind
    text: str = ""
    before: str = ""
    after: str = ""
    on_behalf: int | None = None
    """Id of the comment that asked for it."""


def add(db: Transaction, stamp: Stamp, place: Ref | str, entry: Entry) -> Event:
    """Append to a ticket's history, or to that of a project named alone; the new event.

    The counter is a row of this transaction: no reader sees an id before all smaller ones.
    """
    db.run("counter_up")
    me, at_ms = stamp.me, stamp.at_ms
    said = (entry.kind, me.user, me.user_id, me.machine, at_ms, entry.text)
    event = Event(last(db), *said, entry.before, entry.after)
    put(db, place, event, entry.on_behalf)
    return event


def put(db: Transaction, place: Ref | str, event: Event, on_behalf: int | None) -> None:
    """The event's row, under the id that it has."""
    db.run(
        "event_add",
        id=event.id,
        project=place.project if isinstance(place, Ref) else place,
        number=place.number if isinstance(place, Ref) else None,
        kind=event.kind,
        author=event.author,
        user_id=event.user_id,
        machine=int(event.machine),
        at_ms=event.at_ms,
        text=event.text,
        old=event.before,
        new=event.after,
        on_behalf=on_behalf,
    )


def last(db: Transaction) -> int:
    """The newest event id of the whole tracker."""
    [(event,)] = db.rows("counter")
    return int(event)


def version(db: Transaction) -> str:
    """`<store>-<last event>`: the store's own name, and how far it has come."""
    [(store,)] = db.rows("store_id")
    return f"{store}-{last(db)}"


def schema(db: Transaction) -> int:
    """The number of the schema that the store has."""
    [(number,)] = db.rows("schema")
    return int(number)


def of(db: Transaction, ref: Ref) -> tuple[Event, ...]:
    return tuple(map(_event, db.rows("events_of", project=ref.project, number=ref.number)))


def weighing(db: Transaction, ref: Ref) -> tuple[Event, ...]:
    """The ticket's events without most of those that do not weigh (`core.weight`)."""
    return tuple(map(_event, db.rows("events_weighing", project=ref.project, number=ref.number)))


def naming(db: Transaction, ref: Ref, words: str) -> tuple[Event, ...]:
    """The ticket's events whose text holds `words`."""
    rows = db.rows("events_naming", project=ref.project, number=ref.number, words=words)
    return tuple(map(_event, rows))


def after(db: Transaction, event: int, limit: int) -> tuple[FeedEvent, ...]:
    return tuple(
        FeedEvent(project, None if number is None else Ref(project, number), _event(rest))
        for project, number, *rest in db.rows("events_after", after=event, limit=limit)
    )


def state_set_by_machine(db: Transaction, ref: Ref) -> bool:
    """Whether the state that the ticket is in now was set by a machine, and on nobody's behalf."""
    [(machine,)] = db.rows("state_set_by_machine", project=ref.project, number=ref.number)
    return bool(machine)


def _event(row: tuple[Any, ...] | list[Any]) -> Event:
    id_, kind, author, user_id, machine, at_ms, text, old, new = row
    return Event(id_, kind, author, user_id, bool(machine), at_ms, text, old, new)
