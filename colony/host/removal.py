"""Removing a tree that others filled: read-only or very deep, with links that are never followed.

It goes down and up by descriptors, two at a time, so that neither the depth of a tree nor a link
put in the place of a folder matters.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.host.files import FOLDER_FLAGS, folder_at, parts_of, write_problem

_NOT_EMPTY: Final = frozenset({errno.ENOTEMPTY, errno.EEXIST})


def remove_own(folder: Path, name: str) -> None:
    """Remove a folder below `folder` with all that is in it; a missing one is fine.

    Links are removed, never followed: also one that stands where `name` or a folder on the way to
    it should be, as any file there. What this user closed to himself is opened. `CannotWrite`:
    something of it cannot be removed, or is mounted.
    """
    try:
        parts = parts_of(name)
        with contextlib.ExitStack() as stack:
            at = stack.enter_context(folder_at(folder))
            for part in parts[:-1]:
                if not _is_folder(part, at):
                    os.unlink(part, dir_fd=at)
                    return
                at = _open_up(part, at)
                stack.callback(os.close, at)
            if _is_folder(parts[-1], at):
                _remove(parts[-1], at)
            else:
                os.unlink(parts[-1], dir_fd=at)
    except FileNotFoundError:
        return
    except (OSError, ValueError) as problem:
        raise write_problem(problem, f"{folder}/{name}", "removed") from None


@dataclass(slots=True)
class _Level:
    """A folder on the way down."""

    identity: tuple[int, int]
    folders: list[str]
    """What is left in it; the last one is removed next."""
    emptied: str = ""
    """The one that was opened and emptied: it must be empty now."""


def _remove(name: str, parent: int) -> None:
    levels = [_Level(_identity(parent), [name])]
    at = os.dup(parent)
    try:
        while levels:
            level = levels[-1]
            if not level.folders:
                levels.pop()
                at = _instead_of(at, _above(at, levels[-1])) if levels else at
            elif _is_gone(level, at):
                level.folders.pop()
            else:
                # What vanishes meanwhile must not end the rest.
                with contextlib.suppress(FileNotFoundError):
                    at = _instead_of(at, _open_up(level.folders[-1], at))
                    levels.append(_Level(_identity(at), []))
                    levels[-1].folders.extend(_without_files(at))
    finally:
        os.close(at)


def _is_gone(level: _Level, at: int) -> bool:
    """Asked before a folder is opened, too: a mounted one is busy, and stays as it is."""
    name = level.folders[-1]
    try:
        os.rmdir(name, dir_fd=at)
    except FileNotFoundError:
        return True
    except OSError as problem:
        if problem.errno not in _NOT_EMPTY or name == level.emptied:
            raise
        level.emptied = name
        return False
    return True


def _without_files(at: int) -> list[str]:
    """The folders in a folder of which the rest is removed."""
    folders = []
    with os.scandir(at) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(entry.name, dir_fd=at)
    return folders


def _open_up(name: str, parent: int) -> int:
    """A descriptor of a folder that is no link; one of this user is made accessible to him."""
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    named = os.open(name, flags, dir_fd=parent)
    try:
        found = os.fstat(named)
        if found.st_uid == os.geteuid() and ~found.st_mode & stat.S_IRWXU:
            # A descriptor that only names a folder can be changed through this path alone.
            Path(f"/proc/self/fd/{named}").chmod(stat.S_IMODE(found.st_mode) | stat.S_IRWXU)
        return os.open(".", FOLDER_FLAGS, dir_fd=named)
    finally:
        os.close(named)


def _above(at: int, level: _Level) -> int:
    above = os.open("..", FOLDER_FLAGS, dir_fd=at)
    if _identity(above) != level.identity:
        os.close(above)
        raise OSError(errno.ESTALE, "was moved while it was removed")
    return above


def _instead_of(old: int, new: int) -> int:
    os.close(old)
    return new


def _identity(opened: int) -> tuple[int, int]:
    found = os.fstat(opened)
    return found.st_dev, found.st_ino


def _is_folder(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
