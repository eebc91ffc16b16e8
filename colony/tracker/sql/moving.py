"""Rows of every table as they are: read page by page, and put into an empty store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from colony.core.ticket import Ref
from colony.errors import Refused
from colony.tracker.sql.engine import Transaction, Value

TABLES: Final[Mapping[str, tuple[str, str]]] = {
    "user": ("whole_user", "put_user"),
    "project": ("whole_project", "put_project"),
    "member": ("whole_member", "put_member"),
    "ticket": ("page_ticket", "put_ticket"),
    "parent": ("whole_parent", "put_parent"),
    "block": ("whole_block", "put_block"),
    "event": ("page_event", "put_event"),
    "session": ("page_session", "put_session"),
    "host": ("whole_host", "put_host"),
}
"""What a store holds, so that whatever a row names stands before it: how it is read and put."""

_PAGED: Final[Mapping[str, Mapping[str, Value]]] = {
    "ticket": {"project": "", "number": 0},
    "event": {"id": 0},
    "session": {"id": ""},
}
"""Tables of any length: the first columns, by which they are ordered, before the first row."""


class Misfit(Refused):
    """A row does not fit those that are there."""


@dataclass(frozen=True, slots=True)
class Summed:
    """A ticket's history in short."""

    events: int
    last: int
    state: str
    """That the last `created` or `state` event says."""
    begins: bool
    """Its first event is `created`, and no other one is."""


def rows(db: Transaction, page: int) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """(table, values) of everything in the store but tokens and answers, `page` rows a time."""
    for table, (read, _) in TABLES.items():
        if table not in _PAGED:
            yield from ((table, row) for row in db.rows(read))
            continue
        after = dict(_PAGED[table])
        while found := db.rows(read, limit=page, **after):
            yield from ((table, row) for row in found)
            after = dict(zip(after, found[-1], strict=False))


def put(db: Transaction, table: str, values: Mapping[str, Value]) -> None:
    """Misfit: it is there already, or names what is not."""
    try:
        changed = db.run(TABLES[table][1], **values)
    except sqlite3.IntegrityError as problem:
        raise Misfit(_in_words(str(problem))) from None
    if changed != 1:
        raise Misfit("names a ticket that is not there, or that has one already")


def is_empty(db: Transaction) -> bool:
    [held] = db.rows("held")
    return held == (0, 0, 0)


def set_counter(db: Transaction, event: int) -> None:
    db.run("counter_set", event=event)


def renew_store(db: Transaction) -> None:
    """Another store from now on: nobody takes its answers for the ones of the store it was."""
    db.run("store_renew")


def summed(db: Transaction, ref: Ref) -> Summed | None:
    """None: the ticket has no event."""
    where: Mapping[str, Value] = {"project": ref.project, "number": ref.number}
    [(events, first, last, created, begun)] = db.rows("history_summed", **where)
    if events == 0:
        return None
    states = db.rows("state_last_set", **where)
    state = str(states[0][0]) if states else ""
    return Summed(events, last, state, begins=created == first and begun == 1)


def _in_words(problem: str) -> str:
    kind, _, what = problem.partition(" constraint failed: ")
    match kind:
        case "UNIQUE":
            return f"is there already ({what})"
        case "FOREIGN KEY constraint failed":
            return "names something that is not there"
        case _:
            return f"does not fit ({problem})"
