"""Wiring for a project's test credentials: the registry names their files."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Final

from colony.core.project import Project
from colony.errors import ColonyError, Refused
from colony.host.files import read_text

SECRET_MAX: Final = 64 * 1024


def secrets_of(project: Project, home: Path) -> dict[str, str]:
    """The project's test credentials, read from their files; relative paths are the home's."""
    return {name: _secret(project, name, home) for name in project.env}


def secrets_found(project: Project, home: Path) -> dict[str, str]:
    """Those of its test credentials that can be read."""
    out = {}
    for name in project.env:
        with contextlib.suppress(ColonyError, OSError, RuntimeError):
            out[name] = _secret(project, name, home)
    return out


def _secret(project: Project, name: str, home: Path) -> str:
    path = home / Path(project.env[name].removeprefix("file:")).expanduser()
    text = read_text(path, SECRET_MAX)
    if text is None:
        raise Refused(f"project {project.name}: env {name}: {path} does not exist")
    return text.rstrip("\r\n")
