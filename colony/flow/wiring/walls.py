"""Wiring for boxes: settings and a project say what agents may see, and what they never see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from colony.config import Settings
from colony.core.address import file_in
from colony.core.allowlist import allowed
from colony.core.project import Project
from colony.errors import Refused
from colony.flow.walls import Tried, Walls, seen_by, trial_in
from colony.flow.wiring.agents import agent_for
from colony.flow.wiring.runners import runner_of
from colony.host.box import Namespaces, box_options, detect, is_hardened, sealed, search_path
from colony.host.boxes import SYSTEM
from colony.host.clock import SystemClock
from colony.host.registry import Registry, folders_of, is_on
from colony.host.repository import objects_of
from colony.host.view import mounts_for

OF_HOME: Final = ("runs", "logs", "control", "briefs", "librarian", "status", "trees", ".env")
"""What Colony keeps in its home that is nobody else's to see."""
BESIDE_A_DATABASE: Final = ("", "-journal", "-wal", "-shm")


def walls_of(
    settings: Settings, registry: Registry, project: Project, environ: Mapping[str, str]
) -> Walls | None:
    """None: COLONY_SANDBOX=off."""
    if not settings.work.sandbox:
        return None
    folders = folders_of(project, settings.place.home)
    borrowed = objects_of(folders.dev) if project.worktrees and folders.dev is not None else ()
    read = [
        *borrowed,
        *(path for path in (folders.concept, folders.code) if path is not None),
        *_depended_on(settings, registry, project),
        *settings.work.sandbox_ro,
    ]
    return Walls(
        user_home=Path(environ.get("HOME") or Path.home()),
        read=tuple(read),
        secrets=tuple(_secrets(settings, registry, folders.dev)),
        writable=project.writable,
        userns=project.userns,
        live=folders.live,
    )


def _depended_on(settings: Settings, registry: Registry, project: Project) -> Iterator[Path]:
    """The dev folders of the projects that it depends on, as far as they are here."""
    for name in project.depends_on:
        found = registry.projects.get(name)
        if isinstance(found, Project) and is_on(found, settings.place.host):
            dev = folders_of(found, settings.place.home).dev
            if dev is not None:
                yield dev


def _secrets(settings: Settings, registry: Registry, dev: Path | None) -> Iterator[Path]:
    place, tracker = settings.place, settings.tracker
    if dev is None or place.home.resolve() != dev.resolve():
        yield place.home
    yield from (place.home / name for name in OF_HOME)
    yield place.runs_dir
    yield place.briefs_dir
    database = file_in(tracker.url)
    if database is not None:
        yield from (Path(f"{database}{end}") for end in BESIDE_A_DATABASE)
    tokens = (tracker.token_file, tracker.person_token_file, tracker.creator_token_file)
    yield from (path for path in tokens if path is not None)
    for project in registry.projects.values():
        if isinstance(project, Project):
            for source in project.env.values():
                yield place.home / Path(source.removeprefix("file:")).expanduser()


def prefix_of(
    settings: Settings,
    registry: Registry,
    project: Project,
    environ: Mapping[str, str],
    works_in: Path | None,
    *,
    deploy: bool,
) -> tuple[str, ...]:
    """The words that start a program where a worker of this project would be, with nothing that a
    session has of its own. `Refused`: there is no box."""
    box, walls, tried = _asked(settings, registry, project, environ, works_in)
    wanted = seen_by(walls, tried, deploy=deploy)
    box = sealed(box, mounts_for(wanted), userns=wanted.userns)
    env = (word for name, value in tried.env.items() for word in ("--setenv", name, value))
    return (box.bwrap, *box_options(box, tried.works_in), "--clearenv", *env)


def try_box(
    settings: Settings,
    registry: Registry,
    project: Project,
    environ: Mapping[str, str],
    works_in: Path | None,
) -> int:
    """Try out the box of this project's workers: milliseconds that it took. `NoBox`."""
    box, walls, tried = _asked(settings, registry, project, environ, works_in)
    clock = SystemClock()
    begun_s = clock.boot_s()
    SYSTEM.try_out(box, partial(trial_in, walls=walls, tried=tried), clock)
    return round((clock.boot_s() - begun_s) * 1000)


def _asked(
    settings: Settings,
    registry: Registry,
    project: Project,
    environ: Mapping[str, str],
    works_in: Path | None,
) -> tuple[Namespaces, Walls, Tried]:
    walls = walls_of(settings, registry, project, environ)
    box = detect("on" if walls else "off", SystemClock(), search_path(environ))
    if walls is None or not is_hardened(box):
        raise Refused("COLONY_SANDBOX=off: agents work without a box")
    folder = works_in or folders_of(project, settings.place.home).dev
    if folder is None or not folder.is_dir():
        raise Refused(f"the dev folder of {project.name} is not here")
    env = allowed(environ, frozenset(settings.work.pass_env))
    agent = agent_for(runner_of(settings, project))
    return box, walls, Tried(agent, folder, environ, env)
