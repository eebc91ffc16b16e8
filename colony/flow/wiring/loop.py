"""Wiring for the loop: settings and registry become its terms, this machine its edges."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import colony
from colony.config import Settings
from colony.core.live import is_live
from colony.core.plan import PlanSettings
from colony.core.project import Project
from colony.errors import Refused
from colony.flow.bench import Emit
from colony.flow.iterating import Edges, Terms
from colony.flow.observe import Viewpoint
from colony.flow.supervise import Program, Supervisor
from colony.flow.watched import Watched
from colony.host.chance import SystemChance
from colony.host.clock import SystemClock
from colony.host.control import Control
from colony.host.lock import Lock, lock_file
from colony.host.registry import folders_of, is_on
from colony.tracker.protocol import Tracker

RUN_LOCK: Final = "run.lock"
ROOT: Final = Path(colony.__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Given:
    """What the command line and the environment gave, for those that the loop starts."""

    options: tuple[str, ...]
    environ: Mapping[str, str]


def need_leave(settings: Settings, *, live: bool) -> None:
    """Refused for a tracker on another machine, unless it was said that it is meant."""
    if is_live(settings.tracker.url) and not live:
        raise Refused(
            "COLONY_TICKETS_URL is not on this machine: others see what is written there;"
            " --live says that it is meant"
        )


def only_loop(settings: Settings) -> Lock:
    """The home's lock for its one loop. `Busy`: another one has it."""
    home = settings.place.home
    home.mkdir(parents=True, exist_ok=True)
    return lock_file(home / RUN_LOCK, f"colony run in {home}")


def terms_of(settings: Settings, view: Viewpoint) -> Terms:
    """What holds until settings and registry are read again."""
    home = settings.place.home
    folders = {
        name: os.path.realpath(dev)
        for name, project in view.registry.projects.items()
        if isinstance(project, Project)
        and is_on(project, view.host)
        and (dev := folders_of(project, home).dev) is not None
    }
    work, run = settings.work, settings.run
    return Terms(
        view=view,
        folders=folders,
        plan=PlanSettings(run.parallel, work.port_pool, work.ports_per_session),
        inbox=settings.tracker.inbox_project,
        interval_s=run.interval,
        stop_finish_s=run.stop_finish_seconds,
        ttl_ms=settings.lease.ttl * 1000,
    )


def edges_of(
    settings: Settings,
    given: Given,
    opened: Callable[[], Tracker],
    emit: Emit,
    stopping: Callable[[], bool],
) -> Edges:
    """Everything that the loop reaches."""
    place = settings.place
    return Edges(
        runs=place.runs_dir,
        watched=Watched(opened),
        supervisor=Supervisor(place.runs_dir, _program(settings, given)),
        control=Control(place.home),
        clock=SystemClock(),
        chance=SystemChance(),
        emit=emit,
        stopping=stopping,
    )


def _program(settings: Settings, given: Given) -> Program:
    """This very program, found wherever it lies and whatever folder it is called in."""
    paths = [str(ROOT), *filter(None, [given.environ.get("PYTHONPATH", "")])]
    environ = {**given.environ, "PYTHONPATH": os.pathsep.join(paths)}
    argv = (sys.executable, "-P", "-m", "colony", "--home", str(settings.place.home))
    return Program(argv, given.options, environ)
