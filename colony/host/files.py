"""Files that others may have had their hands on: read without being led astray, written whole.

A read never follows a link out of where it should stay, never waits for a FIFO, never opens a
device, and never takes more than its limit. A write is there whole, or not at all.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Final

from colony.errors import Busy, Refused

PRIVATE_FILE: Final = 0o600
PRIVATE_FOLDER: Final = 0o700
PIECE: Final = 1 << 20
FOLDER_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_KINDS: Final = (
    (stat.S_ISREG, "a file"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class Unsafe(Refused):
    """A file is not what it should be, and was not read."""

    code = "unsafe"


class NoSpace(Busy):
    """The disk is full (or the quota, or the size limit); what was there before still is."""

    code = "disk"


class CannotWrite(Refused):
    """A file could not be written; what was there before still is."""

    code = "cannot_write"


def read_bytes(path: Path, limit: int, within: Path | None = None) -> bytes | None:
    """The content of a regular file of at most `limit` bytes; None where there is none.

    Links are followed. With `within`, a folder, only those that stay inside it: the rest, and
    everything that is no regular file, is `Unsafe`.
    """
    try:
        real = path.resolve()
        root = within.resolve() if within else Path(real.anchor)
        if not real.is_relative_to(root):
            raise Unsafe(f"{path}: is a link that leaves {root}")
        with folder_at(root) as folder:
            return _read(folder, str(real.relative_to(root)), limit, str(path), own=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RuntimeError) as problem:
        raise Unsafe(f"{path}: {_why(problem)}") from None


def read_text(path: Path, limit: int, within: Path | None = None) -> str | None:
    """`read_bytes` as UTF-8; text of another encoding is `Unsafe`."""
    data = read_bytes(path, limit, within)
    try:
        return None if data is None else data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise Unsafe(f"{path}: is not UTF-8 text (byte {problem.start})") from None


def read_own(folder: Path, name: str, limit: int) -> bytes | None:
    """The content of a file that must be Colony's own; None where there is none.

    `name` may lead through subfolders. No part of it may be a link, the file must be regular,
    of this user, without a second name (a hard link), and at most `limit` bytes long.
    """
    shown = f"{folder}/{name}"
    try:
        with folder_at(folder) as opened:
            return _read(opened, name, limit, shown, own=True)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:
        raise Unsafe(f"{shown}: {_why(problem)}") from None


def read_own_tail(folder: Path, name: str, limit: int) -> bytes:
    """The last `limit` bytes of a file that `read_own` would read, however long it is.

    Nothing where there is no such file, and of one that is not Colony's own.
    """
    try:
        with folder_at(folder) as opened, _file(opened, name, f"{folder}/{name}", own=True) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - limit))
            return file.read(limit)
    except (OSError, ValueError, Unsafe):
        return b""


def copy_own(source: Path, name: str, to: Path, limit: int) -> str:
    """Copy a file that `read_own` would read to a new file (0600) at `to`, a piece at a time; the
    copy's sha256 in hex. `Unsafe`: it is none, or grows past `limit` bytes; nothing is left then.
    """
    shown = f"{source}/{name}"
    hashed, left = hashlib.sha256(), limit
    try:
        with folder_at(source) as opened, _file(opened, name, shown, own=True) as file:
            if os.fstat(file.fileno()).st_size > limit:
                raise Unsafe(f"{shown}: is larger than {limit} bytes")
            with os.fdopen(create_private(to), "wb") as copy:
                while piece := file.read(min(PIECE, left + 1)):
                    left -= len(piece)
                    if left < 0:
                        raise Unsafe(f"{shown}: is larger than {limit} bytes")
                    hashed.update(piece)
                    copy.write(piece)
                copy.flush()
                os.fsync(copy.fileno())
        sync_folder(to.parent)
    except Unsafe:
        to.unlink(missing_ok=True)
        raise
    except (OSError, ValueError) as problem:
        if not isinstance(problem, FileExistsError):
            to.unlink(missing_ok=True)
        raise write_problem(problem, f"{shown} to {to}", "copied") from None
    return hashed.hexdigest()


def sha256_own(folder: Path, name: str) -> str:
    """Of a file that `read_own` would read, in hex; empty where there is none. `Unsafe`."""
    shown = f"{folder}/{name}"
    try:
        with folder_at(folder) as opened, _file(opened, name, shown, own=True) as file:
            hashed = hashlib.sha256()
            while piece := file.read(PIECE):
                hashed.update(piece)
            return hashed.hexdigest()
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as problem:
        raise Unsafe(f"{shown}: {_why(problem)}") from None


def write_private(path: Path, data: bytes) -> None:
    """Write a file of mode 0600: whole and on the disk, or not at all.

    `NoSpace`, `CannotWrite`: the old file, where there was one, is untouched.
    """
    write_own(path.parent.resolve(), path.name, data)


def write_own(folder: Path, name: str, data: bytes) -> None:
    """`write_private` for a name below `folder` of which no part may be a link."""
    shown = f"{folder}/{name}"
    try:
        with folder_at(folder) as opened, _parent(opened, name) as (parent, last):
            _replace(parent, last, data)
    except (OSError, ValueError) as problem:
        raise write_problem(problem, shown) from None


def make_own(folder: Path, name: str) -> None:
    """Make a folder (0700) below `folder`, and those on the way to it, where they are missing."""
    shown = f"{folder}/{name}"
    try:
        for path in reversed([PurePosixPath(name), *PurePosixPath(name).parents[:-1]]):
            with folder_at(folder) as opened, _parent(opened, str(path)) as (parent, last):
                with contextlib.suppress(FileExistsError):
                    os.mkdir(last, PRIVATE_FOLDER, dir_fd=parent)
                    os.fsync(parent)
                with folder_at(last, parent) as made:
                    os.fchmod(made, PRIVATE_FOLDER)
    except (OSError, ValueError) as problem:
        raise write_problem(problem, shown) from None


def create_private(path: Path | str, folder: int | None = None) -> int:
    """A descriptor of a new file (0600), to write to. FileExistsError: the name is taken."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    return os.open(path, flags, PRIVATE_FILE, dir_fd=folder)


