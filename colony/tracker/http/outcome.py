"""What a write has come to, read from the ticket as it stands after it."""

from __future__ import annotations

from dataclasses import replace

from colony.core.ticket import Event, History, Ticket
from colony.errors import Refused
from colony.tracker.http.recall import Trace, newest
from colony.tracker.protocol import Conflict, Guard, Written


def holds(guard: Guard, ticket: Ticket) -> bool:
    return guard.state in (None, ticket.state) and guard.event in (None, ticket.last_event)


def conflict(history: History) -> Conflict:
    ticket = history.ticket
    return Conflict(ticket.state, ticket.last_event, ticket.lease)


def written(event: Event, history: History) -> Written:
    """What the server added by itself after our own event counts as seen."""
    ours = event == history.events[-1]
    return Written(event.id, history.ticket.last_event if ours else event.id)


def made(wanted: Trace | None, after: History, known: int) -> Written:
    """The answer to a write that went through, read from the ticket as it is after it. A change
    that the server makes no event of goes by the last one."""
    news = [each for each in after.events if each.id > known]
    event = None if wanted is None else newest(news, wanted)
    if event is None and news:
        event = news[-1]
    last = after.ticket.last_event
    return Written(last, last) if event is None else written(event, after)


def need_own_name(wanted: Trace | None, after: History, known: int) -> None:
    """Refused where what Colony just wrote reads as a person's: no line of it would count."""
    if wanted is None or not wanted.machine:
        return
    news = [each for each in after.events if each.id > known]
    stranger = newest(news, replace(wanted, machine=False))
    if newest(news, wanted) is None and stranger is not None:
        raise Refused(
            f"{after.ticket.ref}: what Colony wrote stands there under the name "
            f"{stranger.author!a}, which COLONY_OWN_USERS does not hold"
        )
