"""The deploy gate: a ticket that is built waits for the deploy that brings it to its live site."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from colony.core.lease import Ended, Lease, lease_of
from colony.core.markers import Deployed, Report, marker_of
from colony.core.relations import blockers
from colony.core.texts.details import Filed
from colony.core.texts.layout import link
from colony.core.ticket import Event, History, Ticket


@dataclass(frozen=True, slots=True)
class Built:
    """The ticket waits for a deploy."""

    session: str
    sha256: str
    """First 12 hex digits of the hash of the report's bytes."""


@dataclass(frozen=True, slots=True)
class Live:
    """The comment of the deploy is there."""

    session: str
    unmoved: bool
    """Nobody has moved the ticket since: it is still to be handed to its creator."""
    handed: bool = False
    """A deploy has handed it to its creator, whatever became of it then."""


def gate_of(history: History) -> Built | Live | None:
    """Where the ticket stands at the gate; None: it has nothing to do with a deploy (any more).

    Another session's lease, and any move by a person, take a built ticket away from the gate.
    """
    held = lease_of(history.events)
    match held:
        case Lease(kind="ready", session=session, event=event):
            said = _said(history, event)
            progress = history.ticket.state == "progress"
            return Built(session, said.sha256) if isinstance(said, Report) and progress else None
        case Ended(session=session, event=event):
            said = _said(history, event)
            if not isinstance(said, Deployed) or said.session != session:
                return None
            move = _move_since(history.events, event)
            handed = move is not None and move.machine and move.after == "review"
            return Live(session, unmoved=move is None, handed=handed)
        case _:
            return None


def shut(history: History) -> str:
    """Why a ticket that is not at the gate waits for no deploy, in one line."""
    ticket = history.ticket
    held = lease_of(history.events)
    if ticket.state == "progress" and isinstance(held, Lease):
        return f"{ticket.ref} waits for no deploy: session {held.session} holds it"
    return f"{ticket.ref} waits for no deploy: it is {ticket.state}"


def filed_by(session: str, rows: Iterable[Ticket], ticket: Ticket) -> Filed:
    """What this session's report filed, found among `rows` by its source. Questions that have
    been answered meanwhile are left out: a deploy may come days after the report."""
    prefix = f"colony-report:{session}:"
    filed = [row for row in rows if row.source.startswith(prefix)]
    waits_for = {one.ref for one in blockers(ticket)}
    asked = [each for each in filed if each.source.startswith(f"{prefix}question")]
    found = [each for each in filed if each not in asked]
    return Filed(
        questions=tuple(link(each.ref, each.url) for each in asked if each.state == "pending"),
        problems=tuple(link(each.ref, each.url) for each in found),
        blocking=tuple(link(each.ref, each.url) for each in found if each.ref in waits_for),
    )


def _said(history: History, event: int) -> object:
    return next((marker_of(each) for each in history.events if each.id == event), None)


def _move_since(events: Iterable[Event], event: int) -> Event | None:
    """The first one after this event."""
    return next((each for each in events if each.kind == "state" and each.id > event), None)
