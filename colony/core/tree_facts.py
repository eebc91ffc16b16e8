"""What a session has on record of the tree in which it works, where it has one of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class TreeSetup:
    """The tree of its own in which a session works (registry: `worktrees`)."""

    name: str
    repository: str
    """Folder of the base repository."""
    branch: str
    into: str
    """The branch of the base that it was cut from."""
    base: str
    """The commit of that branch when the session began."""
    merge: Literal["pass", "done", "never"]
    commands: tuple[str, ...] = ()
    """What makes a fresh tree ready."""


@dataclass(frozen=True, slots=True)
class TreeFacts:
    """What became of the session's tree so far."""

    ready_for: int = -1
    """Number of parts that had run when it was made ready."""
    not_ready: str = ""
    """Which of its commands failed, and how."""
    saved_after: int = 0
    """Number of the worker's part after which its work was saved, or could not be."""
    tip: str = ""
    """The commit that was saved last; empty: there was nothing to save."""
    bundle_sha256: str = ""
    """Of `bundle` in the run folder, which brings that commit."""
    not_saved: str = ""
    """Why the work could not be saved."""
    merge_old: str = ""
    """The base's commit from which a merge was computed."""
    merge_new: str = ""
    """The commit that merges; the base is to lead to it."""
    merged: Literal["", "merged", "conflicts", "left"] = ""
    conflicts: tuple[str, ...] = ()
    """Files in which branch and base cannot be brought together."""
    not_merged: str = ""
    """Why the base was left as it is."""


NOTHING_YET: Final = TreeFacts()
