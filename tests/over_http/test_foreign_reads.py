"""Reads of a tracker that says less than Colony's own: what its rows lack is derived."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from colony.core.people import people_of
from colony.core.ticket import Member, ProjectInfo, Ref
from colony.errors import NoAnswer, NotFound
from colony.tracker.http.dialect import dialect_of
from colony.tracker.http.foreign import Foreign
from colony.tracker.reads import Changes
from tests.fakes.bare_side import foreign_to
from tests.fakes.bare_tracker import BareTracker, Raw, Speaks

NOW_MS = 1_700_000_000_000
SESSION = "s-20260131T1819-aaaaaa"
LEASE = f"colony-lease: {SESSION} · host h1 · started · ms {NOW_MS + 1000}"
Served = Callable[..., BareTracker]


class Time:
    ms = NOW_MS

    def __call__(self) -> int:
        return self.ms


@pytest.fixture
def served() -> Iterator[Served]:
    made: list[BareTracker] = []

    def serve(**speaks: Any) -> BareTracker:
        made.append(BareTracker(Time(), Speaks(**speaks)))
        return made[-1]

    yield serve
    for each in made:
        each.close()


@pytest.fixture
def sides() -> Iterator[Callable[..., Foreign]]:
    made: list[Foreign] = []

    def side(*args: Any, **more: Any) -> Foreign:
        made.append(foreign_to(*args, **more))
        return made[-1]

    yield side
    for each in made:
        each.close()


Sides = Callable[..., Foreign]


def fill(server: BareTracker, count: int, **more: str) -> None:
    for at in range(count):
        server.create("alice", {"project": "shop", "subject": f"Ticket {at}", **more})


def histories_read(server: BareTracker) -> list[str]:
    return [path for _, path in server.requests if path.startswith("/api/tickets/")]


def age(server: BareTracker, ms: int) -> None:
    server.clock.ms += ms  # type: ignore[attr-defined]


# --- rows --------------------------------------------------------------------------------------


def test_rows_get_lease_and_priority_from_the_histories_that_matter(
    served: Served, sides: Sides
) -> None:
    server = served()
    fill(server, 7)
    server.comment("alice", "shop", 1, "/prio 3")
    server.comment("bob", "shop", 2, "/prio 9")
    server.move("colony", "shop", 2, "progress", LEASE)
    server.move("alice", "shop", 3, "reopened")
    for number, state in ((4, "review"), (5, "pending"), (6, "done"), (7, "canceled")):
        server.move("alice", "shop", number, state)
    server.create("alice", {"project": "shop", "subject": "Question: which?"})
    server.move("alice", "shop", 8, "pending")
    rows = {row.ref.number: row for row in sides(server).tickets()}
    assert rows[1].priority == 3
    assert rows[2].priority == 0
    assert rows[2].lease is not None
    assert (rows[2].lease.session, rows[2].lease.until_ms) == (SESSION, NOW_MS + 1000)
    read = sorted(path.rpartition("/")[2] for path in histories_read(server))
    assert read == ["1", "2", "3", "8"]


def test_eight_histories_are_read_at_a_time(served: Served, sides: Sides) -> None:
    server = served()
    fill(server, 16)
    now, most, lock, ninth = 0, 0, threading.Lock(), threading.Event()

    def reading(path: str) -> None:
        nonlocal now, most
        if not path.startswith("/api/tickets/"):
            return
        with lock:
            now += 1
            most = max(most, now)
            if now > 8:
                ninth.set()
        # None is answered while a ninth could still come; who waits for none waits this long.
        ninth.wait(0.3)
        with lock:
            now -= 1

    server.before_read = reading
    assert len(sides(server).tickets()) == 16
    assert most == 8


def test_a_history_is_not_read_again_before_something_changed(served: Served, sides: Sides) -> None:
    server = served()
    fill(server, 2)
    who = sides(server)
    who.tickets()
    # So fresh that a change of the same moment may have been missed.
    who.tickets()
    assert len(histories_read(server)) == 4
    age(server, 2500)
    who.tickets()
    first = who.tickets()
    assert len(histories_read(server)) == 6
    server.comment("alice", "shop", 1, "/prio 4")
    assert [row.priority for row in who.tickets()] == [4, 0]
    assert len(histories_read(server)) == 7
    assert [row.last_event for row in first] == [1, 2]


def test_a_ticket_that_went_away_meanwhile_keeps_its_row(served: Served, sides: Sides) -> None:
    server = served()
    fill(server, 2)

    def gone(path: str) -> None:
        if path == "/api/tickets/shop/1":
            server.tickets.pop(("shop", 1), None)

    server.before_read = gone
    rows = sides(server).tickets()
    assert [str(row.ref) for row in rows] == ["shop#1", "shop#2"]


def test_the_server_is_asked_for_one_state_where_one_word_says_it(
    served: Served, sides: Sides
) -> None:
    new, old = served(), served(older_words=True)
    for server in (new, old):
        fill(server, 3)
    new.move("alice", "shop", 1, "pending")
    old.move("alice", "shop", 1, "on hold")
    old.create("alice", {"project": "shop", "subject": "Question: which?"})
    old.move("alice", "shop", 4, "awaiting creator")
    new.requests.clear()
    assert [row.ref.number for row in sides(new).tickets("shop", ["pending"], 5)] == [1]
    assert ("GET", "/api/tickets?project=shop&since=5&state=pending") in new.requests
    who = sides(old)
    assert [row.ref.number for row in who.tickets(None, ["pending"])] == [1, 4]
    assert who.tickets(None, ["canceled"]) == ()
    assert [row.ref.number for row in who.tickets(None, ["open"])] == [2, 3]
    assert ("GET", "/api/tickets?state=open") in old.requests


# --- who and what ------------------------------------------------------------------------------


def test_machines_are_colonys_own_names_former_ones_too(served: Served, sides: Sides) -> None:
    server = served()
    fill(server, 1)
    for user in ("colony", "ants", "bob"):
        server.comment(user, "shop", 1, "x")
    server.create("ants", {"project": "shop", "subject": "Filed"})
    who = sides(server, own=frozenset({"colony", "ants"}))
    machines = [each.machine for each in who.ticket(Ref("shop", 1)).events]
    assert machines == [False, True, True, False]
    assert [row.machine for row in who.tickets()] == [False, True]
    assert who.me().machine


@pytest.mark.parametrize("members", [False, True])
def test_priority_is_the_word_of_whom_the_tracker_knows_as_creator(
    served: Served, sides: Sides, members: bool
) -> None:
    server = served(members=members)
    fill(server, 1)
    server.comment("alice", "shop", 1, "/prio 2")
    server.comment("bob", "shop", 1, "/prio 7")
    assert sides(server).ticket(Ref("shop", 1)).ticket.priority == 2
    server.creators = frozenset({"bob"})
    assert sides(server).ticket(Ref("shop", 1)).ticket.priority == 7


def test_members_are_shown_where_there_are_any(served: Served, sides: Sides) -> None:
    bare, more = served(), served(members=True)
    for server in (bare, more):
        fill(server, 1)
    assert sides(bare).project("shop") == ProjectInfo("shop", ())
    assert not people_of(sides(bare).project("shop"), {"alice"}).has_members
    assert sides(more).project("shop").members == (
        Member("alice", "id-alice", "admin"), Member("colony", "id-colony", "edit"),
    )  # fmt: skip
    for server in (bare, more):
        with pytest.raises(NotFound):
            sides(server).project("barn")


def test_members_that_cannot_be_asked_for_are_not_taken_for_none(
    served: Served, sides: Sides
) -> None:
    """Else everybody's ticket would be work for as long as the server has a bad moment."""
    server = served(members=True)
    fill(server, 1)
    who = sides(server)
    server.loses = lambda method, path: path == "/api/projects/shop"
    with pytest.raises(NoAnswer):
        who.project("shop")
    with pytest.raises(NoAnswer):
        who.ticket(Ref("shop", 1))


