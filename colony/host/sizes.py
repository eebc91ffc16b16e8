"""How much there is in a tree that others filled: counted by names, links never followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ENTRIES_MAX: Final = 200_000
"""Entries that are counted; a larger tree is only said to be at least so large."""
BLOCK: Final = 512


@dataclass(frozen=True, slots=True)
class Size:
    """`on_disk`: bytes that removing it frees. `whole` False: there is more than was counted."""

    files: int = 0
    content: int = 0
    on_disk: int = 0
    whole: bool = True

    def __add__(self, other: Size) -> Size:
        return Size(
            self.files + other.files,
            self.content + other.content,
            self.on_disk + other.on_disk,
            self.whole and other.whole,
        )


def size_of(path: Path) -> Size:
    """A file, a link as itself, or a folder with all below it; nothing where there is nothing."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return Size()
    except OSError:
        return Size(whole=False)
    total = _one(found)
    waiting = [str(path)] if stat.S_ISDIR(found.st_mode) else []
    entries = 0
    while waiting:
        for each in _below(waiting.pop(), waiting):
            total += each
            entries += 1
            if entries >= ENTRIES_MAX:
                return total + Size(whole=False)
    return total


def _below(folder: str, waiting: list[str]) -> Iterator[Size]:
    """What lies in a folder; its folders are added to `waiting`."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                found = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(found.st_mode):
                    waiting.append(entry.path)
                yield _one(found)
    except FileNotFoundError:
        return
    except OSError:
        # Closed to this user, or too deep for a name.
        yield Size(whole=False)


def _one(found: os.stat_result) -> Size:
    if stat.S_ISDIR(found.st_mode):
        return Size(0, 0, found.st_blocks * BLOCK)
    # What has another name elsewhere stays on the disk.
    freed = found.st_blocks * BLOCK if found.st_nlink == 1 else 0
    return Size(1, found.st_size, freed)
