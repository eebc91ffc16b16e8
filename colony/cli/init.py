"""`colony init`: a registry file, a concept to fill in, and a tracker."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Annotated

import typer

from colony.cli.opening import as_person, check_person, new_key
from colony.cli.show import Show
from colony.cli.verb import Context, verb, verbs
from colony.core.concept import first_concept
from colony.core.guess import guess_from, project_name
from colony.core.lines import Json, Line, printable
from colony.core.project import Project
from colony.core.survey import ProjectTrouble
from colony.core.ticket import NAME_PATTERN
from colony.errors import Refused, UsageProblem
from colony.host.files import make_folder, write_problem
from colony.host.foreign_files import shown_files
from colony.host.registry import folders_of, read_project, read_registry

app = verbs()


@verb(app)
def init(
    context: Context,
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="The project's folder.")] = ".",
    name: Annotated[
        str | None, typer.Option("--name", metavar="P", help="Default: the project's own.")
    ] = None,
) -> None:
    """Register a project folder: registry file, concept, tracker. Nothing is overwritten."""
    check_person(context.settings)
    dev = _folder(folder)
    guess = guess_from(shown_files(dev))
    project = _name(dev, name, guess.name)
    place = context.settings.place
    if dev == place.checkout:
        raise Refused(f"{dev} is Colony's own checkout: name your project's folder (init FOLDER)")
    _refuse_second_name(context, dev, project)
    _make_folder(place.projects_dir)
    registered = place.projects_dir / f"{project}.json"
    entry: dict[str, Json] = {
        "name": project,
        "dev": {"folder": str(dev)},
        "concept": "CONCEPT.md",
    }
    if guess.pages:
        entry["ui"] = True
    if _made(context.show, registered, json.dumps(entry, indent=2, ensure_ascii=False) + "\n"):
        _made(context.show, dev / "CONCEPT.md", first_concept(project, guess))
    with as_person(context, create=True) as tracker:
        if project not in tracker.projects():
            tracker.add_project(project, key=new_key())
    done = read_project(registered)
    if isinstance(done, ProjectTrouble):
        raise UsageProblem(done.text)
    concept = folders_of(done, place.home).concept
    _next(context.show, project, concept)


def _next(show: Show, project: str, concept: Path | None) -> None:
    if concept is not None:
        show.line(Line("note", f"next: fill in {concept}"))
    show.line(Line("note", f'then: colony ticket new --project {project} "…"'))
    show.line(Line("init", f"{project} is registered", facts={"project": project}))


def _folder(text: str) -> Path:
    folder = Path(text).absolute()
    if not folder.is_dir():
        raise UsageProblem(f"{folder}: there is no such folder")
    try:
        str(folder).encode()
    except UnicodeEncodeError:
        raise UsageProblem(f"{folder}: the folder's path is not UTF-8") from None
    folder = folder.resolve()
    if printable(str(folder)) != str(folder):
        raise UsageProblem(f"{printable(str(folder))}: the path holds control characters")
    concept = folder / "CONCEPT.md"
    if os.path.lexists(concept) and not concept.is_file():
        raise UsageProblem(f"{concept}: is there and is no file (a link to nothing, a pipe)")
    return folder


def _name(folder: Path, given: str | None, own: str) -> str:
    if given is not None:
        if re.fullmatch(NAME_PATTERN, given, re.ASCII) is None:
            raise UsageProblem(
                f"--name {given}: must be small letters, digits, '.' and '-' (64 at most)"
            )
        return given
    made = project_name(own) or project_name(folder.name)
    if not made:
        raise UsageProblem(f"{folder}: no project name can be made of this one, give --name")
    return made


def _refuse_second_name(context: Context, dev: Path, project: str) -> None:
    """Two projects of one folder would be two sessions at once in it; two folders, one name."""
    place = context.settings.place
    registry = read_registry(place.projects_dir, place.home, place.host)
    for name, found in registry.projects.items():
        other = folders_of(found, place.home).dev if isinstance(found, Project) else None
        if other is not None and name != project and other.resolve() == dev:
            raise Refused(f"{dev} is registered as {name} already")
        if other is not None and name == project and other.resolve() != dev:
            raise Refused(f"{name} is registered already, for {other}: give --name")


def _make_folder(path: Path) -> None:
    try:
        make_folder(path)
    except OSError as problem:
        raise write_problem(problem, str(path), "made") from None


def _made(show: Show, path: Path, text: str) -> bool:
    """Write a file that is not there yet; False: there was one, and it stays as it is."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        show.line(Line("init", f"kept as it is: {path}", facts={"path": str(path)}))
        return False
    except OSError as problem:
        raise write_problem(problem, str(path)) from None
    show.line(Line("init", f"made: {path}", facts={"path": str(path)}))
    return True
