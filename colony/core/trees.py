"""Trees of tickets: what they are called, and which of them may be taken away to make room."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from colony.core.ticket import NAME_PATTERN, Ref
from colony.errors import Refused

OURS: Final = "colony/"
"""Branches of this name are Colony's own."""

_TREE: Final = re.compile(rf"({NAME_PATTERN})-([1-9][0-9]{{0,14}})", re.ASCII)


def tree_name(ref: Ref) -> str:
    """From project and number only: no title can lead anywhere (field reports, "names")."""
    return f"{ref.project}-{ref.number}"


def place_of(ref: Ref, folders: Mapping[str, str], trees: Mapping[str, str]) -> str:
    """Where a session on this ticket works; empty: that is not known here. `folders`, `trees`:
    project -> its dev folder, and the folder of its trees where it has those."""
    if ref.project in trees:
        return f"{trees[ref.project]}/{tree_name(ref)}"
    return folders.get(ref.project, "")


def branch_of(ref: Ref) -> str:
    """`Refused`: git allows no branch of that name."""
    if ".." in ref.project:
        raise Refused(f"project {ref.project}: a name with `..` can be no branch's")
    return f"{OURS}{tree_name(ref)}"


def ref_of(name: str) -> Ref | None:
    """The ticket of a tree of this name; None: it is no tree's name."""
    found = _TREE.fullmatch(name)
    return Ref(found[1], int(found[2])) if found else None


@dataclass(frozen=True, slots=True)
class TreeSeen:
    """What is known of a tree. None: it could not be told, which keeps it."""

    name: str
    used_ms: int
    """When a session last began in it."""
    ours: bool
    """It is a folder of its own in the folder of trees, all links resolved, with its record."""
    locked: str = ""
    """Who or what holds it; empty: nobody."""
    dirty: bool | None = None
    """Something in it is changed, or untracked and not ignored."""
    unsaved: bool | None = None
    """One of its refs leads to a commit that is neither in the base repository's branches, its
    remotes' nor in a bundle whose hash is recorded."""
    stash: bool | None = None
    why: str = ""
    """Why something could not be told."""


@dataclass(frozen=True, slots=True)
class Stays:
    """A tree that is left, and why."""

    name: str
    why: str


def kept_because(tree: TreeSeen, busy: Mapping[str, str]) -> str:
    """Why a tree stays; empty: it is proved that it may go. `busy`: trees of sessions that run, are
    parked or have not ended, and the one that is just being dispatched, each with a word for it."""
    if tree.name in busy:
        return busy[tree.name]
    if not tree.ours:
        return tree.why or "it is no tree that Colony made here"
    if tree.locked:
        return tree.locked
    unknown = tree.why or "it could not be looked at"
    for found, told in (
        (tree.stash, "something is stashed in it"),
        (tree.unsaved, "it has commits that are saved nowhere else"),
        (tree.dirty, "it has changes that are not committed"),
    ):
        if found is None:
            return unknown
        if found:
            return told
    return ""


def oldest_first(trees: Iterable[TreeSeen]) -> tuple[TreeSeen, ...]:
    return tuple(sorted(trees, key=lambda tree: (tree.used_ms, tree.name)))


def stay_and_go(
    trees: Collection[TreeSeen], busy: Mapping[str, str] | None
) -> tuple[tuple[Stays, ...], tuple[TreeSeen, ...]]:
    """Which trees stay, each with the reason, and which may go, oldest first.

    `busy` None: the list of sessions cannot be read, so that every tree may be a running one's.
    """
    if busy is None:
        why = "the list of running sessions cannot be read"
        return tuple(Stays(tree.name, why) for tree in oldest_first(trees)), ()
    told = [(tree, kept_because(tree, busy)) for tree in oldest_first(trees)]
    stays = tuple(Stays(tree.name, why) for tree, why in told if why)
    return stays, tuple(tree for tree, why in told if not why)
