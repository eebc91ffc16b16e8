"""Run folders: a session's files, of which `session.json` is the only commit point.

Other files are written first and named in it with their sha256: a file that it does not name does
not exist.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.core.lines import Json, clip
from colony.core.strict_json import WHOLE, Problems, dump_json, load_json, value_problems
from colony.errors import ColonyError, Refused
from colony.host.chance import SESSION
from colony.host.files import (
    PRIVATE_FOLDER,
    CannotWrite,
    Unsafe,
    copy_own,
    kind_of,
    make_own,
    read_own,
    read_own_tail,
    sha256_own,
    sync_folder,
    write_own,
    write_problem,
)
from colony.host.removal import remove_own
from colony.host.starting_log import move_in

RECORD: Final = "session.json"
LOCK: Final = "lock"
RECORD_LIMIT: Final = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Garbage:
    """A `session.json` that cannot be used, and why, in one line."""

    reason: str


@dataclass(frozen=True, slots=True)
class RunFolder:
    """One session's folder (0700, files 0600). Names of files may lead through subfolders."""

    path: Path

    @property
    def session(self) -> str:
        return self.path.name

    @property
    def lock(self) -> Path:
        """The file whose lock says that somebody works on this session."""
        return self.path / LOCK

    @classmethod
    def make(cls, runs: Path, session: str) -> RunFolder:
        """A new folder, on the disk.

        `Refused`: it exists, `runs` cannot be a folder, or `session` is no session's name.
        """
        if not SESSION.fullmatch(session):
            raise Refused(f"{session!r} is no session's name")
        path = runs / session
        try:
            _make_runs(runs)
            path.mkdir(PRIVATE_FOLDER)
            sync_folder(runs)
            move_in(runs, session)
        except FileExistsError:
            raise Refused(f"{path}: the run folder exists already") from None
        except OSError as problem:
            raise write_problem(problem, str(path)) from None
        return cls(path)

    def folder(self, name: str) -> Path:
        """A subfolder (0700), made with those above it where missing; never through a link."""
        make_own(self.path, name)
        return self.path / name

    def remove_tree(self, name: str) -> None:
        """Remove a subfolder with all that is in it; a missing one is fine.

        Links are removed, never followed, and so is one that stands in its place or on the way to
        it. `CannotWrite`: something in it cannot be removed.
        """
        remove_own(self.path, name)

    def discard(self) -> None:
        """Remove the folder with all that is in it: of a session that never began."""
        remove_own(self.path.parent, self.path.name)

    def write(self, name: str, data: bytes) -> str:
        """Write a file whole, on the disk, or not at all; its sha256 in hex.

        `NoSpace` (no room), `CannotWrite`: what was there before is untouched.
        """
        write_own(self.path, name, data)
        return hashlib.sha256(data).hexdigest()

    def read(self, name: str, limit: int, sha256: str | None = None) -> bytes | None:
        """A file of the session; None where there is none. `Unsafe`: it is a link, no regular
        file, another user's, larger than `limit` bytes, or not the one with this sha256."""
        data = read_own(self.path, name, limit)
        if data is not None and sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
            raise Unsafe(f"{self.path}/{name}: is not the file that {RECORD} names")
        return data

    def take_in(self, source: Path, name: str, limit: int) -> str:
        """A copy of a file of at most `limit` bytes that others wrote below `source`, in the place
        of the file of its name; its sha256. `Unsafe`: it is no plain file of this user."""
        new = f".{name}.new"
        try:
            remove_own(self.path, new)
            sha256 = copy_own(source, name, self.path / new, limit)
            (self.path / new).replace(self.path / name)
            sync_folder(self.path)
        except OSError as problem:
            raise write_problem(problem, f"{self.path}/{name}") from None
        return sha256

    def holds(self, name: str, sha256: str) -> bool:
        """There is a file of this name, and it is the one with this sha256."""
        try:
            return sha256_own(self.path, name) == sha256
        except Unsafe:
            return False

    def tail(self, name: str, limit: int) -> bytes:
        """The last `limit` bytes of a file of the session. Nothing where there is none, and of
        one that `read` would call `Unsafe`, save for its length."""
        return read_own_tail(self.path, name, limit)

    def save_json(self, record: Mapping[str, Json]) -> None:
        """Commit: `session.json` is now this record, or still the old one.

        `CannotWrite` also for a record that `load_json` would not take.
        """
        found = value_problems(dict(record))
        data = b"" if found else dump_json(dict(record)).encode()
        if len(data) > RECORD_LIMIT:
            found = (f"has {len(data)} bytes, at most {RECORD_LIMIT}",)
        if found:
            raise CannotWrite(f"{self.path}/{RECORD}: not written: {clip(found[0], 300)}")
        self.write(RECORD, data)

    def load_json(self, version: int = 1) -> dict[str, Json] | Garbage | None:
        """The last committed record; None where nothing was committed yet.

        Whatever else is there is `Garbage`, never an error: half a file, another version, a link.
        """
        try:
            data = self.read(RECORD, RECORD_LIMIT)
            if data is None:
                return None
            record = load_json(data.decode("utf-8"), RECORD_LIMIT)
        except (ColonyError, UnicodeDecodeError) as problem:
            return Garbage(f"{self.session}: {RECORD}: {problem}")
        if isinstance(record, Problems):
            return Garbage(
                f"{self.session}: {RECORD}: {record.lines[0].removeprefix(f'{WHOLE}: ')}"
            )
        if not isinstance(record, dict):
            return Garbage(f"{self.session}: {RECORD}: is no JSON object")
        if record.get("version") != version:
            found = record.get("version")
            return Garbage(
                f"{self.session}: {RECORD}: version {found}, this Colony reads {version}"
            )
        return record


def list_runs(runs: Path) -> tuple[RunFolder, ...]:
    """The run folders, oldest name first; what is no session's folder is passed over.

    `Refused`: the list cannot be read, which is not the same as an empty one.
    """
    try:
        with os.scandir(runs) as entries:
            names = sorted(
                entry.name
                for entry in entries
                if SESSION.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
            )
    except FileNotFoundError:
        return ()
    except OSError as problem:
        raise Refused(f"{runs}: the runs cannot be listed: {problem.strerror}") from None
    return tuple(RunFolder(runs / name) for name in names)


def misplaced(runs: Path) -> tuple[Garbage, ...]:
    """What has a session's name among the run folders and is no folder."""
    try:
        with os.scandir(runs) as entries:
            names = sorted(
                (entry.name, kind_of(entry.stat(follow_symlinks=False).st_mode))
                for entry in entries
                if SESSION.fullmatch(entry.name) and not entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return ()
    return tuple(Garbage(f"{name}: is {kind}, no run folder") for name, kind in names)


def _make_runs(runs: Path) -> None:
    try:
        runs.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
    except FileExistsError as problem:
        # The path in question may be one above.
        found = Path(problem.filename)
        what = "a link that leads nowhere" if found.is_symlink() else "no folder"
        raise Refused(f"{found}: is {what}") from None
