"""Edges of other people's servers: `Foreign` in front of `BareTracker`, over real HTTP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from edges import Clock

from colony.core.ticket import Me
from colony.tracker.http.client import Http, Surroundings
from colony.tracker.http.dialect import dialect_of
from colony.tracker.http.foreign import Foreign, Side
from colony.tracker.protocol import Tracker
from tests.fakes.bare_tracker import BareTracker, Speaks

OWN: frozenset[str] = frozenset({"colony", *(f"m{at}" for at in range(10))})


@dataclass
class Boot:
    """A clock that goes on by what somebody waits, and stands still otherwise."""

    wall: Callable[[], int]
    waited_s: float = 0.0

    def wall_ms(self) -> int:
        return self.wall()

    def boot_s(self) -> float:
        return self.waited_s

    def wait(self, seconds: float) -> None:
        self.waited_s += seconds


@dataclass(frozen=True)
class KnownToken:
    """A token that is there."""

    value: str
    name: str = "a test"

    def secret(self, *, again: bool = False) -> str | None:
        return self.value


def http_to(server: BareTracker, user: str) -> Http:
    boot = Boot(server.clock)
    around = Surroundings(boot, lambda: 0.5, boot.wait)
    token = KnownToken(server.token(user))
    return Http(server.url, token=token, user_agent="tests", around=around)


def foreign_to(
    server: BareTracker,
    user: str,
    *,
    machine: bool,
    own: frozenset[str] = OWN,
    creator: str = "",
) -> Foreign:
    """A process of this user's. `creator`: whose token it has besides."""
    http = http_to(server, user)
    dialect = dialect_of(http.get("/api/projects").value, own)
    by = http_to(server, creator) if creator else None
    side = Side(user, machine, frozenset(server.creators), by)
    return Foreign(http, dialect, side, server.clock)


@dataclass
class BareEdge:
    """One process for each user, as long as the test runs."""

    speaks: Speaks
    clock: Clock = field(default_factory=Clock)
    opened: dict[str, Foreign] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.server = BareTracker(self.clock, self.speaks)

    def tracker(self, me: Me) -> Tracker:
        if me.user not in self.opened:
            self.opened[me.user] = foreign_to(self.server, me.user, machine=me.machine)
        return self.opened[me.user]

    def close(self) -> None:
        for each in self.opened.values():
            each.close()
        self.server.close()
