"""Looking at the registry: what each project still lacks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from colony.core.concept import unanswered
from colony.core.doctor import Diagnosis, fail, ok, warn
from colony.core.project import Project
from colony.core.survey import ProjectTrouble
from colony.errors import ColonyError
from colony.host.files import Unsafe, read_text
from colony.host.registry import Registry, folders_of, is_on

CONCEPT_MAX: Final = 1024 * 1024
FIRST: Final = "`colony init FOLDER` for the folder of your project (a copy of it, to be safe)"


def look_at_projects(
    registry: Registry,
    projects_dir: Path,
    home: Path,
    host: str,
    secrets: Callable[[Project], object],
) -> tuple[Diagnosis, ...]:
    """One finding a project. `secrets` reads its test credentials, or says why it cannot."""
    if not registry.projects:
        return (fail("projects", f"none is registered in {projects_dir}", FIRST),)
    found = []
    for name, project in registry.projects.items():
        check = f"project {name}"
        file = projects_dir / f"{name}.json"
        if isinstance(project, ProjectTrouble):
            found.append(fail(check, project.text, _mend(project, file)))
        elif name in registry.missing:
            folder = folders_of(project, home).dev
            todo = f"bring it back, or correct dev in {file}"
            found.append(fail(check, f"its folder {folder} is missing", todo))
        else:
            found.append(_lacks(check, project, secrets) or _judged(check, project, home, host))
    return tuple(found)


def _mend(trouble: ProjectTrouble, file: Path) -> str:
    if trouble.kind == "no concept":
        return f"write it, or correct concept in {file}"
    return "correct the file (docs/registry.md lists its keys)"


def _lacks(check: str, project: Project, secrets: Callable[[Project], object]) -> Diagnosis | None:
    try:
        secrets(project)
    except ColonyError as problem:
        return fail(check, problem.line, "put the credential there, or take it out of env")
    return None


def _judged(check: str, project: Project, home: Path, host: str) -> Diagnosis:
    if not project.workers:
        return ok(check, "takes no workers")
    places = folders_of(project, home)
    if not is_on(project, host) or places.dev is None:
        where = project.dev_host or "nowhere yet"
        return ok(check, f"its workers run on {where}, this host is {host}")
    left = () if places.concept is None else _left(places.concept)
    if left:
        told = f"{places.concept} leaves unanswered, or guessed: {' '.join(left)}"
        return warn(check, told, "answer them; take a guess's mark away where it is right")
    if not (places.dev / ".git").exists():
        todo = f"`git init {places.dev}`: what sessions change can then be seen and undone"
        return warn(check, "its folder is no git repository", todo)
    return ok(check, str(places.dev))


def _left(concept: Path) -> tuple[str, ...]:
    try:
        return unanswered(read_text(concept, CONCEPT_MAX) or "")
    except Unsafe:
        return ()
