"""The loop in this process, where a moment between two of its actions has to be met exactly."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from colony.core.lines import Line
from colony.core.plan import PlanSettings
from colony.core.project import Project
from colony.core.ticket import Me, NewTicket
from colony.flow.observe import Viewpoint
from colony.flow.run import Loop, LoopBench, LoopSettings
from colony.flow.supervise import Command, Supervisor
from colony.flow.wiring.trackers import DERIVE
from colony.host.chance import SystemChance
from colony.host.clock import SystemClock
from colony.host.control import Control
from colony.host.identity import has_ended
from colony.host.notify import Notifier
from colony.host.registry import Registry
from colony.host.signals import LoopSignals
from colony.tracker.embedded import Embedded, open_tracker


class Desk:
    """A loop over a real tracker, whose sessions are a program that only leaves a trace."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lines: list[Line] = []
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

    def loop(self) -> Loop:
        project = Project("shop", dev_folder=str(self.folder), concept="CONCEPT.md")
        registry = Registry({"shop": project})
        view = Viewpoint(registry, "here", "all", frozenset({"anna"}))
        settings = LoopSettings(
            plan=PlanSettings(1, (8700, 8709), 10), interval_s=60, stop_finish_s=0,
            ttl_ms=7_200_000, view=view, inbox="inbox", folders={"shop": str(self.folder)},
        )  # fmt: skip
        bench = LoopBench(
            tracker=self.tracker, runs=self.folder / "runs", clock=SystemClock(),
            chance=SystemChance(), signals=self.signals, control=Control(self.folder),
            notify=Notifier(), emit=self.emit, read_again=lambda: settings,
            busy_ranges=lambda _: (),
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
