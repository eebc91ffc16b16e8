"""Edges of other people's servers: `Foreign` in front of `BareTracker`, over real HTTP."""

from __future__ import annotations

from dataclasses import dataclass, field

from edges import Clock, HttpEdge, ShownToken

from colony.core.ticket import Me
from colony.tracker.http.dialect import Dialect
from colony.tracker.http.foreign import Foreign, Side
from colony.tracker.protocol import Tracker
from tests.fakes.bare_side import foreign_to
from tests.fakes.bare_tracker import BareTracker, Speaks


@dataclass
class BareEdge:
    """One process for each user, as long as the test runs."""

    speaks: Speaks
    clock: Clock = field(default_factory=Clock)
    inexact_ms: int = 1000
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


@dataclass
class PartEdge:
    """Colony's own server, taken for one that has these features alone."""

    whole: HttpEdge
    features: frozenset[str]
    opened: dict[Me, Foreign] = field(default_factory=dict)
    inexact_ms: int = 1000

    @property
    def clock(self) -> Clock:
        return self.whole.clock

    def tracker(self, me: Me) -> Tracker:
        if me not in self.opened:
            http = self.whole._http(ShownToken(self.whole.store, me))
            dialect = Dialect(self.features, old_words=False, own_users=frozenset())
            side = Side(me.user, me.machine, frozenset())
            self.opened[me] = Foreign(http, dialect, side, self.whole.own_ms)
        return self.opened[me]