@pytest.mark.parametrize(
    ("speaks", "features"),
    [
        ({}, set()),
        ({"relations": True}, {"relations"}),
        ({"features": ("relations", "feed", "sessions", "telepathy")}, {"relations"}),
        ({"features": ()}, set()),
        ({"features": (), "relations": True}, set()),
    ],
)
def test_features_are_what_the_server_lists_or_shows(
    served: Served, sides: Sides, speaks: dict[str, Any], features: set[str]
) -> None:
    server = served(**speaks)
    fill(server, 1)
    assert sides(server).features == features


def test_records_of_sessions_are_not_kept(served: Served, sides: Sides) -> None:
    who = sides(served())
    assert (who.sessions(), who.hosts(), who.tail("s")) == ((), (), "")
    with pytest.raises(NotFound, match="run folders"):
        who.session("s")


@pytest.mark.parametrize(
    ("projects", "whole"),
    [
        ({"features": ["relations", "feed", "expect", "idempotency", "me", "onBehalf", "sessions"],
          "states": ["open", "review"]}, True),
        ({"features": ["relations", "feed", "expect", "idempotency", "me", "onBehalf"],
          "states": ["open", "review"]}, False),
        ({"features": ["relations", "feed", "expect", "idempotency", "me", "onBehalf", "sessions"],
          "states": ["open", "answered"]}, False),
        ({"states": ["open", "review"]}, False),
        ({}, False),
        ({"features": "all", "states": 7}, False),
    ],
)  # fmt: skip
def test_a_server_is_whole_with_all_features_and_todays_words(
    projects: dict[str, Any], whole: bool
) -> None:
    assert dialect_of(projects, frozenset()).is_whole is whole


