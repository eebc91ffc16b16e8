"""The line that a loop says when a session's process has ended."""

from __future__ import annotations

from typing import Final

from colony.core.endings import Exit
from colony.core.last_line import PARKED
from colony.core.lines import Json, Line, clip
from colony.core.markers import utc
from colony.core.ports import Range, show_range
from colony.core.session import Facts, Rest, next_step, phase_of

SAID_MAX: Final = 200


def session_end(facts: Facts, exit: Exit | None, said: str, freed: Range | None) -> Line:
    """`shop#1 s-… · posted · cost $1.8400 (worker $… + controller $…) · ports 8700-8709 freed`"""
    word = how(facts, exit, said)
    controller = facts.cost_of("check")
    cost = f"cost ${facts.cost_usd:.4f} (worker ${facts.cost_usd - controller:.4f}"
    texts = [f"{facts.ticket} {facts.session}", word, f"{cost} + controller ${controller:.4f})"]
    if freed is not None:
        texts.append(f"ports {show_range(freed)} freed")
    told: dict[str, Json] = {
        "outcome": str(facts.outcome) if facts.outcome is not None else None,
        "phase": phase_of(facts),
        "costUsd": facts.cost_usd,
        "exit": None if exit is None else exit.code,
        "signal": None if exit is None else exit.signal,
    }
    return Line("session.end", " · ".join(texts), str(facts.ticket), facts.session, facts=told)


def how(facts: Facts, exit: Exit | None, said: str) -> str:
    """How the session stands now, in a few words."""
    if facts.outcome is not None:
        return str(facts.outcome)
    park = facts.parked
    if park is not None and facts.occasion is None:
        until = "" if park.reason in ("stop", "asked") else f" until {utc(park.resume_ms)}"
        return f"parked{until}: {PARKED[park.reason]}"
    if facts.occasion is None and isinstance(next_step(facts, 0), Rest):
        return "its result is kept, not posted"
    return f"left unfinished ({_ended(exit, said)})"


def _ended(exit: Exit | None, said: str) -> str:
    if exit is None:
        return "its process has ended"
    if exit.signal is not None:
        return f"its process was killed by signal {exit.signal}"
    return clip(said, SAID_MAX) or f"exit status {exit.code}"
