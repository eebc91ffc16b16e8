"""All rows of a tracker as a fold over what was read anew: what one row shows of others follows.

A row shows its relatives' states and subjects. Rows that were read at different moments are held
together so that they are of one: what a row shows of a relative is what that one's own row says.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Literal

from colony.core.ticket import Ref, Related, Ticket

Rows = Mapping[Ref, Ticket]
Tie = tuple[Literal["parent", "block"], Ref, Ref]
"""A child and its parent; a ticket and what blocks it. The same one seen from either side."""


def folded(rows: Rows, read: Iterable[Ticket]) -> dict[Ref, Ticket]:
    """The rows with those that were read anew in their places."""
    fresh = {row.ref: row for row in read}
    found = {**rows, **fresh}
    moved = {
        ref for ref, row in fresh.items() if ref in rows and rows[ref].related() != row.related()
    }
    for ref, row in found.items():
        # Of the others only what they show of a ticket that looks otherwise now can be old.
        if not _is_alone(row) and (ref in fresh or any(end in moved for end in _shown(row))):
            found[ref] = _as_they_are(row, found)
    return found


def one_sided(rows: Rows, refs: Collection[Ref]) -> frozenset[Ref]:
    """The other tickets whose rows say otherwise than those of `refs` whether they are related:
    they were read before that changed."""
    these = frozenset(refs)
    here: set[Tie] = set()
    there: set[Tie] = set()
    for ref, row in rows.items():
        if not _is_alone(row):
            told = (tie for tie in _ties(row) if ref in these or not these.isdisjoint(tie[1:]))
            (here if ref in these else there).update(told)
    ends = {end for _, *both in here ^ there for end in both}
    return frozenset(end for end in ends if end in rows and end not in these)


def _is_alone(row: Ticket) -> bool:
    return row.parent is None and not (row.children or row.blocked_by or row.blocks)


def _ties(row: Ticket) -> Iterator[Tie]:
    if row.parent is not None:
        yield "parent", row.ref, row.parent.ref
    for one in row.children:
        yield "parent", one.ref, row.ref
    for one in row.blocked_by:
        yield "block", row.ref, one.ref
    for one in row.blocks:
        yield "block", one.ref, row.ref


def _shown(row: Ticket) -> Iterator[Ref]:
    if row.parent is not None:
        yield row.parent.ref
    for related in (row.children, row.blocked_by, row.blocks):
        for one in related:
            yield one.ref


def _as_they_are(row: Ticket, rows: Rows) -> Ticket:
    def now(one: Related) -> Related:
        known = rows.get(one.ref)
        return one if known is None else known.related()

    return replace(
        row,
        parent=None if row.parent is None else now(row.parent),
        children=tuple(map(now, row.children)),
        blocked_by=tuple(map(now, row.blocked_by)),
        blocks=tuple(map(now, row.blocks)),
    )
