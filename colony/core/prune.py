"""Which run folders may go: those alone whose session nobody will ask for again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from colony.core.lines import clip
from colony.core.session import Facts, phase_of
from colony.core.spans import show_span
from colony.core.ticket import CLOSED, Ref, Ticket


@dataclass(frozen=True, slots=True)
class Bounds:
    """What was asked for. Where both are set, a folder goes only if both let it."""

    keep: int | None = None
    """The newest so many stay."""
    older_than_ms: int | None = None
    """Those that ended less than this long ago stay."""


def needed(facts: Facts, tickets: Mapping[Ref, Ticket]) -> str:
    """Why this session's folder must stay whatever was asked for; empty where nothing needs it.

    `tickets` are the tracker's rows, all of them.
    """
    if facts.outcome is None:
        phase = phase_of(facts)
        if phase in ("reported", "judged", "posting"):
            return f"its result is not posted ({phase})"
        return f"it has not ended ({phase})"
    if any(each.status == "planned" for each in facts.outbox):
        return "not all of its outcome is posted"
    ticket = tickets.get(facts.ticket)
    if ticket is None:
        return f"its ticket {facts.ticket} is not in the tracker: nothing else tells of it"
    if ticket.lease is not None and ticket.lease.kind == "ready":
        return f"its ticket {facts.ticket} waits for the deploy"
    if ticket.lease is not None and ticket.lease.kind == "parked":
        return f"its ticket {facts.ticket} is parked"
    if ticket.state not in CLOSED:
        return f"its ticket {facts.ticket} is not done: {ticket.state}"
    if _is_unposted(facts):
        return "its report was never posted"
    return ""


def spared(facts: Facts, newer: int, bounds: Bounds, now_ms: int) -> str:
    """Why what was asked for does not include this folder; empty where it does.

    `newer`: how many sessions of this home are newer than it.
    """
    if bounds.keep is not None and newer < bounds.keep:
        return f"it is one of the newest {bounds.keep}"
    age_ms = now_ms - ended_ms(facts)
    if bounds.older_than_ms is not None and age_ms < bounds.older_than_ms:
        return f"it ended {show_span(age_ms)} ago"
    return ""


def ended_ms(facts: Facts) -> int:
    """When it ended; the newest time that is known of it."""
    return facts.started_ms if facts.ended_ms is None else facts.ended_ms


def closing(facts: Facts, tickets: Mapping[Ref, Ticket], now_ms: int) -> str:
    """What stands behind a removal: `shop#1 is done, ended 40 d ago`."""
    state = tickets[facts.ticket].state
    age = show_span(now_ms - ended_ms(facts))
    return f"{facts.ticket} is {state}, it ended {age} ago ({clip(str(facts.outcome), 40)})"


def _is_unposted(facts: Facts) -> bool:
    """It has a report that can be used, and no comment tells of it."""
    if facts.report is None or not facts.report.valid:
        return False
    return not any(each.kind == "comment" and each.status == "done" for each in facts.outbox)
