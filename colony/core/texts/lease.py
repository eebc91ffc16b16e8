"""What a ticket says while a session holds it: begun, still on, paused, going on, given up."""

from __future__ import annotations

from typing import Literal

from colony.core.markers import LeaseExpired, LeaseLine, Parked
from colony.core.texts.layout import lay, when

ParkReason = Literal["limit", "stop"]


def started(session: str, host: str, until_ms: int) -> str:
    return lay(
        "Work on this ticket has begun.", machine=LeaseLine(session, host, "started", until_ms)
    )


def salvage(session: str, host: str, until_ms: int) -> str:
    return lay(
        "Work on this ticket has begun: an earlier session gets its report written.",
        machine=LeaseLine(session, host, "salvage", until_ms),
    )


def renewed(session: str, host: str, until_ms: int) -> str:
    return lay("The work goes on.", machine=LeaseLine(session, host, "renewed", until_ms))


def parked(marker: Parked, reason: ParkReason, offset_minutes: int) -> str:
    """`offset_minutes`: the reader's time zone, minutes east of UTC."""
    match reason:
        case "limit":
            again = when(marker.resume_ms, offset_minutes)
            line = f"Paused: the account has used up its limit. The work goes on after {again}."
        case "stop":
            line = "Paused: Colony was stopped on this computer. The work goes on when it is back."
    return lay(line, machine=marker)


def resumed(session: str, host: str, park: int, until_ms: int) -> str:
    line = LeaseLine(session, host, "resumed", until_ms, park)
    return lay("The pause is over, the work goes on.", machine=line)


def expired(session: str, host: str) -> str:
    return lay(
        "Open again: nothing was heard from the worker any more; its computer may be off."
        " A new one takes over.",
        machine=LeaseExpired(session, host),
    )
