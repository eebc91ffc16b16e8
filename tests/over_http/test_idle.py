"""What an iteration of the loop asks of a server with ten thousand tickets, and what it gets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from colony.core.project import Project
from colony.core.ticket import STATES, Me, NewTicket, Ref
from colony.flow.looking import Watch
from colony.flow.observe import Viewpoint, look
from colony.flow.wiring.trackers import DERIVE
from colony.host.registry import Registry
from colony.tracker import ledger as book
from colony.tracker.http.client import Surroundings
from colony.tracker.http.edge import NEEDED, HttpTracker
from colony.tracker.ledger import Ledger
from colony.tracker.sql import history, relations, tickets
from colony.tracker.sql.history import Entry, Stamp
from colony.tracker.writes import Comment, Move
from tests.fakes.counted import CountedHttp
from tests.fakes.pretended import HandClock, HandToken
from tests.fakes.served import Store, in_memory, serving

MANY = 10_000
REGISTRY = Registry({"shop": Project("shop", concept="CONCEPT.md")})
VIEW = Viewpoint(REGISTRY, "h1", "members", frozenset(), max_starts=4)


def fill(store: Store, anna: Me) -> None:
    """So many tickets, in one transaction; every tenth has a parent."""
    with store.service._engine.writing() as db:
        stamp = Stamp(anna, store.clock())
        book.make_project(Ledger(db, stamp, DERIVE), "shop")
        for at in range(1, MANY + 1):
            # Histories of these two are read, besides their rows.
            state = "open" if STATES[at % 7] in ("progress", "reopened") else STATES[at % 7]
            ref, new = Ref("shop", at), NewTicket("shop", f"{at}", state=state)
            tickets.add(db, stamp, ref, new)
            event = history.add(db, stamp, ref, Entry("created", after=state))
            tickets.touch(db, ref, event.id, stamp.at_ms)
            if at % 10 == 0:
                relations.set_parent(db, ref, Ref("shop", at - 1))


class Site:
    """A watch on a server, through the real client."""

    def __init__(self, store: Store, http: CountedHttp) -> None:
        self.store, self.http = store, http
        self.anna = store.user("anna", owner=True)
        self.tracker = HttpTracker(http, NEEDED, store.clock)
        self.watch = Watch(self.tracker)

    def look(self) -> list[tuple[str, int, int]]:
        """What it asks, with statuses and bytes."""
        self.http.exchanges.clear()
        self.survey = self.watch.survey(VIEW)
        return [(each.asked, each.status, each.size) for each in self.http.exchanges]

    def write(self, ref: Ref, write: Any, key: str) -> None:
        self.store.service.write(self.anna, ref, write, key=key)


@pytest.fixture
def site() -> Iterator[Site]:
    store = in_memory()
    with closing(store), serving(store) as url:
        fill(store, store.user("anna", owner=True))
        store.clock.ms += 7_200_000  # type: ignore[attr-defined]
        hand = HandClock()
        token = HandToken(store.token("colony", machine=True))
        around = Surroundings(hand, lambda: 0.5, hand.pause)
        http = CountedHttp(url, token=token, user_agent="colony/test", around=around)
        with closing(http):
            yield Site(store, http)
        assert store.bugs == []


def test_an_idle_look_at_ten_thousand_tickets_is_one_request_without_a_body(site: Site) -> None:
    whole = site.look()
    assert [asked for asked, _, _ in whole].count("GET /tickets") == 1
    assert len(whole) == 4
    assert len(site.survey.tickets) == MANY
    last = site.store.service.changes(10**15 - 1).last
    for _ in range(3):
        assert site.look() == [(f"GET /events?after={last}&limit=100", 304, 0)]
    # One comment is a handful of requests, and of bytes.
    ref = Ref("shop", 5000)
    site.write(ref, Comment("hello"), "one")
    asked = site.look()
    assert [each for each, _, _ in asked] == [
        f"GET /events?after={last}&limit=100",
        f"GET /events?after={last - 1}&limit=1",
        "GET /tickets/shop/5000",
    ]
    assert sum(size for _, _, size in asked) < 5000
    # A ticket that moved, with its relative: no more.
    site.write(Ref("shop", 9), Move("pending"), "two")
    assert len(site.look()) == 3
    assert site.look() == [(f"GET /events?after={last + 2}&limit=100", 304, 0)]
    assert site.survey.tickets == look(site.tracker, VIEW).tickets