# --- histories ---------------------------------------------------------------------------------


def test_events_without_ids_are_counted(served: Served, sides: Sides) -> None:
    server = served(event_ids=False)
    fill(server, 3)
    server.comment("alice", "shop", 3, "x")
    history = sides(server).ticket(Ref("shop", 3))
    assert [each.id for each in history.events] == [1, 2]
    assert (history.ticket.last_event, history.ticket.version) == (2, 2)


def test_an_event_of_the_servers_own_making_decides_nothing(served: Served, sides: Sides) -> None:
    server = served()
    fill(server, 1)
    ticket = server.tickets["shop", 1]
    for kind in ("assigned", "state"):
        server._event(
            ticket, "colony", kind, LEASE, "open", "bob" if kind == "assigned" else "done"
        )
    server._event(ticket, "bob", "assigned", "to carol", "carol", "dave")
    history = sides(server).ticket(Ref("shop", 1))
    assert [each.kind for each in history.events] == ["created", "edit", "state", "edit"]
    assert history.ticket.lease is None
    assert history.events[3].text == "to carol"
    assert (history.events[3].before, history.events[3].after) == ("", "")


def test_a_move_to_the_state_that_stands_may_take_a_dead_lease(
    served: Served, sides: Sides
) -> None:
    """Where a server lets one: it is a move like any other, and no older word for a state."""
    server = served()
    fill(server, 1)
    server.move("colony", "shop", 1, "progress", LEASE)
    age(server, 5000)
    other = LEASE.replace("aaaaaa", "bbbbbb").replace(str(NOW_MS + 1000), str(NOW_MS + 9000))
    server.move("colony", "shop", 1, "progress", other)
    history = sides(server).ticket(Ref("shop", 1))
    assert [each.kind for each in history.events] == ["created", "state", "state"]
    assert history.ticket.lease is not None
    assert history.ticket.lease.token == history.events[-1].id


def test_older_words_stand_for_todays_in_histories_and_relatives(
    served: Served, sides: Sides
) -> None:
    server = served(older_words=True, relations=True)
    fill(server, 1)
    server.create("colony", {"project": "shop", "subject": "Which?", "source": "colony:question"})
    server.relate("colony", "shop", 2, "parent", {"project": "shop", "number": 1})
    server.move("colony", "shop", 2, "awaiting creator")
    server.move("colony", "shop", 1, "on hold", "waits")
    server.move("alice", "shop", 1, "rejected", "too loud")
    who = sides(server)
    [child] = who.ticket(Ref("shop", 1)).ticket.children
    assert child.state == "pending"
    moves = [(each.before, each.after) for each in who.ticket(Ref("shop", 1)).events[1:]]
    assert moves == [("open", "pending"), ("pending", "reopened")]
    assert who.projects() == {"shop": {"reopened": 1, "pending": 1}}
    parent = who.ticket(Ref("shop", 2)).ticket.parent
    assert parent is not None
    assert parent.state == "reopened"


