"""Whether anything in a folder was changed since a moment: a bounded look at its files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ENTRIES_MAX: Final = 50_000
"""Files and folders that are looked at; what lies behind them counts as unchanged."""
MADE_ANEW: Final = frozenset(
    {
        ".git", "node_modules", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache",
        ".venv", ".cache",
    }
)  # fmt: skip
"""Folders that every run fills by itself: nothing in them is work."""


def changed_since(folder: Path, since_ms: int) -> bool:
    """True as soon as one file is found that was written after `since_ms` (wall clock), or a commit
    that was made. No link is followed, no other file system entered."""
    since_ns = since_ms * 1_000_000
    try:
        device = folder.stat().st_dev
        if _newer(folder / ".git" / "logs" / "HEAD", since_ns):
            return True
    except OSError:
        return False
    looked = 0
    for entry in _entries(folder, device):
        looked += 1
        if looked > ENTRIES_MAX:
            return False
        try:
            if entry.stat(follow_symlinks=False).st_mtime_ns > since_ns:
                return True
        except OSError:
            continue
    return False


def _entries(folder: Path, device: int) -> Iterator[os.DirEntry[str]]:
    """Every file below, folders only walked through: their time changes with what is made anew."""
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        yield entry
                    elif entry.name not in MADE_ANEW and _on(entry, device):
                        waiting.append(entry.path)
        except OSError:
            continue


def _on(entry: os.DirEntry[str], device: int) -> bool:
    try:
        return entry.stat(follow_symlinks=False).st_dev == device
    except OSError:
        return False


def _newer(path: Path, since_ns: int) -> bool:
    try:
        return path.lstat().st_mtime_ns > since_ns
    except OSError:
        return False
