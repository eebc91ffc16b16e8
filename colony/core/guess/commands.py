"""How a project is built, started and tested, as its own files show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from colony.core.guess.reading import Command, Found, table

TASKS: Final = ("install", "build", "start", "test", "lint")
_SCRIPTS: Final[Mapping[str, tuple[str, ...]]] = {
    "build": ("build", "compile"),
    "start": ("start", "dev", "serve", "run"),
    "test": ("test", "tests", "check"),
    "lint": ("lint", "typecheck", "format"),
}
_TARGET: Final = re.compile(r"^([A-Za-z][\w-]{0,40})[^:=\n]{0,200}:(?!=)", re.MULTILINE)
_NO_TESTS: Final = "no test specified"


def commands_of(
    found: Found, package: Mapping[str, Any], python: Mapping[str, Any]
) -> tuple[Command, ...]:
    """One command a task: the first that a file shows, a Makefile before all others."""
    told = [*_make(found), *_npm(found, package), *_python(found, python), *_fixed(found)]
    by_task: dict[str, Command] = {}
    for each in told:
        by_task.setdefault(each.task, each)
    return tuple(by_task[task] for task in TASKS if task in by_task)


def _make(found: Found) -> list[Command]:
    out = []
    for name, program in (("Makefile", "make"), ("makefile", "make"), ("justfile", "just")):
        targets = set(_TARGET.findall(found.get(name, "")))
        out += [Command(task, f"{program} {target}", name) for task, target in _first(targets)]
    return out


def _first(names: set[str]) -> list[tuple[str, str]]:
    """Each task with the first of its usual names that is there. `install` is none of them: a
    Makefile's puts the program into the system, a package's is run by npm itself."""
    out = []
    for task, usual in {"install": ("setup",), **_SCRIPTS}.items():
        target = next((each for each in usual if each in names), None)
        if target is not None:
            out.append((task, target))
    return out


def _npm(found: Found, package: Mapping[str, Any]) -> list[Command]:
    if not package:
        return []
    program = "pnpm" if "pnpm-lock.yaml" in found else "yarn" if "yarn.lock" in found else "npm"
    locked = program == "npm" and "package-lock.json" in found
    install = "npm ci" if locked else f"{program} install"
    scripts = {
        name
        for name, text in table(package, "scripts").items()
        if isinstance(text, str) and _NO_TESTS not in text
    }
    run = {"npm": "npm run", "pnpm": "pnpm run", "yarn": "yarn"}[program]
    short = {"npm": {"test", "start"}, "pnpm": {"test", "start"}, "yarn": set()}[program]
    out = [Command("install", install, "package.json")]
    for task, name in _first(scripts):
        text = f"{program} {name}" if name in short else f"{run} {name}"
        out.append(Command(task, text, "package.json"))
    return out


def _python(found: Found, python: Mapping[str, Any]) -> list[Command]:
    out = []
    if "uv.lock" in found:
        out.append(Command("install", "uv sync", "uv.lock"))
    elif "project" in python:
        out.append(Command("install", "python -m pip install -e .", "pyproject.toml"))
    elif "requirements.txt" in found:
        text = "python -m pip install -r requirements.txt"
        out.append(Command("install", text, "requirements.txt"))
    tools = table(python, "tool")
    if "pytest.ini" in found:
        out.append(Command("test", "python -m pytest", "pytest.ini"))
    elif "pytest" in tools or "pytest" in " ".join(_declared(python)):
        out.append(Command("test", "python -m pytest", "pyproject.toml"))
    elif "[tool:pytest]" in found.get("setup.cfg", ""):
        out.append(Command("test", "python -m pytest", "setup.cfg"))
    elif "tox.ini" in found:
        out.append(Command("test", "tox", "tox.ini"))
    if "ruff" in tools:
        out.append(Command("lint", "ruff check .", "pyproject.toml"))
    return out


def _declared(python: Mapping[str, Any]) -> list[str]:
    """What the project says it depends on, for use or for its tests."""
    project = table(python, "project")
    groups = [project.get("dependencies")]
    groups += table(project, "optional-dependencies").values()
    groups += table(python, "dependency-groups").values()
    return [
        each
        for group in groups
        if isinstance(group, list)
        for each in group
        if isinstance(each, str)
    ]


_FIXED: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "Cargo.toml": (("build", "cargo build"), ("test", "cargo test")),
    "go.mod": (("build", "go build ./..."), ("test", "go test ./...")),
    "pom.xml": (("build", "mvn package"), ("test", "mvn test")),
    "build.gradle": (("build", "gradle build"), ("test", "gradle test")),
    "build.gradle.kts": (("build", "gradle build"), ("test", "gradle test")),
    "composer.json": (("install", "composer install"),),
    "Gemfile": (("install", "bundle install"),),
    "mix.exs": (("build", "mix compile"), ("test", "mix test")),
}


def _fixed(found: Found) -> list[Command]:
    return [
        Command(task, text, name)
        for name, commands in _FIXED.items()
        if name in found
        for task, text in commands
    ]
