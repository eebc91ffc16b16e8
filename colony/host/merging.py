"""Merging a ticket's branch into the base: computed without any work tree, then set, or left.

A merge is two steps, so that the first can be on record before the second is done, and the second
repeated after a crash: the new commit, which changes nothing, and the move of the base to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from colony.errors import Busy
from colony.host.git import LONG_S, GitFailed, why
from colony.host.lock import lock_folder
from colony.host.repository import Repository, View

CLEAN: Final = 0
CONFLICTS: Final = 1
FILES_MAX: Final = 100
"""Conflicting files that are named."""


@dataclass(frozen=True, slots=True)
class Planned:
    """The base is to go from `old` to `new`; the same where there is nothing to merge."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Conflicts:
    files: tuple[str, ...]


def plan(base: Repository, into: str, tip: str, message: str) -> Planned | Conflicts:
    """The commit that merges `tip` into the branch `into`; nothing leads to it yet. `GitFailed`:
    there is no such branch, the two have no history in common, or this git is too old (2.38)."""
    old = base.branch(into)
    if old is None:
        raise GitFailed(f"{base.top} has no branch {into}")
    with base.view(into_base=True) as view:
        if view.is_ancestor(tip, old):
            return Planned(old, old)
        merged = _merged(view, old, tip)
        if isinstance(merged, Conflicts):
            return merged
        parents = ("-p", old, "-p", tip)
        return Planned(old, view.run("commit-tree", merged, *parents, "-m", message))


def _merged(view: View, old: str, tip: str) -> str | Conflicts:
    """The merged tree."""
    words = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", old, tip)
    done = view.ask(*words, timeout_s=LONG_S)
    first, *files = done.stdout.decode("utf-8", "surrogateescape").rstrip("\0").split("\0")
    if done.timed_out or done.cut or not re.fullmatch(r"[0-9a-f]{40}", first):
        raise GitFailed(f"git merge-tree: {why(done)}")
    if done.exit.code == CLEAN:
        return first
    if done.exit.code == CONFLICTS:
        return Conflicts(tuple(dict.fromkeys(_shown(each) for each in files))[:FILES_MAX])
    raise GitFailed(f"git merge-tree: {why(done)}")


def _shown(name: str) -> str:
    """A file's name with what cannot be printed escaped (F65)."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def move(base: Repository, into: str, planned: Planned, note: str) -> str:
    """The base is at `planned.new` now, or beyond: empty. Else why it was left as it is.

    A work tree in which the branch is checked out follows, and only where nothing in it is changed.
    Safe to repeat after a crash at any moment.
    """
    try:
        now = base.branch(into)
        if now is None:
            return f"{base.top} has no branch {into}"
        with base.view() as view:
            if view.is_ancestor(planned.new, now):
                return ""
        if now != planned.old:
            return f"{into} went on meanwhile"
        at = base.checked_out().get(into)
        if at is None:
            base.set_branch(into, planned.new, planned.old, note)
            return ""
        if at.resolve() != base.top or base.bare:
            return f"{into} is checked out in {at}"
        return _move_with_files(base, into, planned, note)
    except (GitFailed, Busy) as problem:
        return problem.line


def _move_with_files(base: Repository, into: str, planned: Planned, note: str) -> str:
    """The files first: where a crash comes in between they are as `new` has them, and are found to
    be so."""
    held = lock_folder(base.top, f"a session works in {base.top}")
    with held, base.view() as view:
        files = view.over(base.top, base.folder / "index")
        files.ask("update-index", "-q", "--refresh", timeout_s=LONG_S)
        if not _has(files, "diff-files", "--quiet", "--ignore-submodules=all"):
            return f"{base.top} has changes that are not committed"
        if not _has(files, "diff-index", "--cached", "--quiet", planned.new, "--"):
            if not _has(files, "diff-index", "--cached", "--quiet", planned.old, "--"):
                return f"{base.top} has changes that are not committed"
            files.run("read-tree", "-m", "-u", planned.old, planned.new, timeout_s=LONG_S)
        base.set_branch(into, planned.new, planned.old, note)
    return ""


def _has(files: View, *question: str) -> bool:
    """Nothing differs. A difference is said by 1; all else is trouble."""
    done = files.ask(*question, timeout_s=LONG_S)
    if done.timed_out or done.exit.code not in (0, 1):
        raise GitFailed(f"git {question[0]}: {why(done)}")
    return done.exit.code == 0
