"""The registry: what `projects/*.json` says, and whether the folders it names are here."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from colony.core.lines import clip
from colony.core.project import Project, parse
from colony.core.strict_json import WHOLE, Problems, load_json
from colony.core.survey import ProjectTrouble
from colony.core.ticket import Ref
from colony.core.trees import tree_name
from colony.errors import UsageProblem
from colony.host.files import Unsafe, kind_of, read_text

FILE_BYTES_MAX: Final = 256 * 1024


TREES: Final = "trees"
"""Folder of the home: the trees of its tickets."""


@dataclass(frozen=True, slots=True)
class Folders:
    """A project's places, absolute; None where the registry names none."""

    dev: Path | None
    concept: Path | None
    code: Path | None
    live: Path | None


@dataclass(frozen=True, slots=True)
class Registry:
    projects: Mapping[str, Project | ProjectTrouble] = field(default_factory=dict)
    """By name, in alphabetical order."""
    missing: frozenset[str] = frozenset()
    """Projects whose dev folder should be on this host and is not."""


def read_registry(folder: Path, home: Path, host: str) -> Registry:
    """Every project of the folder; one that cannot be used is a trouble, never an exception.

    A folder that does not exist holds no projects; one that cannot be read is a UsageProblem.
    """
    projects: dict[str, Project | ProjectTrouble] = {}
    missing: set[str] = set()
    for name in _names(folder):
        found = read_project(folder / f"{name}.json")
        if isinstance(found, Project) and is_on(found, host):
            places = folders_of(found, home)
            if places.dev is not None and not _is_folder(places.dev):
                missing.add(name)
            elif found.workers:
                found = _without_concept(found, places) or found
        projects[name] = found
    return Registry(projects, frozenset(missing))


def read_project(path: Path) -> Project | ProjectTrouble:
    """One file, as far as it speaks for itself."""
    try:
        text = read_text(path, FILE_BYTES_MAX)
    except Unsafe as problem:
        return ProjectTrouble("broken", problem.line)
    if text is None:
        return ProjectTrouble("no file", f"{path} does not exist")
    data = load_json(text, FILE_BYTES_MAX)
    if isinstance(data, Problems):
        return _broken(path, [line.removeprefix(f"{WHOLE}: ") for line in data.lines])
    project = parse(data, path.stem)
    if not isinstance(project, Project):
        return _broken(path, list(project))
    if project.workers and not project.concept:
        return ProjectTrouble("no concept", f"{path} names no concept")
    return project


def live_url_of(folder: Path, name: str) -> str:
    """Where the project's results go live; empty where this host's registry does not say."""
    found = read_project(folder / f"{name}.json")
    return found.live_url if isinstance(found, Project) else ""


def folders_of(project: Project, home: Path) -> Folders:
    """Relative places are taken from the home; the concept's from the dev folder."""

    def absolute(text: str, base: Path = home) -> Path | None:
        if not text:
            return None
        return base / (Path(text).expanduser() if text.startswith("~/") else Path(text))

    dev = absolute(project.dev_folder)
    return Folders(
        dev=dev,
        concept=absolute(project.concept, dev or home),
        code=absolute(project.code),
        live=absolute(project.live_folder),
    )


def works_in(project: Project, home: Path, ref: Ref) -> Path | None:
    """Where a session on this ticket works: a tree of its own, or the dev folder."""
    dev = folders_of(project, home).dev
    return home / TREES / tree_name(ref) if project.worktrees and dev is not None else dev


def is_on(project: Project, host: str) -> bool:
    """The project's dev folder should be on this host."""
    return bool(project.dev_folder) and project.dev_host.casefold() in ("", host.casefold())


def _names(folder: Path) -> list[str]:
    try:
        found = [path.name for path in folder.iterdir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageProblem(f"{folder}: {error.strerror}") from None
    return sorted(
        name.removesuffix(".json")
        for name in found
        if name.endswith(".json") and not name.startswith(".")
    )


def _broken(path: Path, problems: list[str]) -> ProjectTrouble:
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return ProjectTrouble("broken", clip(f"{path}: {problems[0]}", 400) + more)


def _without_concept(project: Project, places: Folders) -> ProjectTrouble | None:
    if places.concept is None:
        return None
    try:
        mode = places.concept.stat().st_mode
    except FileNotFoundError:
        trouble = "does not exist"
    except OSError as problem:
        trouble = f"cannot be looked at: {(problem.strerror or '').lower()}"
    else:
        if stat.S_ISREG(mode):
            return None
        trouble = f"is {kind_of(mode)}, not a file"
    return ProjectTrouble("no concept", f"{project.name}: {places.concept} {trouble}")


def _is_folder(path: Path) -> bool:
    """False also for what cannot be looked at: a name too long, a folder closed to this user."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except OSError:
        return False
