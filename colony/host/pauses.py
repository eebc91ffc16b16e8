"""What is paused: `control/pause` holds everything, `control/pause.<project>` one project.

A thing that Colony would not have written (a link, a folder, other words, another user's file)
pauses nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.core.ticket import NAME_PATTERN
from colony.host.files import Unsafe, read_own

FOLDER: Final = "control"
WORD_MAX: Final = 16
"""Bytes of a file: more than any word has."""
PAUSE: Final = "pause"
PAUSED: Final = b"pause\n"

_PROJECT: Final = re.compile(NAME_PATTERN, re.ASCII)


@dataclass(frozen=True, slots=True)
class Pauses:
    """What is paused: everything, or these projects."""

    everything: bool = False
    projects: frozenset[str] = frozenset()

    def holds(self, project: str) -> bool:
        return self.everything or project in self.projects

    @property
    def names(self) -> frozenset[str]:
        """As the plan has it: the empty name stands for all projects."""
        return self.projects | {""} if self.everything else self.projects


def pauses_of(home: Path) -> Pauses:
    """It makes nothing, and never fails."""
    folder = home / FOLDER
    found = [name for name in names_in(folder, PAUSE) if word_of(folder, name) == PAUSED]
    start = f"{PAUSE}."
    projects = (name.removeprefix(start) for name in found if name.startswith(start))
    return Pauses(PAUSE in found, frozenset(filter(_PROJECT.fullmatch, projects)))


def names_in(folder: Path, start: str) -> list[str]:
    try:
        return [path.name for path in folder.iterdir() if path.name.startswith(start)]
    except OSError:
        return []


def word_of(folder: Path, name: str) -> bytes:
    """What the file says; nothing where it is not Colony's own."""
    try:
        return read_own(folder, name, WORD_MAX) or b""
    except Unsafe:
        return b""
