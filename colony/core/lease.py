"""Leases: which session holds a ticket, read from the ticket's history alone.

A lease begins with a machine's state change to `progress` whose last line is a lease line; its
fencing number (`token`) is the id of that event. The newest line of the holding session says how
long it lives. Order of events decides: a `started` while another session's lease is live is void.

A lease ends when the ticket moves to any other state, whoever moved it; when a `colony-deployed:`
line appears; when its own session reports, is judged, or gives back; when it is expired. A late
report ends nothing. A lease that ended never comes back: only a new start makes another one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import assert_never

from colony.core.markers import (
    Deployed,
    Handled,
    LeaseExpired,
    LeaseLine,
    Marker,
    NoVerdict,
    Parked,
    Report,
    Retry,
    Run,
    Verdict,
    marker_of,
    utc,
)
from colony.core.ticket import Event, History, LeaseKind, LeaseView, State


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease that has not ended; its time may be over (`is_dead`)."""

    session: str
    host: str
    kind: LeaseKind
    """The newest line's word; *ready*: built, waits for a deploy, never expires."""
    token: int
    """Id of the event that took it."""
    event: int
    """Id of the event with its newest line."""
    until_ms: int | None
    """None: it does not expire (ready, queued, claimed, and the oldest form)."""
    parks: int = 0
    resume_ms: int | None = None
    """parked: when the session may go on."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The last lease of the ticket has ended."""

    session: str
    why: str
    event: int
    """Id of the event that ended it."""
    closing: bool = False
    """Its own session wrote the closing line: what it still has to do is move the ticket."""


Held = Lease | Ended | None


@dataclass(frozen=True, slots=True)
class _Read:
    """What the events so far say."""

    held: Held = None
    state: str = ""
    built: Lease | None = None
    """Reported as ready before the ticket was in `progress`: the move there makes it count."""


def lease_of(events: Iterable[Event]) -> Held:
    """The lease of a ticket, from its events, oldest first; None where no session ever took it."""
    read = _Read()
    for event in events:
        match event.kind:
            case "created":
                read = replace(read, state=event.after)
            case "comment":
                read = _said(read, event, marker_of(event))
            case "state":
                read = _moved(read, event)
            case _:
                pass
    return read.held


def _moved(read: _Read, event: Event) -> _Read:
    marker = marker_of(event)
    if event.after != "progress":
        read = _said(read, event, marker)
        if isinstance(read.held, Lease):
            read = replace(read, held=_ended(read.held, event, f"it was moved to {event.after}"))
        return _Read(read.held, event.after)
    if isinstance(marker, LeaseLine):
        held = _taken(read.held, event, marker)
    else:
        read = _said(replace(read, state="progress"), event, marker)
        held = read.held if isinstance(read.held, Lease) else read.built
    return _Read(held, "progress")


def _taken(held: Held, event: Event, line: LeaseLine) -> Held:
    lease = Lease(line.session, line.host, line.kind, event.id, event.id, line.until_ms)
    if not isinstance(held, Lease):
        return lease
    if held.session == line.session and held.kind != "ready":
        return _renewed(held, event, line)
    if _is_live(held, event.at_ms):
        return held
    return lease


def _is_live(lease: Lease, at_ms: int) -> bool:
    """A built ticket keeps nobody from starting: what moved it back decided that."""
    return lease.kind != "ready" and not is_dead(lease, at_ms)


def _said(read: _Read, event: Event, marker: Marker | None) -> _Read:
    """What a machine line does to the lease that stands."""
    if isinstance(marker, Report) and marker.ready and not marker.late:
        return _reported_ready(read, event, marker)
    if not isinstance(read.held, Lease):
        return read
    return replace(read, held=_after_line(read.held, event, marker))