NO_TICKETS: dict[str, dict[str, Any]] = {
    "no events": {"events": ...},
    "a word for events": {"events": "none"},
    "an unknown state": {"state": "closed"},
    "a word for a number": {"number": "1"},
    "no project": {"project": ...},
}


@pytest.mark.parametrize("broken", NO_TICKETS.values(), ids=NO_TICKETS)
def test_an_answer_that_is_no_ticket_is_no_answer(
    served: Served, sides: Sides, monkeypatch: pytest.MonkeyPatch, broken: dict[str, Any]
) -> None:
    server = served()
    fill(server, 1)
    row = server.row

    def shown(ticket: Raw, **more: bool) -> Raw:
        told = {**row(ticket, **more), **broken}
        return {name: value for name, value in told.items() if value is not ...}

    monkeypatch.setattr(server, "row", shown)
    with pytest.raises(NoAnswer):
        sides(server).ticket(Ref("shop", 1))


# --- changes -----------------------------------------------------------------------------------


def told(changes: Changes) -> list[tuple[str, int]]:
    return [(str(each.ref), each.event.id) for each in changes.events]


def test_each_change_is_told_once(served: Served, sides: Sides) -> None:
    server = served()
    fill(server, 2)
    who = sides(server)
    first = who.changes(0)
    assert told(first) == [("shop#1", 1), ("shop#2", 2)]
    assert who.changes(first.last) == Changes((), first.last)
    server.comment("alice", "shop", 1, "x")
    second = who.changes(first.last)
    assert told(second) == [("shop#1", 3)]
    age(server, 60_000)
    server.comment("alice", "shop", 2, "y")
    third = who.changes(second.last)
    assert told(third) == [("shop#2", 4)]
    assert third.last == NOW_MS + 60_000
    assert server.requests[-1] == ("GET", f"/api/tickets?since={second.last - 2000}&events=1")


def test_what_becomes_visible_two_seconds_late_is_told(served: Served, sides: Sides) -> None:
    server = served()
    fill(server, 2)
    who = sides(server)
    age(server, 5000)
    server.comment("alice", "shop", 1, "x")
    position = who.changes(0).last
    age(server, -2000)
    server.comment("alice", "shop", 2, "late")
    assert told(who.changes(position)) == [("shop#2", 4)]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_tell_everything_once(served: Served, sides: Sides, limit: int) -> None:
    server = served()
    fill(server, 2)
    for at in range(6):
        age(server, 700 * (at % 3))
        server.comment("alice", "shop", 1 + at % 2, "x")
    who, position, found = sides(server), 0, []
    while page := who.changes(position, limit):
        assert len(page.events) <= limit
        position = page.last
        if not page.events:
            break
        found += told(page)
    assert len(found) == len(set(found)) == server.last


def test_another_process_goes_on_where_this_one_was(served: Served, sides: Sides) -> None:
    server = served()
    fill(server, 2)
    position = sides(server).changes(0).last
    age(server, 10_000)
    server.comment("alice", "shop", 1, "x")
    assert told(sides(server).changes(position)) == [("shop#1", 1), ("shop#2", 2), ("shop#1", 3)]
    age(server, 10_000)
    server.comment("alice", "shop", 2, "y")
    assert told(sides(server).changes(position + 10_000)) == [("shop#1", 3), ("shop#2", 4)]


def test_who_asks_again_after_an_older_position_is_told_again(served: Served, sides: Sides) -> None:
    """A page that was lost on the way to whoever folds it is not lost."""
    server = served()
    fill(server, 1)
    who = sides(server)
    whole = who.changes(0)
    assert who.changes(0) == whole
    age(server, 10_000)
    server.comment("alice", "shop", 1, "x")
    page = who.changes(whole.last)
    again = who.changes(whole.last)
    assert set(told(page)) <= set(told(again))
    assert told(who.changes(again.last)) == []
