"""Reading a tree's own git folder without git: names of commits, and whether it is in use.

Whoever worked in the tree may have put anything there. Files are read as files: none is followed
out of the folder, none is waited for, each has a limit, and what is not understood is said to be.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from colony.errors import ColonyError
from colony.host.files import read_bytes

HEADS: Final = "HEAD"
"""The name under which `refs_in` has the commit that HEAD leads to."""
FILES_MAX: Final = 10_000
LINE_MAX: Final = 4096
PACKED_MAX: Final = 16 * 1024 * 1024
HALF_WAY: Final = (
    "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG", "rebase-merge", "rebase-apply",
)  # fmt: skip
"""Something was begun in the work tree and is not ended."""
REPOSITORIES: Final = ("worktrees", "modules")
"""Folders in which git keeps other work trees' and submodules' commits."""

_COMMIT: Final = re.compile(rb"([0-9a-f]{40})\s*", re.ASCII)
_LEADS: Final = re.compile(rb"ref: (refs/[!-~]+)\s*", re.ASCII)
_PACKED: Final = re.compile(rb"([0-9a-f]{40}) (refs/\S+)", re.ASCII)


class Unreadable(Exception):
    """The git folder holds something that is not understood, so nothing is known of it."""


def refs_in(git: Path) -> dict[str, str]:
    """Name -> commit, of every ref and of HEAD. `Unreadable`."""
    if git.is_symlink() or not git.is_dir():
        raise Unreadable("its .git is no folder")
    if os.path.lexists(git / "commondir") or os.path.lexists(git / "reftable"):
        raise Unreadable("its .git is none that Colony made")
    refs = dict(_packed(git))
    led: dict[str, str] = {}
    for name in _names(git / "refs", "refs"):
        _add(git, name, refs, led)
    _add(git, HEADS, refs, led)
    for name, to in led.items():
        if to in refs:
            refs[name] = refs[to]
        elif name == HEADS:
            raise Unreadable("its HEAD leads to no commit")
    return refs


def held_by_git(git: Path) -> str:
    """A word for what in the folder says that git works there, or died; empty: nothing does."""
    try:
        with os.scandir(git) as entries:
            found = sorted(each.name for each in entries if each.name.endswith(".lock"))
    except OSError as problem:
        return f"it could not be looked at: {problem.strerror}"
    if found:
        return f"git works in it, or was killed there ({found[0]})"
    return "it is locked" if os.path.lexists(git / "locked") else ""


def is_half_way(git: Path) -> bool:
    return any(os.path.lexists(git / name) for name in HALF_WAY)


def own_repositories(git: Path) -> bool:
    return any(os.path.lexists(git / name) for name in REPOSITORIES)


def _add(git: Path, name: str, refs: dict[str, str], led: dict[str, str]) -> None:
    data = _read(git, name, LINE_MAX)
    if commit := _COMMIT.fullmatch(data):
        refs[name] = commit[1].decode()
    elif leads := _LEADS.fullmatch(data):
        led[name] = leads[1].decode()
    else:
        raise Unreadable(f"its {name} cannot be read")


def _packed(git: Path) -> Iterator[tuple[str, str]]:
    if not os.path.lexists(git / "packed-refs"):
        return
    for line in _read(git, "packed-refs", PACKED_MAX).splitlines():
        if line.startswith((b"#", b"^")):
            continue
        found = _PACKED.fullmatch(line)
        if found is None:
            raise Unreadable("its packed-refs cannot be read")
        yield found[2].decode("utf-8", "surrogateescape"), found[1].decode()


def _names(folder: Path, name: str) -> Iterator[str]:
    """The files below `refs`; a link among them is none that git makes."""
    waiting, count = [(folder, name)], 0
    while waiting:
        at, under = waiting.pop()
        with os.scandir(at) as entries:
            for entry in entries:
                count += 1
                if count > FILES_MAX:
                    raise Unreadable("it has too many refs")
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((Path(entry.path), f"{under}/{entry.name}"))
                elif entry.is_file(follow_symlinks=False):
                    yield f"{under}/{entry.name}"
                else:
                    raise Unreadable(f"its {under}/{entry.name} is no file")


def _read(git: Path, name: str, limit: int) -> bytes:
    try:
        data = read_bytes(git / name, limit, within=git)
    except ColonyError as problem:
        raise Unreadable(problem.line) from None
    if data is None:
        raise Unreadable(f"its {name} is missing")
    return data
