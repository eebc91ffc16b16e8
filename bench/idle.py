"""The loop over a server with many tickets, where nothing is to be done: what an iteration asks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.served import Addresses
from colony.core.plan import PlanSettings
from colony.core.project import Project
from colony.core.ticket import Ref
from colony.flow.observe import Viewpoint
from colony.flow.run import Loop, LoopBench, LoopSettings
from colony.flow.supervise import Command, Supervisor
from colony.host.chance import SystemChance
from colony.host.clock import SystemClock
from colony.host.control import Control
from colony.host.notify import Notifier
from colony.host.registry import Registry
from colony.host.signals import LoopSignals
from colony.tracker.http.answer import Raw, Trouble
from colony.tracker.http.client import Http, Surroundings
from colony.tracker.http.edge import HttpTracker
from colony.tracker.http.opening import dialect_at


@dataclass(frozen=True)
class Cost:
    """Of one iteration. CPU: of the loop's process, in seconds; bytes: of bodies, unpacked."""

    requests: float
    bytes: float
    cpu_s: float


@dataclass(frozen=True)
class Costs:
    first: Cost
    """It knows nothing yet."""
    idle: Cost
    """Nothing is new."""
    news: Cost
    """One ticket has a new comment."""


class Token:
    name = "the token"

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def secret(self, *, again: bool = False) -> str:  # noqa: ARG002 - as clients ask
        return self._secret


class Counted(Http):
    """Counts requests and what came back."""

    requests = size = 0

    def _exchange(self, *asked: Any) -> Raw | Trouble:
        raw = super()._exchange(*asked)
        self.requests += 1
        self.size += len(raw.body) if isinstance(raw, Raw) else 0
        return raw


def costs_of_iterations(home: Path, at: Addresses, runs: int) -> Costs:
    """A loop whose slots are all taken, on the tickets of `bench.tickets`."""
    clock = SystemClock()
    around = Surroundings(clock, SystemChance().fraction, time.sleep)
    http = Counted(at.tracker, token=Token(at.token), user_agent="bench", around=around)
    with closing(http), _loop(home, http) as loop:
        first = _cost(http, loop)
        idle = [_cost(http, loop) for _ in range(runs)]
        news = []
        for run in range(runs):
            loop.tracker.comment(Ref("shop", 500 + run), "A word.", key=f"bench:{clock.wall_ms()}")
            news.append(_cost(http, loop))
    return Costs(first, _median(idle), _median(news))


def _cost(http: Counted, loop: _Desk) -> Cost:
    requests, size, begun = http.requests, http.size, time.process_time()
    loop.iterate()
    return Cost(http.requests - requests, http.size - size, time.process_time() - begun)


def _median(costs: list[Cost]) -> Cost:
    return Cost(
        statistics.median(each.requests for each in costs),
        statistics.median(each.bytes for each in costs),
        statistics.median(each.cpu_s for each in costs),
    )


class _Desk:
    def __init__(self, tracker: HttpTracker, loop: Loop) -> None:
        self.tracker = tracker
        self.iterate = loop.iterate


@contextmanager
def _loop(home: Path, http: Http) -> Iterator[_Desk]:
    clock = SystemClock()
    dialect = dialect_at(http, frozenset())
    assert dialect.features is not None
    tracker = HttpTracker(http, dialect.features, clock.wall_ms)
    folder = str(home / "shop")
    registry = Registry({"shop": Project("shop", concept="CONCEPT.md", dev_folder=folder)})
    settings = LoopSettings(
        plan=PlanSettings(0, (8700, 8709), 10), interval_s=60, stop_finish_s=0, ttl_ms=7_200_000,
        view=Viewpoint(registry, "here", "members", frozenset(), max_starts=4), inbox="inbox",
        folders={"shop": folder},
    )  # fmt: skip
    with LoopSignals() as signals:
        bench = LoopBench(
            tracker=tracker, runs=home / "runs", clock=clock, chance=SystemChance(),
            signals=signals, control=Control(home), notify=Notifier(), emit=lambda _: None,
            read_again=lambda: settings, busy_ranges=lambda _: (),
        )  # fmt: skip
        command = Command(("/bin/true",), {}, home / "runs")
        yield _Desk(tracker, Loop(bench, settings, Supervisor(command)))
