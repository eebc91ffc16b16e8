"""Wiring for the loop: settings become what it works with, and what it reads again."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import colony
from colony.config import Settings
from colony.core.plan import PlanSettings
from colony.core.ports import Range
from colony.core.project import Project
from colony.core.settings import BY_NAME
from colony.flow.bench import Emit
from colony.flow.host_news import HostNews, Teller
from colony.flow.observe import Viewpoint
from colony.flow.reaping import Reaper
from colony.flow.room import Admission
from colony.flow.run import LoopBench, LoopSettings
from colony.flow.supervise import Command
from colony.flow.wiring.account import account_settings
from colony.flow.wiring.hours import opening_of
from colony.flow.wiring.sessions import admission_of, trees_of
from colony.host.chance import SystemChance
from colony.host.clock import SystemClock
from colony.host.control import Control
from colony.host.notify import notifier_of
from colony.host.ports import busy_ports
from colony.host.registry import TREES, folders_of, is_on
from colony.host.signals import LoopSignals
from colony.host.threads import SYSTEM
from colony.tracker.protocol import Tracker

ROOT: Final = Path(colony.__file__).resolve().parents[1]
"""Where this program lies: its sessions are this one, whatever the current folder holds."""
LOCK: Final = "run.lock"
"""In the home: held by the loop that works there."""


def loop_bench(
    settings: Settings,
    tracker: Tracker,
    signals: LoopSignals,
    environ: Mapping[str, str],
    emit: Emit,
    read_again: Callable[[], LoopSettings],
) -> LoopBench:
    reaper = Reaper(trees_of(settings, environ), settings.place.runs_dir, emit)
    admission = replace(admission_of(settings, environ, emit), reap=reaper.reap)
    return LoopBench(
        tracker=tracker,
        runs=settings.place.runs_dir,
        clock=SystemClock(),
        chance=SystemChance(),
        signals=signals,
        control=Control(settings.place.home),
        notify=notifier_of(environ, os.getpid()),
        emit=emit,
        read_again=read_again,
        busy_ranges=busy_ranges,
        admission=admission,
        news=HostNews(_teller(settings, tracker, admission)),
    )


def _teller(settings: Settings, tracker: Tracker, admission: Admission) -> Teller:
    read = partial(admission.read, "") if settings.guard.on else lambda: None
    return Teller(settings.place.host, tracker, SystemClock(), SYSTEM, read)


def loop_settings(settings: Settings, view: Viewpoint, environ: Mapping[str, str]) -> LoopSettings:
    work, run = settings.work, settings.run
    return LoopSettings(
        plan=PlanSettings(run.parallel, work.port_pool, work.ports_per_session),
        interval_s=run.interval,
        stop_finish_s=run.stop_finish_seconds,
        ttl_ms=settings.lease.ttl * 1000,
        view=view,
        inbox=settings.tracker.inbox_project,
        folders=_folders(view, settings.place.home),
        trees=_trees(view, settings.place.home),
        account=account_settings(settings, view.registry, environ),
        opening=opening_of(settings),
        guard=settings.guard,
    )


def command_of(settings: Settings, environ: Mapping[str, str], flags: Mapping[str, str]) -> Command:
    """`colony work` with the settings that the loop was given: what was an option of the loop is a
    variable of its sessions, which stands above their `.env` just so."""
    given = {BY_NAME[name].variable: text for name, text in flags.items() if name != "home"}
    paths = [str(ROOT), *filter(None, [environ.get("PYTHONPATH", "")])]
    given["PYTHONPATH"] = os.pathsep.join(paths)
    argv = (sys.executable, "-P", "-m", "colony", "--home", str(settings.place.home))
    return Command(argv, {**environ, **given}, settings.place.runs_dir)


def busy_ranges(plan: PlanSettings) -> tuple[Range, ...]:
    return tuple((port, port) for port in busy_ports(plan.pool))


def _trees(view: Viewpoint, home: Path) -> dict[str, str]:
    at = os.path.realpath(home / TREES)
    return {
        name: at
        for name, project in view.registry.projects.items()
        if isinstance(project, Project) and project.worktrees
    }


def _folders(view: Viewpoint, home: Path) -> dict[str, str]:
    found = {}
    for name, project in view.registry.projects.items():
        if isinstance(project, Project) and is_on(project, view.host):
            folder = folders_of(project, home).dev
            if folder is not None:
                found[name] = os.path.realpath(folder)
    return found
