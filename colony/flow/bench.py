"""What one session is worked with: edges, texts and this machine, gathered once by the wiring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from colony.coding.protocol import CodingAgent
from colony.core.lines import Json, Line
from colony.core.session import Runner
from colony.core.strict_json import Check
from colony.flow.briefing import Sources
from colony.flow.following import ShowDoing
from colony.flow.observe import Viewpoint
from colony.flow.part import Place
from colony.flow.walls import Walls
from colony.host.chance import Chance
from colony.host.control import Asked
from colony.host.trees import Trees
from colony.tracker.protocol import Tracker

Emit = Callable[[Line], None]
VersionProblem = Callable[[CodingAgent], str | None]
"""Asks the agent's program for its version; why it cannot be used, None when it can."""


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema of `templates/`: its value, and the check against it."""

    value: Json
    check: Check


class Orders(Protocol):
    """What a person at this host wants of a session, left where its process looks for it."""

    def of(self, session: str) -> Asked | None: ...

    def done(self, session: str, asked: Asked) -> None:
        """It is on record with the session: this order is taken away, and no later one."""
        ...


class NoOrders:
    """Nobody asks for anything."""

    def of(self, session: str) -> Asked | None:
        del session
        return None

    def done(self, session: str, asked: Asked) -> None:
        del session, asked


NO_ORDERS: Final = NoOrders()


def _utc(_: int) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Bench:
    """Everything but the session's own facts."""

    tracker: Tracker
    view: Viewpoint
    sources: Sources
    place: Place
    chance: Chance
    agent_for: Callable[[Runner], CodingAgent]
    version_problem: VersionProblem
    report: Schema
    verdict: Schema
    pass_env: frozenset[str]
    secrets: Mapping[str, str]
    """The project's test credentials, by name."""
    emit: Emit
    doing: ShowDoing
    """For a person who waits; shows nothing where nobody looks."""
    walls: Walls | None = None
    """None: agents see this machine's files."""
    orders: Orders = NO_ORDERS
    trees: Trees | None = None
    """None: no project of this bench has trees."""
    offset_minutes: Callable[[int], int] = _utc
    """Of the reader's time zone at a moment (ms), east of UTC."""
