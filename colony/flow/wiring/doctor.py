"""Wiring for `doctor`: settings become the table of checks, in the order in which to mend."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from colony.config import Settings
from colony.core.address import EMBEDDED, is_served
from colony.core.doctor import Diagnosis, ok
from colony.core.doctor.machine import judge_python
from colony.core.doctor.tracker import COLONYS, YOURS
from colony.core.project import Project
from colony.core.session import Runner
from colony.core.settings import BY_NAME
from colony.errors import ColonyError
from colony.flow.doctor.agents import look_at_agent
from colony.flow.doctor.examining import Check
from colony.flow.doctor.machine import (
    look_at_boxes,
    look_at_disk,
    look_at_git,
    look_at_home,
    look_at_ports,
    look_at_room,
    look_at_runs,
    look_at_sandbox,
    look_at_trees,
)
from colony.flow.doctor.projects import look_at_projects
from colony.flow.doctor.tracker import (
    Arrival,
    Names,
    look_at_own_token,
    look_at_person_token,
    look_at_way,
    look_inside,
    look_over_http,
)
from colony.flow.reaping import Reaper
from colony.flow.wiring.agents import agent_for
from colony.flow.wiring.credentials import secrets_of
from colony.flow.wiring.loop import command_of
from colony.flow.wiring.runners import runner_of
from colony.flow.wiring.sessions import admission_of, trees_of
from colony.host.box import search_path
from colony.host.clock import SystemClock
from colony.host.registry import Registry, read_registry
from colony.tracker.protocol import Tracker
from colony.tracker.reads import Reads


def checks_without_settings(
    home: Path, environ: Mapping[str, str], version: tuple[int, int, int]
) -> tuple[Check, ...]:
    """What is needed whatever is set."""
    private = tuple(home / name for name in (".env", "colony.db"))
    clock = SystemClock()
    return (
        Check("python", lambda: (judge_python(version),)),
        Check("home", lambda: look_at_home(home, private)),
        Check("disk", lambda: look_at_disk(home)),
        Check("git", lambda: look_at_git(environ, clock)),
    )


class OpenTracker(Protocol):
    def __call__(self, *, as_person: bool) -> Tracker: ...


@dataclass(frozen=True, slots=True)
class Ways:
    """How a command reaches the tracker; a database that is not there is not made."""

    reads: Callable[[], Reads]
    tracker: OpenTracker


def checks_of(settings: Settings, environ: Mapping[str, str], ways: Ways) -> tuple[Check, ...]:
    """What is needed with these settings."""
    place, work, clock = settings.place, settings.work, SystemClock()
    pool = work.port_pool
    admission = admission_of(settings, environ, lambda _: None)
    reaper = Reaper(trees_of(settings, environ), place.runs_dir, lambda _: None)
    return (
        Check("time zone", lambda: (ok("time zone", settings.tracker.tz),)),
        Check("projects", lambda: _projects(settings)),
        *_tracker_checks(settings, ways),
        Check("sandbox", lambda: look_at_sandbox(work.sandbox, environ, clock)),
        Check("box", lambda: look_at_boxes(*_to_try(settings, environ), clock)),
        Check("agent", lambda: _agents(settings, environ)),
        Check("ports", lambda: look_at_ports(place.runs_dir, pool, work.ports_per_session)),
        Check("room", lambda: look_at_room(admission, settings.guard, clock)),
        Check("runs", lambda: look_at_runs(place.runs_dir, place.host)),
        Check("trees", lambda: look_at_trees(reaper)),
    )


def _to_try(
    settings: Settings, environ: Mapping[str, str]
) -> tuple[Mapping[str, tuple[str, ...]], Mapping[str, str]]:
    """By project what tries its box out, and the environment for that. A process of its own does
    it: a box dies with the thread that made it, and a check has one that may be left behind. An
    agent whose program is not here has a check of its own."""
    started = command_of(settings, environ, {})
    names = [
        name
        for name, project in _registry(settings).projects.items()
        if isinstance(project, Project)
        and shutil.which(agent_for(runner_of(settings, project)).program, path=search_path(environ))
    ]
    if not settings.work.sandbox:
        return {}, started.env
    return {name: (*started.argv, "box", name, "--try") for name in names}, started.env


def _registry(settings: Settings) -> Registry:
    place = settings.place
    return read_registry(place.projects_dir, place.home, place.host)


def _projects(settings: Settings) -> tuple[Diagnosis, ...]:
    place = settings.place

    def secrets(project: Project) -> object:
        return secrets_of(project, place.home)

    return look_at_projects(
        _registry(settings), place.projects_dir, place.home, place.host, secrets
    )


def _tracker_checks(settings: Settings, ways: Ways) -> tuple[Check, ...]:
    tracker = settings.tracker
    names = Names(tracker.person, tracker.user, tracker.creator_names)
    shown = BY_NAME["tickets_url"].shown(tracker.url).removeprefix(EMBEDDED)
    if not is_served(tracker.url):
        return (Check("tracker", lambda: look_inside(shown, ways.reads, names)),)
    has_person = tracker.person_token_file is not None
    has_token = has_person or tracker.token_file is not None
    as_person = partial(ways.tracker, as_person=True) if has_person else None
    as_colony = partial(ways.tracker, as_person=False)
    arrival, clock = Arrival(), SystemClock()
    user, own_users = tracker.user, tracker.own_users
    return (
        Check("the way there", lambda: look_at_way(shown, tracker.url, token=has_token)),
        Check("tracker", lambda: look_over_http(shown, ways.reads, names, clock, arrival)),
        Check(COLONYS, lambda: look_at_own_token(as_colony, user, own_users, arrival)),
        Check(YOURS, lambda: look_at_person_token(as_person, arrival)),
    )


def _agents(settings: Settings, environ: Mapping[str, str]) -> tuple[Diagnosis, ...]:
    """Each agent that a session could be run with, once."""
    found: list[Diagnosis] = []
    env_file = settings.place.home / ".env"
    for runner in _runners(settings):
        found += look_at_agent(agent_for(runner), runner, environ, SystemClock(), env_file)
    return tuple(found)


def _runners(settings: Settings) -> tuple[Runner, ...]:
    try:
        known: Iterable[object] = _registry(settings).projects.values()
    except ColonyError:
        known = ()
    projects = [each for each in known if isinstance(each, Project) and each.workers]
    # Without a project, what the settings name.
    workers = [runner_of(settings, each) for each in projects or [Project("none")]]
    checkers = [
        replace(each, program=settings.check.claude) for each in workers if each.agent == "claude"
    ]
    return tuple({(each.agent, each.program): each for each in (*workers, *checkers)}.values())
