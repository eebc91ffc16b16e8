"""Rows of relations: parents and blockers, and whether a new one would close a circle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from colony.core.ticket import Ref, Related
from colony.tracker.sql.engine import Transaction, Value

Key = tuple[str, int]


@dataclass(slots=True)
class Relatives:
    """The relations of many tickets, each list in the order of (project, number)."""

    parent: dict[Key, Related] = field(default_factory=dict)
    children: dict[Key, list[Related]] = field(default_factory=lambda: defaultdict(list))
    blocked_by: dict[Key, list[Related]] = field(default_factory=lambda: defaultdict(list))
    blocks: dict[Key, list[Related]] = field(default_factory=lambda: defaultdict(list))


def everywhere(db: Transaction) -> Relatives:
    return _joined(db.rows("relatives"), db.rows("parents"), db.rows("blocks"))


def around(db: Transaction, ref: Ref) -> Relatives:
    """Those of one ticket."""
    here: dict[str, Value] = {"project": ref.project, "number": ref.number}
    return _joined(
        db.rows("relatives_around", **here),
        db.rows("parents_around", **here),
        db.rows("blocks_around", **here),
    )


def add_block(db: Transaction, ref: Ref, by: Ref) -> bool:
    """False: it was there already."""
    return db.run("block_add", **_pair(ref, by)) > 0


def drop_block(db: Transaction, ref: Ref, by: Ref) -> bool:
    """False: there was none."""
    return db.run("block_drop", **_pair(ref, by)) > 0


def set_parent(db: Transaction, ref: Ref, parent: Ref | None) -> None:
    db.run(
        "parent_set",
        project=ref.project,
        number=ref.number,
        parent_project=parent.project if parent else None,
        parent_number=parent.number if parent else None,
    )


def waits_for(db: Transaction, ref: Ref, other: Ref) -> bool:
    return ref == other or bool(db.rows("waits_for", **_path(ref, other)))


def descends_from(db: Transaction, ref: Ref, other: Ref) -> bool:
    return ref == other or bool(db.rows("descends_from", **_path(ref, other)))


def _pair(ref: Ref, by: Ref) -> dict[str, Value]:
    return {
        "project": ref.project,
        "number": ref.number,
        "by_project": by.project,
        "by_number": by.number,
    }


def _path(start: Ref, end: Ref) -> dict[str, Value]:
    return {
        "from_project": start.project,
        "from_number": start.number,
        "to_project": end.project,
        "to_number": end.number,
    }


def _joined(
    tickets: Iterable[tuple[Any, ...]],
    parents: Iterable[tuple[Any, ...]],
    blocks: Iterable[tuple[Any, ...]],
) -> Relatives:
    known = {
        (project, number): Related(Ref(project, number), state, subject, source)
        for project, number, state, subject, source in tickets
    }
    # A query around one ticket gives that ticket's ends only: the other end is not asked for.
    found = Relatives()
    for project, number, parent_project, parent_number in parents:
        child, parent = (project, number), (parent_project, parent_number)
        if parent in known:
            found.parent[child] = known[parent]
        if child in known:
            found.children[parent].append(known[child])
    for project, number, by_project, by_number in blocks:
        waiting, by = (project, number), (by_project, by_number)
        if by in known:
            found.blocked_by[waiting].append(known[by])
        if waiting in known:
            found.blocks[by].append(known[waiting])
    return found
