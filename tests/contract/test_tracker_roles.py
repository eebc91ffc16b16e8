"""Who may do what, alike on every edge."""

from __future__ import annotations

import itertools

import pytest
from edges import Cast, event_of, refuses

from colony.core.ticket import STATES, Me, Member, NewTicket, State
from colony.errors import Forbidden, Invalid, NotFound

ACTORS = ("admin", "edit", "use", None, "machine")


def allowed(actor: str | None, before: State, after: State) -> bool:
    """The table of moves, written a second time."""
    if actor == "admin" or before == after:
        return True
    if actor in ("edit", "machine"):
        closing = {"done", "reopened", "canceled"}
        held = actor == "machine" and before == "pending"
        return after not in closing and before not in {"done", "canceled"} and not held
    return actor == "use" and {before, after} == {"open", "review"}


@pytest.mark.needs("roles")
@pytest.mark.parametrize("actor", ACTORS)
def test_every_move_of_every_role(cast: Cast, actor: str | None) -> None:
    cast.ticket()
    who = cast.colony if actor == "machine" else cast.member("bob", actor)
    for before, after in itertools.product(STATES, STATES):
        ref = cast.ticket(state=before)

        def move(ref=ref, after=after):  # type: ignore[no-untyped-def]
            return who.move(ref, after, text="why", key="k")

        if allowed(actor, before, after):
            assert event_of(move()) > 0, (before, after)
            assert cast.alice.ticket(ref).ticket.state == after
        else:
            assert after in refuses(Forbidden, move, cast.alice) or before == "pending"


@pytest.mark.needs("roles", "first state")
@pytest.mark.parametrize("actor", ACTORS)
def test_the_first_state_needs_the_role_of_the_move(cast: Cast, actor: str | None) -> None:
    cast.ticket()
    who = cast.colony if actor == "machine" else cast.member("bob", actor)
    for state in STATES:
        new = NewTicket("shop", "x", state=state)
        if allowed(actor, "open", state):
            assert who.create(new, key=cast.key()).ticket.state == state
        else:
            refuses(Forbidden, lambda new=new: who.create(new, key="k"), cast.alice)  # type: ignore[misc]


@pytest.mark.needs("roles", "first state")
@pytest.mark.parametrize("actor", ACTORS)
def test_words_are_everybodys_edits_are_not(cast: Cast, actor: str | None) -> None:
    ref, other = cast.ticket(), cast.ticket()
    who = cast.colony if actor == "machine" else cast.member("bob", actor)
    cast.comment(who, ref, "hello")
    for call in (
        lambda: who.edit(ref, subject="x", key="a"),
        lambda: who.block(ref, other, key="a"),
        lambda: who.set_parent(ref, other, key="a"),
        lambda: who.create(NewTicket("shop", "x", parent=other), key="a"),
    ):
        if actor in ("use", None):
            refuses(Forbidden, call, cast.alice)
        else:
            call()


@pytest.mark.needs("roles")
def test_a_machine_leaves_what_a_person_held(cast: Cast) -> None:
    ref = cast.ticket()
    cast.alice.move(ref, "pending", key="a")
    refuses(Forbidden, lambda: cast.colony.move(ref, "open", key="b"), cast.alice)
    cast.comment(cast.colony, ref, "I wait.")
    refuses(Forbidden, lambda: cast.colony.move(ref, "open", key="b"), cast.alice)
    cast.alice.move(ref, "open", key="c")
    cast.colony.move(ref, "pending", key="d")
    assert event_of(cast.colony.move(ref, "open", key="e")) > 0
    question = cast.colony.create(NewTicket("shop", "Which?", state="pending"), key="f").ticket.ref
    assert event_of(cast.colony.move(question, "open", key="g")) > 0


@pytest.mark.needs("user ids")
def test_events_say_who_and_whether_a_machine(cast: Cast) -> None:
    ref = cast.ticket()
    cast.comment(cast.colony, ref, "x")
    opened, comment = cast.alice.ticket(ref).events
    assert (opened.author, opened.machine, comment.author, comment.machine) == (
        "alice", False, "colony", True,
    )  # fmt: skip
    assert opened.user_id != comment.user_id


@pytest.mark.needs("roles")
def test_members_are_changed_by_admins_alone(cast: Cast) -> None:
    cast.ticket()
    for who in (cast.person("eve"), cast.member("bob", "edit"), cast.colony):
        call = lambda who=who: who.set_member("shop", "eve", "admin", key="a")  # noqa: E731
        refuses(Forbidden, call, cast.alice)
    cast.alice.set_member("shop", "bob", "admin", key="b")
    info = cast.person("bob").set_member("shop", "eve", "use", key="c")
    assert [(each.user, each.role) for each in info.members] == [
        ("alice", "admin"), ("bob", "admin"), ("eve", "use"),
    ]  # fmt: skip
    assert info == cast.alice.project("shop")