def make_folder(path: Path) -> None:
    """Make a folder, private if it is new, where there is none. OSError."""
    path.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)


def sync_folder(folder: Path) -> None:
    """What was made, named and removed in the folder is on the disk. OSError."""
    with folder_at(folder.resolve()) as opened:
        os.fsync(opened)


def write_problem(problem: Exception, shown: str, done: str = "written") -> NoSpace | CannotWrite:
    """What to tell a person about a write that failed; `done` is what could not be done."""
    kind = NoSpace if isinstance(problem, OSError) and problem.errno in _NO_ROOM else CannotWrite
    return kind(f"{shown}: not {done}: {_why(problem)}")


@contextlib.contextmanager
def folder_at(path: Path | str, parent: int | None = None) -> Iterator[int]:
    """A descriptor of a folder that is no link itself."""
    opened = os.open(path, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=parent)
    try:
        yield opened
    finally:
        os.close(opened)


def kind_of(mode: int) -> str:
    """What a person calls a thing of this `st_mode`."""
    return next((name for test, name in _KINDS if test(mode)), "something else")


def parts_of(name: str) -> tuple[str, ...]:
    """The parts of a name inside a folder, at least one. ValueError: it is none, or leads out."""
    parts = PurePosixPath(name).parts
    if not parts or parts[0] == "/" or ".." in parts or "\0" in name:
        raise ValueError("is not a name inside the folder")
    return parts


def _read(folder: int, name: str, limit: int, shown: str, *, own: bool) -> bytes:
    with _file(folder, name, shown, own=own) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise Unsafe(f"{shown}: is larger than {limit} bytes")
    return data


@contextlib.contextmanager
def _file(folder: int, name: str, shown: str, *, own: bool) -> Iterator[IO[bytes]]:
    with _parent(folder, name) as (parent, last):
        # A name is looked at before it is opened: opening a device may already do something.
        named = os.open(last, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        _judge(os.fstat(named), shown, own=own)
        opened = os.open(f"/proc/self/fd/{named}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    finally:
        os.close(named)
    with os.fdopen(opened, "rb") as file:
        yield file


def _judge(found: os.stat_result, shown: str, *, own: bool) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise Unsafe(f"{shown}: is {kind_of(found.st_mode)}, not a file")
    if own and found.st_uid != os.geteuid():
        raise Unsafe(f"{shown}: belongs to another user")
    # No name at all: it was replaced after it had been opened, and is whole.
    if own and found.st_nlink > 1:
        raise Unsafe(f"{shown}: has {found.st_nlink} names, should have one")


@contextlib.contextmanager
def _parent(folder: int, name: str) -> Iterator[tuple[int, str]]:
    """The folder that holds the last part of `name`, and that part. No link on the way."""
    parts = parts_of(name)
    with contextlib.ExitStack() as stack:
        for part in parts[:-1]:
            folder = stack.enter_context(folder_at(part, folder))
        yield folder, parts[-1]


def _replace(parent: int, name: str, data: bytes) -> None:
    temporary = f".{name}.{os.getpid()}.tmp"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=parent)
    opened = create_private(temporary, parent)
    try:
        with os.fdopen(opened, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(opened)
        os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=parent)
        raise
    os.fsync(parent)


def _why(problem: Exception) -> str:
    if isinstance(problem, OSError):
        if problem.errno in (errno.ELOOP, errno.ENOTDIR):
            return "leads through a link, or through what is no folder"
        return (problem.strerror or type(problem).__name__).lower()
    return str(problem)
