"""What a ticket says while a session holds it: begun, still on, paused, going on, given up."""

from __future__ import annotations

from typing import Literal, assert_never

from colony.core.markers import LeaseExpired, LeaseLine, Parked
from colony.core.texts.layout import lay, when

ParkReason = Literal["limit", "provider", "login", "stop", "asked"]
"""Why a session is parked: its account's limit is reached, the provider is away, the login does not
work, Colony was stopped here, or a person asked for it."""


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
        case "provider":
            again = when(marker.resume_ms, offset_minutes)
            line = f"Paused: the model's provider did not answer. The work goes on after {again}."
        case "login":
            again = when(marker.resume_ms, offset_minutes)
            line = (
                "Paused: the coding agent is not logged in on its computer."
                f" The work is tried again after {again}."
            )
        case "stop":
            line = "Paused: Colony was stopped on this computer. The work goes on when it is back."
        case "asked":
            line = "Paused by hand. The work goes on when it is asked to."
        case _:
            assert_never(reason)
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
