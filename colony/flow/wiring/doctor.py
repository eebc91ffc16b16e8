"""Wiring for `doctor`: settings become the table of checks, in the order in which to mend."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from colony.config import Settings
from colony.core.doctor import Finding, ok
from colony.core.doctor.machine import judge_python
from colony.core.project import Project
from colony.core.session import Runner
from colony.errors import ColonyError
from colony.flow.doctor.agents import look_at_agent
from colony.flow.doctor.examining import Check
from colony.flow.doctor.machine import (
    look_at_disk,
    look_at_git,
    look_at_home,
    look_at_ports,
    look_at_runs,
    look_at_sandbox,
)
from colony.flow.doctor.projects import look_at_projects
from colony.flow.doctor.tracker import Names, look_at_person, look_inside, look_over_http
from colony.flow.wiring.readers import EMBEDDED, reader
from colony.flow.wiring.sessions import agent_for, runner_of, secrets_of
from colony.flow.wiring.trackers import open_tracker
from colony.host.clock import SystemClock
from colony.host.registry import Registry, read_registry


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


def checks_of(settings: Settings, environ: Mapping[str, str]) -> tuple[Check, ...]:
    """What is needed with these settings."""
    place, work, clock = settings.place, settings.work, SystemClock()
    pool = work.port_pool
    return (
        Check("time zone", lambda: (ok("time zone", settings.tracker.tz),)),
        Check("projects", lambda: _projects(settings)),
        *_tracker_checks(settings),
        Check("sandbox", lambda: look_at_sandbox(work.sandbox, environ, clock)),
        Check("agent", lambda: _agents(settings, environ)),
        Check("ports", lambda: look_at_ports(place.runs_dir, pool, work.ports_per_session)),
        Check("runs", lambda: look_at_runs(place.runs_dir, place.host)),
    )


def _registry(settings: Settings) -> Registry:
    place = settings.place
    return read_registry(place.projects_dir, place.home, place.host)


def _projects(settings: Settings) -> tuple[Finding, ...]:
    place = settings.place

    def secrets(project: Project) -> object:
        return secrets_of(project, place.home)

    return look_at_projects(
        _registry(settings), place.projects_dir, place.home, place.host, secrets
    )


def _tracker_checks(settings: Settings) -> tuple[Check, ...]:
    tracker = settings.tracker
    names = Names(tracker.person, tracker.user, tracker.creator_names)
    if not tracker.url.startswith(("http://", "https://")):
        # An address of another kind may hold a password.
        shown = tracker.url.removeprefix(EMBEDDED) if tracker.url.startswith(EMBEDDED) else "there"
        return (Check("tracker", lambda: look_inside(shown, lambda: reader(settings), names)),)

    def as_colony() -> tuple[Finding, ...]:
        return look_over_http(
            re.sub(r"//[^/@]*@", "//", tracker.url),
            lambda: open_tracker(settings, as_person=False, create=False),
            names,
            tracker.own_users,
            SystemClock(),
        )

    def as_person() -> tuple[Finding, ...]:
        if tracker.person_token_file is None:
            return look_at_person(None)
        return look_at_person(lambda: open_tracker(settings, as_person=True, create=False))

    return (Check("tracker", as_colony), Check("your token", as_person))


def _agents(settings: Settings, environ: Mapping[str, str]) -> tuple[Finding, ...]:
    """Each agent that a session could be run with, once."""
    found: list[Finding] = []
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
