"""The loop in this process, where a moment between two of its actions has to be met exactly."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from colony.core.hours import parse
from colony.core.lines import Line
from colony.core.opening import ALWAYS, Opening
from colony.core.plan import PlanSettings
from colony.core.project import Project
from colony.core.ticket import Me, NewTicket
from colony.flow.observe import Viewpoint
from colony.flow.room import Admission
from colony.flow.run import Loop, LoopBench, LoopSettings
from colony.flow.supervise import Command, Supervisor
from colony.flow.wiring.trackers import DERIVE
from colony.host.chance import SystemChance
from colony.host.clock import Clock, SystemClock
from colony.host.control import Control
from colony.host.identity import has_ended
from colony.host.notify import Notifier
from colony.host.registry import Registry
from colony.host.signals import LoopSignals
from colony.tracker.embedded import Embedded, open_tracker
from tests.fakes.gauges import PLENTY


class Desk:
    """A loop over a real tracker, whose sessions are a program that only leaves a trace."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[Line] = []
        self.clock: Clock = SystemClock()
        self.stops_at = ""
        """The kind of line at which a stop comes."""
        self.signals = LoopSignals()
        with closing(self.opened("anna", machine=False)) as anna:
            for project in ("unknown", "shop"):
                anna.create(NewTicket(project, "A cart"), key=f"test:{project}")
        self.tracker = self.opened("colony", machine=True)

    def opened(self, user: str, *, machine: bool) -> Embedded:
        me = Me(user, "", machine=machine, owner=not machine)
        url = f"sqlite:///{self.folder / 'colony.db'}"
        return open_tracker(url, me=me, clock=SystemClock().wall_ms, derive=DERIVE, create=True)

    def emit(self, line: Line) -> None:
        self.lines.append(line)
        if line.kind == self.stops_at:
            os.kill(os.getpid(), signal.SIGTERM)

    def loop(self, opening: Opening = ALWAYS, interval_s: int = 60) -> Loop:
        project = Project("shop", dev_folder=str(self.folder), concept="CONCEPT.md")
        registry = Registry({"shop": project})
        view = Viewpoint(registry, "here", "all", frozenset({"anna"}))
        settings = LoopSettings(
            plan=PlanSettings(1, (8700, 8709), 10), interval_s=interval_s, stop_finish_s=0,
            ttl_ms=7_200_000, view=view, inbox="inbox", folders={"shop": str(self.folder)},
            opening=opening,
        )  # fmt: skip
        bench = LoopBench(
            tracker=self.tracker, runs=self.folder / "runs", clock=self.clock,
            chance=SystemChance(), signals=self.signals, control=Control(self.folder),
            notify=Notifier(), emit=self.emit, read_again=lambda: settings,
            busy_ranges=lambda _: (),
            admission=Admission(PLENTY, self.folder / "runs", self.folder, self.emit),
        )  # fmt: skip
        trace = ("/bin/sh", "-c", "true", "colony")
        self.supervisor = Supervisor(Command(trace, {}, self.folder / "runs"))
        return Loop(bench, settings, self.supervisor)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    with made.signals:
        yield made
    assert all(has_ended(pidfd, 20) for pidfd in made.supervisor.pidfds)
    assert len(list(made.supervisor.gone())) <= 1
    assert made.supervisor.members == ()
    made.tracker.close()


def test_it_asks_and_starts(desk: Desk) -> None:
    assert len(desk.loop().iterate()) == 1
    assert [line.kind for line in desk.lines] == ["posted", "iter"]


def test_nothing_is_started_after_a_stop_that_comes_between_two_actions(desk: Desk) -> None:
    desk.stops_at = "posted"
    assert not desk.loop().iterate()
    assert [line.kind for line in desk.lines] == ["posted", "iter"]
    assert not (desk.folder / "runs").exists()


class Wednesday(SystemClock):
    """A clock by hand: Wednesday noon, UTC."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def wall_ms(self) -> int:
        return 1_767_787_200_000 + round(self.ahead_s * 1000)

    def boot_s(self) -> float:
        return self.ahead_s


class Waits(LoopSignals):
    """Who waits lets the time pass by; nothing is waited for when it is enough."""

    def __init__(self, clock: Wednesday, enough: int) -> None:
        super().__init__()
        self._clock, self._enough = clock, enough
        self.slices: list[float] = []

    def wait_for(self, seconds: float, pidfds: Collection[int]) -> frozenset[int]:
        if pidfds:
            return super().wait_for(1.0, pidfds)
        self.slices.append(seconds)
        self._clock.ahead_s += seconds
        if len(self.slices) == self._enough:
            os.kill(os.getpid(), signal.SIGTERM)
        return frozenset()


def test_it_wakes_when_the_hours_begin(desk: Desk) -> None:
    """It looks every week; between two looks its hours begin, and it looks then."""
    clock = Wednesday()
    desk.clock = clock
    with Waits(clock, 2) as signals:
        desk.signals = signals
        desk.loop(Opening(parse("Wed 13:30-14:00")), interval_s=7 * 86_400).run(once=False)
    told = [line for line in desk.lines if line.kind == "iter"]
    assert told[0].facts["waiting"] == {"shop#1": "hours"}
    assert "shop#1 (outside of COLONY_HOURS until 2026-01-07 13:30 UTC)" in told[0].text
    assert signals.slices[0] == 90 * 60
    assert "started shop#1" in told[1].text


def test_the_hours_hold_nothing_that_is_asked(desk: Desk) -> None:
    desk.clock = Wednesday()
    assert desk.loop(Opening(parse("Thu"))).iterate() == frozenset()
    assert [line.kind for line in desk.lines] == ["posted", "iter"]