def _after_line(held: Lease, event: Event, marker: Marker | None) -> Held:
    if isinstance(marker, Deployed):
        return _ended(held, event, "deployed")
    if marker is None or isinstance(marker, Handled | Retry) or marker.session != held.session:
        return held
    match marker:
        case LeaseLine() | Parked() if held.kind == "ready":
            return held
        case LeaseLine():
            return _renewed(held, event, marker)
        case Parked():
            return replace(
                held,
                kind="parked",
                event=event.id,
                until_ms=marker.until_ms,
                parks=held.parks + 1,
                resume_ms=marker.resume_ms,
            )
        case LeaseExpired():
            return _ended(held, event, "expired")
        case Report(late=True):
            return held
        case Report():
            return _ended(held, event, "reported", closing=True)
        case Verdict():
            return _ended(held, event, "failed its check", closing=True)
        case NoVerdict():
            return _ended(held, event, "its check gave no verdict", closing=True)
        case Run():
            return _ended(held, event, marker.how, closing=True)
        case _:
            assert_never(marker)


def _renewed(held: Lease, event: Event, line: LeaseLine) -> Lease:
    return replace(
        held,
        host=line.host or held.host,
        kind=line.kind,
        event=event.id,
        until_ms=line.until_ms,
        parks=max(held.parks, line.park),
        resume_ms=None,
    )


def _ended(held: Lease, event: Event, why: str, *, closing: bool = False) -> Ended:
    return Ended(held.session, why, event.id, closing)


def _reported_ready(read: _Read, event: Event, report: Report) -> _Read:
    held = read.held
    if isinstance(held, Lease) and held.session == report.session:
        built = replace(held, kind="ready", event=event.id, until_ms=None, resume_ms=None)
        return replace(read, held=built)
    if isinstance(held, Lease) and _is_live(held, event.at_ms):
        return read
    built = Lease(report.session, "", "ready", event.id, event.id, None)
    if read.state == "progress":
        return replace(read, held=built)
    return replace(read, built=built)


def is_dead(lease: Lease, now_ms: int) -> bool:
    """True once the tracker's time `now_ms` is past the lease's. Ended it is only by its end."""
    return lease.until_ms is not None and now_ms > lease.until_ms


def is_mine(state: State, events: Iterable[Event], session: str) -> bool:
    """May `session` still write to this ticket as its holder?

    In `progress` with the session's lease, past its time or not; or, after its own closing line,
    until the ticket has been moved or taken.
    """
    if state != "progress":
        return False
    held = lease_of(events)
    if held is None or held.session != session:
        return False
    return isinstance(held, Lease) or held.closing


def view_of(events: Iterable[Event]) -> LeaseView | None:
    """The lease as a row shows it; None where there is none or it has ended."""
    held = lease_of(events)
    if not isinstance(held, Lease):
        return None
    return LeaseView(held.session, held.host, held.kind, held.token, held.until_ms)


def margin_ms(ttl_ms: int) -> int:
    """How much earlier than the tracker a session takes its lease for over."""
    return min(max(ttl_ms // 10, 30_000), ttl_ms // 2)


def renewal_at(sent_ms: int, trusted_ms: int, heartbeat_ms: int) -> int:
    """When to renew next: after a heartbeat, at the latest when half of the trust is left.

    All on the clock that counts through suspend: `sent_ms` when the last renewal was sent,
    `trusted_ms` until when the lease may be relied on.
    """
    return min(sent_ms + heartbeat_ms, sent_ms + max(0, trusted_ms - sent_ms) // 2)


def still_leased(history: History, lease: Lease | LeaseView) -> str | None:
    """Why `history`, read right before acting on `lease`, forbids it; None where it does not."""
    if history.ticket.state != "progress":
        return f"it is {history.ticket.state} now"
    held = lease_of(history.events)
    match held:
        case None:
            return f"the lease of {lease.session} is gone"
        case Ended(session, why):
            return f"the lease of {session} has ended: {why}"
        case Lease(session) if session != lease.session:
            return f"another session holds it now ({session})"
        case Lease(kind="ready") if lease.kind != "ready":
            return "it is built now, waiting for the deploy"
        case Lease(token=token, until_ms=until_ms) if (
            token != lease.token or until_ms != lease.until_ms
        ):
            until = "no expiry" if until_ms is None else f"until {utc(until_ms)}"
            return f"the lease of {lease.session} changed (now {until})"
        case Lease():
            return None
        case _:
            assert_never(held)
