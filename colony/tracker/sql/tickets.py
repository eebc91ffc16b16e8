"""Rows of tickets, joined with their relations."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from colony.core.ticket import LeaseView, NewTicket, Ref, State, Ticket
from colony.tracker.sql import relations
from colony.tracker.sql.engine import Transaction
from colony.tracker.sql.history import Stamp

SMALLEST: Final = -(2**63)
"""The smallest integer that a database holds."""


@dataclass(frozen=True, slots=True)
class Position:
    """A place in the order of all tickets."""

    created_ms: int
    ref: Ref


@dataclass(frozen=True, slots=True)
class Part:
    """The rows behind `after`, at most `most` of them; None: from the first, to the last."""

    after: Position | None = None
    most: int | None = None


ALL: Final = Part()


@dataclass(frozen=True, slots=True)
class Derived:
    """What a row keeps of its ticket's history."""

    priority: int
    lease: LeaseView | None


def some(
    db: Transaction,
    project: str | None = None,
    states: Collection[State] | None = None,
    since_ms: int | None = None,
    part: Part = ALL,
) -> tuple[Ticket, ...]:
    """Ordered by (created_ms, project, number)."""
    if states is not None and not states:
        return ()
    after = part.after or Position(SMALLEST, Ref("", 0))
    rows = db.rows(
        "tickets",
        project=project or "",
        states=f",{','.join(sorted(states))}," if states else "",
        since_ms=SMALLEST if since_ms is None else since_ms,
        after_ms=after.created_ms,
        after_project=after.ref.project,
        after_number=after.ref.number,
        # SQLite takes a negative limit for none.
        most=-1 if part.most is None else part.most,
    )
    relatives = relations.everywhere(db)
    return tuple(_ticket(row, relatives) for row in rows)


def one(db: Transaction, ref: Ref) -> Ticket | None:
    for row in db.rows("ticket", project=ref.project, number=ref.number):
        return _ticket(row, relations.around(db, ref))
    return None


def with_source(db: Transaction, project: str, source: str) -> Ref | None:
    for (number,) in db.rows("ticket_with_source", project=project, source=source):
        return Ref(project, number)
    return None


def of_project(db: Transaction, project: str) -> list[Ref]:
    return [Ref(project, number) for (number,) in db.rows("ticket_numbers", project=project)]


def counted(db: Transaction) -> list[tuple[str, State, int]]:
    """(project, state, number of tickets), none for states that no ticket is in."""
    return [(project, state, count) for project, state, count in db.rows("tickets_counted")]


def add(db: Transaction, stamp: Stamp, ref: Ref, new: NewTicket) -> None:
    db.run(
        "ticket_add",
        project=ref.project,
        number=ref.number,
        subject=new.subject,
        summary=new.summary,
        state=new.state,
        author=stamp.me.user,
        user_id=stamp.me.user_id,
        machine=int(stamp.me.machine),
        source=new.source,
        at_ms=stamp.at_ms,
    )


def touch(db: Transaction, ref: Ref, event: int, at_ms: int) -> None:
    """The version rises; the time of change never goes back with the clock."""
    db.run("ticket_touch", project=ref.project, number=ref.number, event=event, at_ms=at_ms)


def set_state(db: Transaction, ref: Ref, state: State) -> None:
    db.run("ticket_state", project=ref.project, number=ref.number, state=state)


def set_words(db: Transaction, ref: Ref, subject: str, summary: str) -> None:
    db.run("ticket_words", project=ref.project, number=ref.number, subject=subject, summary=summary)


def set_derived(db: Transaction, ref: Ref, derived: Derived) -> None:
    lease = derived.lease
    db.run(
        "ticket_derived",
        project=ref.project,
        number=ref.number,
        priority=derived.priority,
        session=lease.session if lease else None,
        host=lease.host if lease else None,
        kind=lease.kind if lease else None,
        token=lease.token if lease else None,
        until_ms=lease.until_ms if lease else None,
    )


def _ticket(row: tuple[Any, ...], relatives: relations.Relatives) -> Ticket:
    project, number, subject, summary, state, author, user_id, machine, source, *rest = row
    created, updated, last_event, version, priority, session, host, kind, token, until = rest
    key = (project, number)
    return Ticket(
        ref=Ref(project, number),
        subject=subject,
        summary=summary,
        state=state,
        author=author,
        user_id=user_id,
        machine=bool(machine),
        source=source,
        created_ms=created,
        updated_ms=updated,
        last_event=last_event,
        version=version,
        priority=priority,
        lease=None if session is None else LeaseView(session, host, kind, token, until),
        parent=relatives.parent.get(key),
        children=tuple(relatives.children.get(key, ())),
        blocked_by=tuple(relatives.blocked_by.get(key, ())),
        blocks=tuple(relatives.blocks.get(key, ())),
    )
