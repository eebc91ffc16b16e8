"""A backup is put back: everything is checked beside its place before anything is touched."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Final

from colony.core.session import Facts
from colony.errors import Busy, Damaged, Refused, UsageProblem
from colony.flow.keeping.archive import DATABASE, LIBRARIAN, RUNS, unpack
from colony.flow.keeping.backup import Contents, Home
from colony.flow.runs import facts_of, home_locked, not_ended
from colony.host.files import PRIVATE_FOLDER, create_private, sync_folder, write_problem
from colony.host.identity import command_of
from colony.host.journal import RunFolder
from colony.host.lock import is_locked
from colony.host.open_files import holders
from colony.tracker import copies
from colony.tracker.places import path_of

_PLAIN: Final = b"SQLite format 3\0"
_EXPORT: Final = b'{"row":"export"'


@dataclass(frozen=True, slots=True)
class Restored:
    """What was put back, and what of it was there already."""

    kept: Contents
    old: Path | None
    """The database that was there before."""
    stayed: tuple[str, ...]
    """Sessions whose run folder was there: theirs was not put back."""


@dataclass(frozen=True, slots=True)
class Staging:
    """Where a backup lies until it is known to be good: on the disks where it will be."""

    database: Path
    librarian: Path
    runs: Path

    def open(self, name: str) -> IO[bytes]:
        """The new file for a member of the backup; the archive has checked its name."""
        top, _, rest = name.partition("/")
        bases = {LIBRARIAN: self.librarian, RUNS: self.runs}
        path = self.database if name == DATABASE else bases[top] / PurePosixPath(rest)
        for folder in reversed([*path.parents]):
            # One by one: those on the way would not be private otherwise.
            folder.mkdir(PRIVATE_FOLDER, exist_ok=True)
        return os.fdopen(create_private(path), "wb")

    def clear(self) -> None:
        self.database.unlink(missing_ok=True)
        for folder in (self.librarian, self.runs):
            shutil.rmtree(folder, ignore_errors=True)


def put_back(home: Home, source: Path, now_ms: int, *, replace: bool) -> Restored:
    """Put a backup, or a plain copy of a database, in the place of what is there.

    `Refused`: a database is there (without `replace`), or the backup is not whole. `Busy`: somebody
    works in this home or has the database open.
    """
    path = path_of(home.url).resolve()
    if path.exists() and not replace:
        raise Refused(f"{path} is there: --replace puts it aside and the backup in its place")
    with _read(source) as file, home_locked(home.home), _staging(home, path) as staging:
        _nobody_works(home, path)
        begins = file.read(len(_PLAIN))
        file.seek(0)
        if begins.startswith(_EXPORT):
            raise Refused(f"{source} is an export: `colony tracker import` reads it")
        if begins == _PLAIN:
            with staging.open(DATABASE) as target:
                shutil.copyfileobj(file, target)
        else:
            unpack(file, staging.open, str(source))
        _prepare(staging, source)
        os.sync()
        return _settle(home, path, staging, _stamp(now_ms))


@contextlib.contextmanager
def _read(source: Path) -> Iterator[IO[bytes]]:
    if not source.is_file():
        raise UsageProblem(f"{source}: there is no such file")
    try:
        opened = source.open("rb")
    except OSError as problem:
        raise UsageProblem(f"{source}: cannot be read: {problem.strerror}") from None
    with opened:
        yield opened


@contextlib.contextmanager
def _staging(home: Home, path: Path) -> Iterator[Staging]:
    end = f"{os.getpid()}.restore"
    staging = Staging(
        path.with_name(f"{path.name}.{end}"),
        home.librarian.with_name(f".{LIBRARIAN}.{end}"),
        home.runs / f".{end}",
    )
    staging.clear()
    try:
        yield staging
    except OSError as problem:
        raise write_problem(problem, str(problem.filename or path), "put back") from None
    finally:
        staging.clear()


def _nobody_works(home: Home, path: Path) -> None:
    for folder in not_ended(home.runs):
        if is_locked(folder.lock):
            raise Busy(f"session {folder.session} is being worked on in this home")
    for pid in holders(path):
        raise Busy(f"{path}: process {pid} ({command_of(pid)}) has it open; end that first")


def _prepare(staging: Staging, source: Path) -> None:
    try:
        copies.prepare(staging.database)
    except Damaged as problem:
        told = str(problem).replace(str(staging.database), str(source))
        raise Refused(f"{told}; nothing was put back") from None
    for folder in _staged(staging):
        facts = facts_of(folder)
        if not isinstance(facts, Facts):
            raise Refused(f"{source}: session {folder.session} cannot be read; nothing put back")


def _staged(staging: Staging) -> list[RunFolder]:
    found = staging.runs.iterdir() if staging.runs.is_dir() else ()
    return [RunFolder(each) for each in sorted(found)]


def _settle(home: Home, path: Path, staging: Staging, stamp: str) -> Restored:
    """Sessions first, which are only added; the database last, which is what counts."""
    sessions, stayed = [], []
    for folder in _staged(staging):
        place = home.runs / folder.session
        if os.path.lexists(place):
            stayed.append(folder.session)
            continue
        folder.path.rename(place)
        sessions.append(folder.session)
    files = 0
    if staging.librarian.is_dir():
        files = sum(each.is_file() for each in staging.librarian.rglob("*"))
        if os.path.lexists(home.librarian):
            home.librarian.rename(_free(home.librarian, stamp))
        staging.librarian.rename(home.librarian)
    size = staging.database.stat().st_size
    old = _free(path, stamp) if path.exists() else None
    copies.put_in_place(path, staging.database, old)
    sync_folder(path.parent)
    return Restored(Contents(size, files, tuple(sessions)), old, tuple(stayed))


def _free(path: Path, stamp: str) -> Path:
    """A name for what was at `path`, with the time, that nothing has yet."""
    wanted = path.with_name(f"{path.name}.{stamp}")
    return wanted if not os.path.lexists(wanted) else path.with_name(f"{wanted.name}.{os.getpid()}")


def _stamp(now_ms: int) -> str:
    return datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
