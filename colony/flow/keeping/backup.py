"""A backup is written: what is in the home that nothing could make anew."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.core.session import Facts
from colony.errors import Busy, Refused
from colony.flow.keeping.archive import (
    DATABASE,
    FILE_MAX,
    LIBRARIAN,
    RUNS,
    Writer,
    is_librarian_file,
    is_run_file,
)
from colony.flow.runs import facts_of, not_ended
from colony.host.files import read_own
from colony.host.journal import RECORD, RunFolder
from colony.host.new_file import new_file, taken
from colony.tracker import copies

PLAIN: Final = ".db"
"""End of a file's name that asks for the database alone."""

TRIES: Final = 5
"""How often a session that changes is read."""


@dataclass(frozen=True, slots=True)
class Home:
    """Where a home's own things lie."""

    url: str
    home: Path
    runs: Path

    @property
    def librarian(self) -> Path:
        return self.home / LIBRARIAN


@dataclass(frozen=True, slots=True)
class Contents:
    """What a copy holds."""

    size: int
    librarian: int = 0
    """Files of the librarian."""
    sessions: tuple[str, ...] = ()


def back_up(home: Home, target: Path, at_ms: int) -> Contents:
    """Write a backup as the new file `target`; where its name ends in `.db`, the database alone."""
    if target.name.endswith(PLAIN):
        return Contents(copies.backup(home.url, target))
    if os.path.lexists(target):
        raise taken(target)
    database = target.with_name(f".{target.name}.{os.getpid()}.db")
    try:
        database.unlink(missing_ok=True)
        # The sessions first: what is posted meanwhile is then in both, and is not posted twice;
        # the other way round it would be in neither.
        sessions = {folder: _session(folder) for folder in _unposted(home.runs)}
        copies.backup(home.url, database)
        books = home.librarian.resolve()
        librarian = tuple(_librarian(books))
        with new_file(target) as file:
            writer = Writer(file, at_ms)
            writer.add_file(DATABASE, database)
            for name in librarian:
                writer.add(f"{LIBRARIAN}/{name}", _content(books, name))
            for folder, files in sessions.items():
                for name, data in files.items():
                    writer.add(f"{RUNS}/{folder.session}/{name}", data)
            writer.finish()
    finally:
        database.unlink(missing_ok=True)
    names = tuple(folder.session for folder in sessions)
    return Contents(target.stat().st_size, len(librarian), names)


def _unposted(runs: Path) -> Iterator[RunFolder]:
    for folder in not_ended(runs):
        facts = facts_of(folder)
        if isinstance(facts, Facts) and facts.outcome is None:
            yield folder


def _session(folder: RunFolder) -> dict[str, bytes]:
    """What posting needs, with the record that goes with it."""
    for _ in range(TRIES):
        before = _content(folder.path, RECORD)
        names = sorted(
            str(path.relative_to(folder.path))
            for path in (*folder.path.glob("*"), *folder.path.glob("parts/*/answer.json"))
            if is_run_file(str(path.relative_to(folder.path)))
        )
        files = {name: _content(folder.path, name) for name in names}
        if files.get(RECORD) == before:
            return files
    raise Busy(f"session {folder.session} changes all the time; try again")


def _librarian(folder: Path) -> Iterator[str]:
    """Names of the files in it; hidden ones (locks, half-written files) are left out."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_dir() and not path.is_symlink():
            continue
        if any(part.startswith(".") for part in name.parts):
            continue
        if not is_librarian_file(str(name)):
            raise Refused(f"{path}: a backup cannot hold a file of this name")
        yield str(name)


def _content(folder: Path, name: str) -> bytes:
    data = read_own(folder, name, FILE_MAX)
    if data is None:
        raise Refused(f"{folder}/{name}: went away while it was copied; try again")
    return data
