"""Leases of tickets in progress: what each says, and giving dead ones back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from colony.core.deploy import Live, gate_of
from colony.core.lease import Ended, Lease, is_dead, lease_of, still_leased
from colony.core.lines import Line
from colony.core.markers import utc
from colony.core.texts.lease import expired
from colony.core.ticket import History, LeaseView, Ref, State
from colony.tracker.protocol import Conflict, Guard, Tracker

IN_PROGRESS: Final[frozenset[State]] = frozenset({"progress"})


@dataclass(frozen=True, slots=True)
class InProgress:
    """A ticket in progress, with the lease that its history shows."""

    history: History
    held: Lease | Ended | None


def leases(tracker: Tracker) -> tuple[InProgress, ...]:
    """Every ticket in progress."""
    found = []
    for row in tracker.tickets(states=IN_PROGRESS):
        history = tracker.ticket(row.ref)
        found.append(InProgress(history, lease_of(history.events)))
    return tuple(found)


def lines(seen: tuple[InProgress, ...], now_ms: int) -> Iterator[Line]:
    """One line a ticket, then how many."""
    for each in seen:
        yield _line(each, now_ms)
    dead = sum(1 for each in seen if isinstance(each.held, Lease) and is_dead(each.held, now_ms))
    yield Line("leases", f"{len(seen)} in progress, {dead} dead", facts={"dead": dead})


def _line(each: InProgress, now_ms: int) -> Line:
    ref = str(each.history.ticket.ref)
    match each.held:
        case None:
            return Line("lease.row", f"{ref} — in progress without a lease of Colony", ref)
        case Ended(session, why):
            text = f"{ref} — the lease of session {session} has ended ({why}): never expires"
            if gate_of(each.history) == Live(session, unmoved=True):
                named = each.history.ticket.ref
                text += f"; colony deployed {named.project} {named.number} moves it on"
            return Line("lease.row", text, ref, session, facts={"state": "ended"})
        case Lease() as lease:
            facts = {"host": lease.host, "until": lease.until_ms, "word": lease.kind}
            text = f"{ref} — {_told(lease, now_ms)}"
            return Line("lease.row", text, ref, lease.session, facts=facts)


def _told(lease: Lease, now_ms: int) -> str:
    where = f"session {lease.session} on {lease.host or 'an unknown host'}"
    if lease.kind == "ready":
        return f"built, waits for the deploy ({where}): never expires"
    if lease.until_ms is None:
        return f"{lease.kind}, {where}: does not expire"
    if is_dead(lease, now_ms):
        return f"{lease.kind}, {where}: DEAD since {utc(lease.until_ms)}"
    return f"{lease.kind}, {where}: until {utc(lease.until_ms)}"


def give_back(
    tracker: Tracker, seen: tuple[InProgress, ...], lives: Callable[[Ref, Lease], str | None]
) -> Iterator[Line]:
    """Give dead leases back. `lives` says why a session that this host knows is not dead.

    Each ticket is read again right before, and the write holds only on what was read.
    """
    for each in seen:
        if not isinstance(each.held, Lease) or not is_dead(each.held, tracker.now_ms()):
            continue
        ref = each.history.ticket.ref
        reason = lives(ref, each.held) or expire(tracker, ref, view_of_lease(each.held))
        if reason:
            text = f"NOT expired {ref} (session {each.held.session}): {reason} — nothing written"
        else:
            text = f"expired {ref} (session {each.held.session}): open again"
        yield Line("lease", text, str(ref), each.held.session, facts={"expired": not reason})


def view_of_lease(lease: Lease) -> LeaseView:
    return LeaseView(lease.session, lease.host, lease.kind, lease.token, lease.until_ms)


def expire(tracker: Tracker, ref: Ref, lease: LeaseView) -> str | None:
    """Give the ticket back whose lease is this one, dead. The reason why not; None: it was done.

    The ticket is read first, and the write holds only on what was read.
    """
    history = tracker.ticket(ref)
    reason = still_leased(history, lease)
    if reason:
        return reason
    held = lease_of(history.events)
    assert isinstance(held, Lease)
    if not is_dead(held, tracker.now_ms()):
        return f"the lease of {held.session} lives"
    answer = tracker.move(
        ref,
        "open",
        key=f"{held.session}:expire:{held.event}",
        text=expired(held.session, held.host),
        guard=Guard(event=history.ticket.last_event),
    )
    return "it changed in this very moment" if isinstance(answer, Conflict) else None
