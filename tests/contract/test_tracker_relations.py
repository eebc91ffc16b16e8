"""Parents and blockers, alike on every edge."""

from __future__ import annotations

import itertools

import pytest
from edges import Cast, event_of, refuses

from colony.core.ticket import Ref, Related
from colony.errors import Invalid


def names(related: tuple[Related, ...]) -> list[str]:
    return [str(each.ref) for each in related]


@pytest.mark.needs("relations")
def test_relations_show_on_both_ends(cast: Cast) -> None:
    one, two = cast.ticket("One"), cast.ticket("Two", "barn", source="mail:1")
    three = cast.ticket("Three", parent=two)
    cast.alice.block(one, two, key="a")
    cast.alice.block(one, three, key="b")
    rows = {each.ref: each for each in cast.alice.tickets()}
    assert rows[one].blocked_by == (
        Related(two, "open", "Two", "mail:1"), Related(three, "open", "Three"),
    )  # fmt: skip
    assert names(rows[two].blocks) == names(rows[three].blocks) == ["shop#1"]
    assert names(rows[two].children) == ["shop#2"]
    assert rows[three].parent == rows[two].related()
    for ref, row in rows.items():
        assert cast.alice.ticket(ref).ticket == row
    # A relative is shown whether or not the list itself holds it.
    assert cast.alice.tickets("barn") == (rows[two],)


@pytest.mark.needs("relations")
def test_relations_show_how_their_ends_stand_now(cast: Cast) -> None:
    one, two = cast.ticket(), cast.ticket()
    cast.alice.block(one, two, key="a")
    cast.alice.move(two, "done", key="b")
    assert cast.alice.ticket(one).ticket.blocked_by[0].state == "done"


@pytest.mark.needs("relations", "link events")
def test_each_change_is_one_event_of_the_ticket(cast: Cast) -> None:
    one, two = cast.ticket(), cast.ticket()
    alice = cast.alice
    events = [
        event_of(alice.block(one, two, key="a")),
        event_of(alice.block(one, two, key="b")),
        event_of(alice.block(one, two, remove=True, key="c")),
        event_of(alice.block(one, two, remove=True, key="d")),
        event_of(alice.set_parent(one, two, key="e")),
        event_of(alice.set_parent(one, two, key="f")),
        event_of(alice.set_parent(one, None, key="g")),
    ]
    assert [event > 0 for event in events] == [True, False, True, False, True, False, True]
    links = [(e.before, e.after) for e in alice.ticket(one).events if e.kind == "link"]
    assert links == [
        ("", "blocked-by shop#2"), ("blocked-by shop#2", ""),
        ("", "parent shop#2"), ("parent shop#2", ""),
    ]  # fmt: skip
    ticket = alice.ticket(one).ticket
    assert (ticket.parent, ticket.blocked_by, ticket.version) == (None, (), 5)


@pytest.mark.needs("relations", "circles")
def test_a_circle_of_blockers_is_refused(cast: Cast) -> None:
    refs = [cast.ticket() for _ in range(4)]
    alice = cast.alice
    for at, (ref, by) in enumerate(itertools.pairwise(refs)):
        alice.block(ref, by, key=f"b{at}")
    refuses(Invalid, lambda: alice.block(refs[0], refs[0], key="a"), alice)
    for ref in refs[:3]:
        line = refuses(Invalid, lambda ref=ref: alice.block(refs[3], ref, key="a"), alice)  # type: ignore[misc]
        assert "circle" in line
    assert event_of(alice.block(refs[0], refs[3], key="a")) > 0


@pytest.mark.needs("relations", "circles")
def test_a_circle_of_parents_is_refused(cast: Cast) -> None:
    top = cast.ticket()
    middle = cast.ticket(parent=top)
    low = cast.ticket(parent=middle)
    alice = cast.alice
    for ref, parent in ((top, top), (top, middle), (top, low), (middle, low)):
        call = lambda ref=ref, parent=parent: alice.set_parent(ref, parent, key="a")  # noqa: E731
        assert "circle" in refuses(Invalid, call, alice)
    assert event_of(alice.set_parent(low, top, key="a")) > 0


@pytest.mark.needs("relations")
def test_parent_and_blocker_are_different_things(cast: Cast) -> None:
    top = cast.ticket()
    child = cast.ticket(parent=top)
    assert event_of(cast.alice.block(top, child, key="a")) > 0
    assert names(cast.alice.ticket(top).ticket.blocked_by) == [str(child)] == ["shop#2"]


@pytest.mark.needs("relations", "circles")
@pytest.mark.over("memory", "http")
def test_a_long_chain_is_walked(cast: Cast) -> None:
    refs = [cast.ticket() for _ in range(60)]
    for at, ref in enumerate(refs[1:]):
        cast.alice.block(ref, refs[at], key=f"b{at}")
    refuses(Invalid, lambda: cast.alice.block(refs[0], refs[-1], key="x"), cast.alice)
    assert refs[-1] == Ref("shop", 60)
