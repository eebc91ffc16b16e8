"""A tracker as lines: one snapshot, a page at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

from colony.tracker.moving.form import VERSION, End, Head, line_of, made
from colony.tracker.sql import history, moving
from colony.tracker.sql.engine import Engine

PAGE: Final = 100
"""Rows of a page: with the longest texts, some 50 MB."""


def lines(engine: Engine, at_ms: int) -> Iterator[bytes]:
    """Every line of the export, from one snapshot.

    The snapshot is held until the last line is taken: on a database that others write, export a
    copy of it. Tokens and the answers to earlier writes are not in it.
    """
    hashed = hashlib.sha256()
    count = 0
    with engine.reading() as db:
        head = line_of(Head(VERSION, at_ms, history.last(db)))
        hashed.update(head)
        count += 1
        yield head
        for table, values in moving.rows(db, PAGE):
            line = line_of(made(table, values))
            hashed.update(line)
            count += 1
            yield line
    yield line_of(End(count, hashed.hexdigest()))
