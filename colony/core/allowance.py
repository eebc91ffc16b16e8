"""What account, quota and the day's money let begin: one value, computed before the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from colony.core.account import Hold
from colony.core.markers import utc
from colony.core.quota import Gauge
from colony.core.session import Facts
from colony.core.spending import Spent
from colony.core.ticket import Ref

Reason = tuple[str, str]
"""A short word for programs, and a line for a person."""


@dataclass(frozen=True, slots=True)
class Seat:
    """What a session runs on. Empty: not known, and held by nothing."""

    agent: str = ""
    model: str = ""


def seat_of(facts: Facts) -> Seat:
    """What the next part of a session runs on, as far as its report tells."""
    reported = facts.report is not None and facts.report.valid
    runner = facts.setup.controller if reported else facts.setup.worker
    return Seat(runner.agent, runner.model)


NO_SEAT: Final = Seat()
NO_GAUGE: Final = Gauge("none")
UNLIMITED: Final = Spent()
NO_LOGIN: Final = "no login"


@dataclass(frozen=True, slots=True)
class Quota:
    """What the account of this host allows. Agents that need no account are held by money, and by
    their own deaths."""

    agents: frozenset[str] = frozenset()
    """Those that need the account."""
    seats: Mapping[str, Seat] = field(default_factory=dict)
    """Project -> what a new session of it runs on."""
    holds: tuple[Hold, ...] = ()
    gauge: Gauge = NO_GAUGE
    stale: bool = False
    """The quota has to be read before an agent is started."""
    spent: Spent = UNLIMITED
    lacks: str = ""
    """Why no agent of the account can log in; empty: as far as is known one can."""
    resting: Mapping[Ref, int] = field(default_factory=dict)
    """Tickets whose last session died before it was answered -> until when they are passed over."""

    def needed_by(self, seat: Seat) -> bool:
        return seat.agent in self.agents

    def seat_of(self, project: str) -> Seat:
        return self.seats.get(project, NO_SEAT)

    def without_login(self, why: str) -> Quota:
        """As it is where nobody can log in: there is nobody to ask for the quota."""
        if not why:
            return self
        gauge = replace(self.gauge, problem=NO_LOGIN)
        return replace(self, lacks=why, gauge=gauge, stale=False)

    def read(self) -> Quota:
        """As it is once the quota was read, or could not be."""
        return replace(self, stale=False)

    def against(self, seat: Seat, now_ms: int) -> Reason | None:
        """Why no agent begins on this seat, whatever else is free."""
        if self.spent.reached:
            return "day", f"{self.spent.text} until {utc(self.spent.until_ms)}"
        held = [each for each in self._on(seat) if now_ms < each.try_ms]
        if held:
            longest = max(held, key=lambda each: each.until_ms)
            return "held", f"{longest.why} until {utc(longest.until_ms)}"
        if not self.needed_by(seat):
            return None
        if self.lacks:
            return "login", self.lacks
        return ("quota", self.gauge.against) if self.gauge.against and not self.stale else None

    def rests(self, ref: Ref, now_ms: int) -> Reason | None:
        """Why no session begins on this ticket, though one may on another."""
        until_ms = self.resting.get(ref, 0)
        if now_ms >= until_ms:
            return None
        return "rests", f"its last session died before it was answered; again after {utc(until_ms)}"

    def untried(self, seat: Seat) -> tuple[Hold, ...]:
        """What is over for this seat, or may be tried, and has not been: one session goes first."""
        return self._on(seat)

    def is_on(self, hold: Hold, seat: Seat) -> bool:
        """The hold is one of this seat's agent, or of the account and the model that it uses."""
        if hold.agent:
            return hold.agent == seat.agent
        return self.needed_by(seat) and hold.covers(seat.model)

    def wake_ms(self, now_ms: int) -> int | None:
        """When something that holds may be tried next."""
        times = [each.try_ms for each in self.holds if each.try_ms > now_ms]
        times += [each for each in self.resting.values() if each > now_ms]
        if self.spent.reached:
            times.append(self.spent.until_ms)
        return min(times, default=None)

    def _on(self, seat: Seat) -> tuple[Hold, ...]:
        return tuple(each for each in self.holds if self.is_on(each, seat))


ANYTHING: Final = Quota()
"""Nothing holds, and nothing is known."""
