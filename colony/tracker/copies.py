"""Copies of embedded trackers: made, made ready, put in the place of another."""

from __future__ import annotations

from pathlib import Path

from colony.tracker.places import TIMEOUT_S, path_of
from colony.tracker.sql import copies


def backup(url: str, target: Path, timeout_s: float = TIMEOUT_S) -> int:
    """A copy of the database of `url` as the new file `target`; its bytes."""
    return copies.copy(path_of(url), target, timeout_s)


def prepare(new: Path) -> None:
    """Make the file of a copy ready to be a tracker. Damaged: it is none, or not a whole one."""
    copies.prepare(new)


def put_in_place(path: Path, new: Path, kept: Path | None, timeout_s: float = TIMEOUT_S) -> None:
    """The prepared file `new` is the database at `path` now, the one before it is `kept`."""
    copies.put_in_place(new, path, kept, timeout_s)