@pytest.mark.needs("roles")
@pytest.mark.parametrize(
    "name", ["a/b", "/a", "a/", "a/../b", "%2e%2e", "a?b#c", "a\\b", "é ü", ".a"]
)
def test_whatever_name_is_taken_can_be_removed(cast: Cast, name: str) -> None:
    cast.ticket()
    cast.alice.set_member("shop", name, "edit", key="a")
    assert name in {each.user for each in cast.alice.project("shop").members}
    info = cast.alice.set_member("shop", name, None, key="b")
    assert [each.user for each in info.members] == ["alice"]


@pytest.mark.needs("roles")
@pytest.mark.parametrize("name", [".", "..", "...."])
def test_dots_alone_are_no_name(cast: Cast, name: str) -> None:
    cast.ticket()
    for role in ("edit", None):
        call = lambda role=role: cast.alice.set_member("shop", name, role, key="a")  # noqa: E731
        refuses(Invalid, call, cast.alice)
    refuses(Invalid, lambda: cast.person(name).me(), cast.alice)


@pytest.mark.needs("roles")
def test_a_member_can_be_removed(cast: Cast) -> None:
    ref = cast.ticket()
    bob = cast.member("bob", "edit")
    info = cast.alice.set_member("shop", "bob", None, key="a")
    assert info.members == (Member("alice", cast.alice.me().user_id, "admin"),)
    refuses(Forbidden, lambda: bob.edit(ref, subject="x", key="b"), cast.alice)
    refuses(NotFound, lambda: cast.alice.set_member("shop", "nobody", None, key="c"), cast.alice)
    refuses(NotFound, lambda: cast.alice.set_member("barn", "bob", None, key="d"), cast.alice)


@pytest.mark.needs("feed")
def test_member_events_lie_with_the_project(cast: Cast) -> None:
    cast.ticket()
    start = cast.alice.changes(0).last
    cast.alice.set_member("shop", "bob", "use", key="a")
    cast.alice.set_member("shop", "bob", "use", key="b")
    cast.alice.set_member("shop", "bob", None, key="c")
    feed = cast.alice.changes(start).events
    assert [(e.project, e.ref, e.event.text, e.event.before, e.event.after) for e in feed] == [
        ("shop", None, "bob", "", "use"), ("shop", None, "bob", "use", ""),
    ]  # fmt: skip


@pytest.mark.needs("roles")
def test_no_machine_is_an_admin_and_no_project_without_one(cast: Cast) -> None:
    colony, bob = cast.colony, cast.person("bob")
    colony.me()
    bob.add_project("barn", key="a")
    refuses(Invalid, lambda: bob.set_member("barn", "colony", "admin", key="b"), bob)
    assert "admin" in refuses(Invalid, lambda: bob.set_member("barn", "bob", "use", key="c"), bob)
    bob.set_member("barn", "carol", "admin", key="d")
    bob.set_member("barn", "bob", "use", key="e")


@pytest.mark.needs("roles")
def test_a_machine_edits_whatever_role_it_is_given(cast: Cast) -> None:
    ref = cast.ticket()
    cast.colony.me()
    cast.alice.set_member("shop", "colony", "use", key="a")
    assert event_of(cast.colony.move(ref, "progress", key="b")) > 0


@pytest.mark.needs("roles")
def test_a_name_is_a_persons_or_a_machines_for_good(cast: Cast) -> None:
    cast.colony.me()
    cast.alice.me()
    assert "machine" in refuses(Forbidden, cast.person("colony").me, cast.alice)
    alice = cast.edge.tracker(Me("alice", "", machine=True, owner=False))
    refuses(Forbidden, alice.me, cast.alice)
    with pytest.raises(Invalid):
        cast.person("a\nb").me()


@pytest.mark.needs("user ids", "roles")
def test_users_keep_their_ids(cast: Cast) -> None:
    alice, bob = cast.alice.me(), cast.person("bob").me()
    assert alice.user_id != bob.user_id
    assert cast.alice.me() == alice == Me("alice", alice.user_id, machine=False, owner=True)
    assert not bob.owner
    assert cast.person("bob", owner=True).me() == Me("bob", bob.user_id, machine=False, owner=True)
    assert not cast.edge.tracker(Me("m", "", machine=True, owner=True)).me().owner
