"""Entity tags, and lists in parts while others write: nothing stale, missed or twice."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colony.core.ticket import STATES, NewTicket, Ref
from tests.fakes.any_writes import WRITES, Hand
from tests.fakes.served import in_memory
from tests.serve.api_routes import Site, site

LISTS = (
    "/api/tickets",
    "/api/tickets?events=1",
    "/api/tickets?project=shop",
    "/api/tickets?state=open,review",
    "/api/tickets?limit=2",
    "/api/tickets?since=1700000000003",
)
FEEDS = ("/api/events", "/api/events?after=3", "/api/events?after=2&limit=2")
KEYS = itertools.count()
"""One example's keys are none of another's: they share a store."""
WHO = st.sampled_from(("anna", "anna", "bob", "colony"))


@pytest.fixture(scope="module")
def shared() -> Iterator[Site]:
    """One server; each example goes on where the one before it ended."""
    with site() as served:
        store = served.store
        anna = store.user("anna", owner=True)
        store.user("colony", machine=True)
        for project in ("shop", "barn"):
            for at in range(2):
                store.service.create(anna, NewTicket(project, f"{at}"), key=f"{project} {at}")
        served.token("anna")
        yield served
        assert store.bugs == []


@settings(max_examples=25)
@given(st.lists(st.tuples(WHO, WRITES), min_size=1, max_size=6))
def test_whatever_changes_an_answer_changes_its_tag(
    shared: Site, script: list[tuple[str, Any]]
) -> None:
    """And what is told to be unchanged is what one would have got."""
    client, hand = shared.client(), Hand(shared.store, KEYS)
    known = {path: client.get(path) for path in (*LISTS, *FEEDS)}
    for who, what in script:
        shared.store.clock.ms += 1  # type: ignore[attr-defined]
        hand.write(who, what)
        for path, old in known.items():
            now = client.get(path)
            asked = client.get(path, headers={"if-none-match": old.headers["etag"]})
            if now.content != old.content:
                assert now.headers["etag"] != old.headers["etag"], (path, what)
                assert asked.status_code == 200, (path, what)
                assert asked.content == now.content
            elif asked.status_code == 304:
                assert asked.content == b""
                assert asked.headers["etag"] == now.headers["etag"]
            else:
                assert asked.content == now.content
            known[path] = now
    for path, old in known.items():
        again = client.get(path, headers={"if-none-match": old.headers["etag"]})
        if path in LISTS or not old.json()["events"]:
            assert again.status_code == 304, path


def test_replicas_agree_and_other_stores_do_not() -> None:
    with site() as one, site(one.store) as two, site() as other:
        for served in (one, other):
            anna = served.store.user("anna", owner=True)
            served.store.service.create(anna, NewTicket("shop", "x"), key="k")
        first = one.client().get("/api/tickets")
        two.tokens.update(one.tokens)
        tag = first.headers["etag"]
        assert tag.startswith('"')
        answer = two.client().get("/api/tickets", headers={"if-none-match": tag})
        assert answer.status_code == 304
        answer = other.client().get("/api/tickets", headers={"if-none-match": tag})
        assert answer.status_code == 200
        for weak in (f"W/{tag}", f'"x", {tag}', f"{tag},", f'{tag}  , "y"'):
            answer = one.client().get("/api/tickets", headers={"if-none-match": weak})
            assert answer.status_code == 304, weak


# --- F47: parts ----------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    st.integers(1, 4),
    st.lists(st.lists(st.tuples(WHO, WRITES), max_size=3), max_size=8),
    st.sampled_from(("", "&state=open", "&project=shop", "&events=1")),
    st.integers(-2, 2),
)
def test_parts_miss_nothing_and_give_nothing_twice(
    shared: Site, limit: int, scripts: list[list[tuple[str, Any]]], chosen: str, step: int
) -> None:
    """Between the parts tickets are made, moved and changed, and clocks go back.

    Whatever fitted all the time is there once; nothing is there twice.
    """
    client, hand, clock = shared.client(), Hand(shared.store, KEYS), shared.store.clock

    def fitting() -> set[Ref]:
        rows = shared.store.service.tickets(
            "shop" if "project" in chosen else None, ["open"] if "state" in chosen else None
        )
        return {each.ref for each in rows}

    always, seen, cursor = fitting(), Counter[Ref](), ""
    while True:
        told = client.get(f"/api/tickets?limit={limit}{chosen}{cursor}").json()
        seen.update(Ref(each["project"], each["number"]) for each in told["tickets"])
        assert len(told["tickets"]) <= limit
        assert max(seen.values(), default=1) == 1
        if told["cursor"] is None:
            break
        cursor = f"&cursor={told['cursor']}"
        clock.ms += step  # type: ignore[attr-defined]
        for who, what in scripts.pop(0) if scripts else ():
            hand.write(who, what)
        always &= fitting()
    assert always <= set(seen)
    # Whoever looks again sees the rest.
    whole = client.get(f"/api/tickets?{chosen}").json()
    assert {Ref(each["project"], each["number"]) for each in whole["tickets"]} == fitting()


@settings(max_examples=15)
@given(st.integers(1, 5), st.lists(st.lists(st.tuples(WHO, WRITES), max_size=3), max_size=6))
def test_the_feed_in_parts_is_the_whole_feed(
    shared: Site, limit: int, scripts: list[list[tuple[str, Any]]]
) -> None:
    client, hand = shared.client(), Hand(shared.store, KEYS)
    start = after = shared.store.service.changes(0).last - 5
    found: list[int] = []
    while True:
        for who, what in scripts.pop(0) if scripts else ():
            hand.write(who, what)
        told = client.get(f"/api/events?after={after}&limit={limit}").json()
        if not told["events"] and not scripts:
            break
        found += [each["id"] for each in told["events"]]
        after = told["last"]
    assert found == list(range(start + 1, shared.store.service.changes(0).last + 1))


def test_a_cursor_of_another_list_is_a_place_like_any_other() -> None:
    """It names a place in the order of all tickets, so that it fits every list."""
    store = in_memory()
    with site(store) as served:
        anna = store.user("anna", owner=True)
        for at, project in enumerate(("shop", "barn", "shop", "barn")):
            store.clock.ms += 1  # type: ignore[attr-defined]
            store.service.create(
                anna, NewTicket(project, "x", state=STATES[at]), key=f"{project} {at}"
            )
        cursor = served.client().get("/api/tickets?limit=2").json()["cursor"]
        rest = served.client().get(f"/api/tickets?project=barn&cursor={cursor}").json()
        assert [(each["project"], each["number"]) for each in rest["tickets"]] == [("barn", 2)]
        assert rest["cursor"] is None
    store.close()
