"""A ticket of thousands of comments: rows say what the history says, and writes stay quick."""

from __future__ import annotations

import sqlite3

import pytest
from edges import Cast, event_of, in_memory

from colony.core.keywords import priority_of
from colony.core.lease import view_of
from colony.core.texts import lease as lease_texts
from colony.tracker.sql import history
from colony.tracker.sql.connection import MemoryEngine

S1, S2 = "s-20260131T1819-abc123", "s-20260131T1819-def456"


@pytest.mark.parametrize(
    "text",
    [
        "/prio high", "/PRIO high", "\u00a0\n /Prio: 7", "/prio 9 because", "/prio nonsense",
        "no /prio high", "words",
    ],
)  # fmt: skip
def test_the_row_follows_every_way_to_write_a_priority(text: str) -> None:
    edge = in_memory()
    cast = Cast(edge)
    ref = cast.ticket()
    cast.comment(cast.alice, ref, "/prio -2")
    cast.comment(cast.alice, ref, text)
    cast.comment(cast.alice, ref, "words")
    seen = cast.alice.ticket(ref)
    admins = frozenset({cast.alice.me().user_id})
    assert seen.ticket.priority == priority_of(seen.events, admins)
    # The admins change: everything is read again.
    cast.member("zoe", "admin")
    assert cast.alice.ticket(ref).ticket.priority == priority_of(seen.events, admins)


def test_the_row_follows_every_lease_line() -> None:
    edge = in_memory()
    cast = Cast(edge)
    ref = cast.ticket()
    until = edge.clock.ms + 60_000
    cast.colony.move(ref, "progress", key="a", text=f"session {S1} started on here")
    for text in (
        "words",
        lease_texts.renewed(S1, "here", until),
        f"session {S1} started on here",
        "words",
        lease_texts.resumed(S1, "here", 1, until + 5),
        lease_texts.expired(S1, "here"),
        f"session {S2} started on here",
    ):
        cast.comment(cast.colony, ref, text)
        seen = cast.alice.ticket(ref)
        assert seen.ticket.lease == view_of(seen.events)
    cast.colony.move(ref, "open", key="b")
    cast.colony.move(ref, "progress", key="c", text=lease_texts.started(S2, "here", until))
    seen = cast.alice.ticket(ref)
    assert seen.ticket.lease == view_of(seen.events)
    assert seen.ticket.lease is not None


def test_a_comment_costs_the_same_behind_five_thousand() -> None:
    """Counted in steps of the database's own machine, not in time."""
    edge = in_memory()
    cast = Cast(edge)
    ref = cast.ticket()
    cast.comment(cast.alice, ref, "/prio 3")
    early = _steps(cast, edge, "a word")
    engine = edge.service._engine
    assert isinstance(engine, MemoryEngine)
    [(event,)] = engine.connection().execute("SELECT event FROM counter").fetchall()
    columns = "project, number, kind, author, user_id, machine, at_ms, text, old, new"
    engine.connection().execute(
        f"INSERT INTO events (id, {columns}) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
        f"SELECT i + 1 FROM n WHERE i < 5000) SELECT {event} + i, {columns} FROM n, events "
        "WHERE events.id = 2 AND events.kind = 'created'"
    )
    engine.connection().execute("UPDATE events SET kind = 'comment' WHERE id > ?", (event,))
    engine.connection().execute("UPDATE counter SET event = event + 5000")
    assert len(cast.alice.ticket(ref).events) > 5000
    assert _steps(cast, edge, "another") < early * 2
    with engine.reading() as db:
        assert len(history.weighing(db, ref)) < 10
    assert event_of(cast.alice.comment(ref, "/prio 5", key="last")) > 5000
    assert cast.alice.ticket(ref).ticket.priority == 5


def _steps(cast: Cast, edge: object, text: str) -> int:
    """Steps of SQLite's virtual machine, in hundreds, that a comment takes."""
    connection: sqlite3.Connection = edge.service._engine.connection()  # type: ignore[attr-defined]
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    [ref] = [ticket.ref for ticket in cast.alice.tickets()]
    connection.set_progress_handler(count, 10)
    try:
        cast.comment(cast.alice, ref, text)
    finally:
        connection.set_progress_handler(None, 0)
    return counted
