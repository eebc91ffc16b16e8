"""Agents that die before they answer: what is held then, and whose fault it is.

A program that is broken, or not to be started here, dies for every ticket. So it is held as a
provider that is away is, its ticket is passed over for a while, and what it costs is no attempt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from colony.core.account import Hold, Login, Used, hold_of
from colony.core.session.follows import MINUTE_MS
from colony.core.ticket import Ref

RESTS_MS: Final = (5 * MINUTE_MS, 15 * MINUTE_MS)
"""Pause of a ticket whose session died before it was answered, after the first in a row, and so on:
longer than the agent's first, so that another ticket tries whether it is the agent."""


def deaths_of(parts: Sequence[Used]) -> tuple[Hold, ...]:
    """Agents that died before they answered, whatever account they ran on: at most one hold an
    agent. The tries of one session in a row count as one."""
    found = []
    for agent in sorted({each.agent for each in parts if each.wordless}):
        mine = [each for each in parts if each.agent == agent]
        hold = hold_of(mine, "agent", "", Login("", ""), 0)
        if hold is not None:
            found.append(replace(hold, agent=agent))
    return tuple(found)


def resting_of(parts: Sequence[Used]) -> dict[Ref, int]:
    """Tickets whose last session died before it was answered: until when each is passed over."""
    tried: dict[Ref, list[Used]] = {}
    for each in sorted(parts, key=lambda one: (one.started_ms, one.number)):
        tried.setdefault(each.ref, []).append(each)
    found = {}
    for ref, mine in tried.items():
        row = {each.session for each in _last_deaths(mine)}
        if row:
            pause_ms = RESTS_MS[min(len(row), len(RESTS_MS)) - 1]
            found[ref] = (mine[-1].ended_ms or 0) + pause_ms
    return found


def _last_deaths(parts: Sequence[Used]) -> Iterator[Used]:
    for each in reversed(parts):
        if not each.wordless:
            return
        yield each


def died_elsewhere(parts: Sequence[Used], agent: str, ref: Ref) -> bool:
    """This agent has died on another ticket, and has not answered since: where it dies again, that
    is not this ticket's fault."""
    others = [each for each in parts if each.ref != ref or not each.wordless]
    return any(each.agent == agent for each in deaths_of(others))
