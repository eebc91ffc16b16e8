"""Leases of tickets in progress: what each says, and giving dead ones back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from colony.core.brake import crowded
from colony.core.deploy import Live, gate_of
from colony.core.lease import Ended, Lease, is_dead, lease_of, still_leased
from colony.core.lines import Line
from colony.core.markers import utc
from colony.core.texts.lease import expired
from colony.core.ticket import History, LeaseView, Ref, State
from colony.errors import NotFound
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
    """Give dead leases back, oldest first. `lives` says why a session that is here is not dead.

    Where many seem dead at once, only one is given back: the fault may be a clock's, or ours.
    """
    now_ms = tracker.now_ms()
    ours, others = [], []
    for each in seen:
        if isinstance(each.held, Lease) and each.held.until_ms is not None:
            ref, lease = each.history.ticket.ref, each.held
            reason = lives(ref, lease)
            if reason is None:
                others.append((lease.until_ms or 0, ref, lease))
            elif is_dead(lease, now_ms):
                ours.append(_given(ref, lease, reason))
    yield from ours
    dead = [each for each in others if is_dead(each[2], now_ms)]
    dead.sort(key=lambda each: each[:2])
    many = crowded(len(others), len(dead))
    for at, (_, ref, lease) in enumerate(dead, 1):
        line = _given(ref, lease, _expired(tracker, ref, lease))
        yield line
        if many and line.facts["expired"]:
            if at < len(dead):
                yield Line("note", _held_back(len(dead), len(others)))
            return


def _held_back(dead: int, leases: int) -> str:
    return (
        f"{dead} of {leases} leases seem dead at once, which may be a clock or an outage: one was"
        " given back; where their hosts are really gone, the next with the same command again"
    )


def _given(ref: Ref, lease: Lease, reason: str | None) -> Line:
    if reason:
        text = f"NOT expired {ref} (session {lease.session}): {reason} — nothing written"
    else:
        text = f"expired {ref} (session {lease.session}): open again"
    return Line("lease", text, str(ref), lease.session, facts={"expired": not reason})


def _expired(tracker: Tracker, ref: Ref, lease: Lease) -> str | None:
    try:
        return expire(tracker, ref, view_of_lease(lease))
    except NotFound:
        return "there is no such ticket any more"


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
