"""The feed, and what rows keep of the history, alike on every edge."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from edges import Cast, EmbeddedEdge

from colony.core.ticket import NewTicket
from colony.errors import Invalid
from colony.tracker.reads import Changes
from colony.tracker.sql.connection import FileEngine, MemoryEngine


def story(cast: Cast) -> None:
    one, two = cast.ticket(), cast.ticket(project="barn")
    cast.comment(cast.alice, one, "hello")
    cast.colony.move(two, "progress", key="m")
    cast.alice.block(one, two, key="b")
    cast.alice.set_member("shop", "bob", "edit", key="p")
    cast.alice.edit(two, subject="New", key="e")


@pytest.mark.needs("feed")
def test_ids_rise_by_one_over_the_whole_tracker(cast: Cast) -> None:
    story(cast)
    changes = cast.alice.changes(0)
    ids = [each.event.id for each in changes.events]
    assert ids == list(range(1, len(ids) + 1))
    assert changes.last == ids[-1]
    kinds = [each.event.kind for each in changes.events]
    assert kinds == ["member", "created", "member", "created", "comment", "state", "link",
                     "member", "edit"]  # fmt: skip
    for ticket in cast.alice.tickets():
        own = [each.event for each in changes.events if each.ref == ticket.ref]
        assert tuple(own) == cast.alice.ticket(ticket.ref).events
        assert own[-1].id == ticket.last_event
        assert len(own) == ticket.version


@pytest.mark.needs("feed")
@pytest.mark.parametrize("limit", [1, 2, 5, 1000])
def test_pages_lead_to_the_end(cast: Cast, limit: int) -> None:
    story(cast)
    whole = cast.alice.changes(0).events
    after, found = 0, []
    while page := cast.alice.changes(after, limit).events:
        assert len(page) <= limit
        found += page
        after = cast.alice.changes(after, limit).last
    assert tuple(found) == whole
    assert cast.alice.changes(after) == Changes((), after)


@pytest.mark.over("file", "memory")
def test_a_feed_that_did_not_go_on_reads_no_table(cast: Cast) -> None:
    story(cast)
    end = cast.alice.changes(0).last
    with statements(cast) as ran:
        assert cast.alice.changes(end) == Changes((), end)
        assert cast.alice.changes(end + 5) == Changes((), end)
        assert set(ran) <= {"PRAGMA data_version"}
        assert len(ran) <= 2
        assert cast.alice.changes(end - 1, 1).events[0].event.id == end


@pytest.mark.over("file", "memory")
@pytest.mark.parametrize("elsewhere", [False, True])
def test_every_write_ends_that(cast: Cast, elsewhere: bool) -> None:
    """This thread's own ones, which SQLite tells it nothing of, and another's."""
    ref = cast.ticket()
    for at in range(3):
        end = cast.alice.changes(0).last
        assert cast.alice.changes(end) == Changes((), end)
        if elsewhere:
            with ThreadPoolExecutor(1) as other:
                other.submit(cast.comment, cast.alice, ref, f"word {at}").result()
        else:
            cast.comment(cast.alice, ref, f"word {at}")
        [news] = cast.alice.changes(end).events
        assert news.event.text == f"word {at}"


@pytest.mark.over("file", "memory")
def test_a_write_that_was_taken_back_changes_nothing(cast: Cast) -> None:
    ref = cast.ticket()
    end = cast.alice.changes(0).last
    with pytest.raises(Invalid):
        cast.alice.block(ref, ref, key="b")
    assert cast.alice.changes(end) == Changes((), end)
    cast.comment(cast.alice, ref, "x")
    assert len(cast.alice.changes(end).events) == 1


@pytest.mark.over("file", "memory")
def test_the_end_of_the_feed_is_every_threads_own(cast: Cast) -> None:
    """Each has a connection, whose numbers say nothing to the others."""
    ref = cast.ticket()
    with ThreadPoolExecutor(1) as other:
        for at in range(4):
            end = cast.alice.changes(0).last
            assert other.submit(cast.alice.changes, end).result() == Changes((), end)
            cast.comment(cast.alice, ref, f"word {at}")
            assert len(other.submit(cast.alice.changes, end).result().events) == 1
            assert len(cast.alice.changes(end).events) == 1


@contextmanager
def statements(cast: Cast) -> Iterator[list[str]]:
    """What this thread's connection runs."""
    edge = cast.edge
    assert isinstance(edge, EmbeddedEdge)
    engine = edge.service._engine
    assert isinstance(engine, FileEngine | MemoryEngine)
    ran: list[str] = []
    connection = engine.connection()
    connection.set_trace_callback(ran.append)
    try:
        yield ran
    finally:
        connection.set_trace_callback(None)


@pytest.mark.needs("feed")
def test_odd_positions(cast: Cast) -> None:
    story(cast)
    end = cast.alice.changes(0).last
    assert cast.alice.changes(-(10**40)) == cast.alice.changes(0)
    # A store put back from an older backup: its end lies before what the reader knew.
    assert cast.alice.changes(10**40) == Changes((), end)
    assert len(cast.alice.changes(0, 0).events) == 1
    assert cast.alice.changes(0, 10**40) == cast.alice.changes(0)


def test_an_empty_tracker_has_no_past(cast: Cast) -> None:
    assert cast.alice.changes(0) == Changes((), 0)
    assert cast.alice.tickets() == ()
    assert cast.alice.projects() == {}


@pytest.mark.needs("members")
def test_priority_follows_the_words_of_admins(cast: Cast) -> None:
    ref = cast.ticket()

    def priority() -> int:
        row = cast.alice.tickets()[0]
        assert row == cast.alice.ticket(ref).ticket
        return row.priority

    bob = cast.member("bob", "edit")
    cast.comment(bob, ref, "/prio 5")
    assert priority() == 0
    cast.comment(cast.alice, ref, "/prio 3")
    assert priority() == 3
    cast.comment(cast.colony, ref, "/prio 9")
    assert priority() == 3


@pytest.mark.needs("projects")
def test_priority_follows_who_is_admin(cast: Cast) -> None:
    cast.person("bob").create(NewTicket("barn", "x"), key="a")
    carol = cast.person("carol")
    ref = carol.create(NewTicket("barn", "y"), key="b").ticket.ref
    cast.comment(carol, ref, "/prio 4")
    assert cast.alice.ticket(ref).ticket.priority == 0
    cast.alice.set_member("barn", "carol", "admin", key="c")
    assert cast.alice.ticket(ref).ticket.priority == 4
    cast.alice.set_member("barn", "carol", "edit", key="d")
    assert cast.alice.ticket(ref).ticket.priority == 0
    cast.person("carol", owner=True).me()
    assert cast.alice.ticket(ref).ticket.priority == 4


def test_the_lease_follows_the_machines_lines(cast: Cast) -> None:
    ref = cast.ticket()
    line = "colony-lease: s-20260101T0000-abcdef · host h1 · {} · ms {}"
    cast.comment(cast.alice, ref, line.format("started", 1))
    assert cast.alice.ticket(ref).ticket.lease is None
    cast.colony.move(ref, "progress", text=line.format("started", 1000), key="a")
    token = cast.alice.ticket(ref).ticket.last_event
    cast.comment(cast.colony, ref, line.format("renewed", 2000))
    lease = cast.alice.tickets()[0].lease
    assert lease is not None
    assert (lease.session, lease.host, lease.kind, lease.token, lease.until_ms) == (
        "s-20260101T0000-abcdef", "h1", "renewed", token, 2000,
    )  # fmt: skip
    cast.alice.move(ref, "open", key="b")
    assert cast.alice.tickets()[0].lease is None
