"""Conditions and idempotency keys, alike on every edge."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest
from edges import Cast, event_of, everything, in_memory, refuses
from hypothesis import given
from hypothesis import strategies as st

from colony.core.ticket import NewTicket, Ref
from colony.errors import ColonyError, Forbidden, Invalid
from colony.tracker.protocol import ANY, Conflict, Created, Guard, Tracker, Written

DAY = 24 * 3600 * 1000
Write = Callable[[Tracker, Ref, Guard], object]

WRITES: dict[str, Write] = {
    "comment": lambda who, ref, guard: who.comment(ref, "x", key="w", guard=guard),
    "move": lambda who, ref, guard: who.move(ref, "review", key="w", guard=guard),
    "edit": lambda who, ref, guard: who.edit(ref, subject="x", key="w", guard=guard),
    "block": lambda who, ref, guard: who.block(ref, Ref("shop", 1), key="w", guard=guard),
    "unblock": lambda who, ref, guard: who.block(
        ref, Ref("shop", 1), key="w", remove=True, guard=guard
    ),
    "parent": lambda who, ref, guard: who.set_parent(ref, Ref("shop", 1), key="w", guard=guard),
}
NEEDED = {"edit": "edits", "block": "relations", "unblock": "relations", "parent": "relations"}
EACH_WRITE = [
    pytest.param(write, id=name, marks=[pytest.mark.needs(NEEDED[name])] if name in NEEDED else [])
    for name, write in WRITES.items()
]


@pytest.mark.parametrize("write", EACH_WRITE)
def test_a_condition_that_does_not_hold_writes_nothing(cast: Cast, write: Write) -> None:
    cast.ticket()
    ref, alice = cast.ticket(), cast.alice
    opened = alice.ticket(ref).ticket.last_event
    cast.comment(alice, ref, "meanwhile")
    before = everything(alice)
    now = alice.ticket(ref).ticket.last_event
    for guard in (Guard(event=opened), Guard(state="progress"), Guard("progress", now),
                  Guard("open", now + 1)):  # fmt: skip
        assert write(alice, ref, guard) == Conflict("open", now, None)
    assert everything(alice) == before
    assert isinstance(write(alice, ref, Guard("open", now)), Written)


def test_a_conflict_shows_the_lease(cast: Cast) -> None:
    ref = cast.ticket()
    text = "colony-lease: s-20260101T0000-abcdef · host h1 · started · ms 1800000000000"
    token = event_of(cast.colony.move(ref, "progress", text=text, key="t"))
    answer = cast.colony.move(ref, "progress", key="u", guard=Guard(state="open"))
    assert isinstance(answer, Conflict)
    assert answer.lease is not None
    assert (answer.lease.token, answer.lease.until_ms) == (token, 1800000000000)
    assert answer.lease == cast.alice.ticket(ref).ticket.lease == cast.alice.tickets()[0].lease


@pytest.mark.needs("roles")
def test_a_conflict_is_told_before_a_missing_role(cast: Cast) -> None:
    ref = cast.ticket()
    cast.alice.move(ref, "done", key="a")
    move = lambda guard: cast.colony.move(ref, "open", key="b", guard=guard)  # noqa: E731
    assert isinstance(move(Guard(state="progress")), Conflict)
    refuses(Forbidden, lambda: move(ANY), cast.alice)


@pytest.mark.parametrize("write", EACH_WRITE)
def test_a_key_that_succeeded_answers_before_conditions(cast: Cast, write: Write) -> None:
    cast.ticket()
    ref, alice = cast.ticket(), cast.alice
    first = write(alice, ref, Guard(event=alice.ticket(ref).ticket.last_event))
    assert isinstance(first, Written)
    cast.comment(cast.colony, ref, "meanwhile")
    before = everything(alice)
    assert write(alice, ref, Guard("canceled", 1)) == first
    assert write(alice, ref, ANY) == first
    assert everything(alice) == before


@pytest.mark.needs("relations", "members", "projects", "idempotency")
def test_the_first_answer_is_given_again_as_it_was(cast: Cast) -> None:
    new = NewTicket("shop", "x\ud800", "y", parent=cast.ticket())
    first = cast.alice.create(new, key="a")
    cast.alice.move(first.ticket.ref, "canceled", key="b")
    assert first.ticket.parent is not None
    assert cast.alice.create(new, key="a") == first == Created(first.ticket, fresh=True)
    barn = cast.alice.add_project("barn", key="p")
    bob = cast.alice.set_member("barn", "bob", "use", key="m")
    assert cast.alice.add_project("barn", key="p") == barn
    cast.alice.set_member("barn", "bob", None, key="n")
    assert cast.alice.set_member("barn", "bob", "use", key="m") == bob
    assert cast.alice.project("barn") == barn


@pytest.mark.needs("relations")
def test_a_key_with_another_body_is_refused(cast: Cast) -> None:
    ref = cast.ticket()
    alice = cast.alice
    alice.comment(ref, "one", key="a")
    alice.block(ref, cast.ticket(), key="b")
    for call in (
        lambda: alice.comment(ref, "two", key="a"),
        lambda: alice.block(ref, Ref("shop", 2), remove=True, key="b"),
    ):
        assert "Idempotency-Key" in refuses(Invalid, call, alice)


@pytest.mark.needs("event ids")
def test_a_key_belongs_to_one_user_and_one_path(cast: Cast) -> None:
    one, two = cast.ticket(), cast.ticket()
    answers = {
        event_of(cast.alice.comment(one, "x", key="a")),
        event_of(cast.alice.comment(two, "x", key="a")),
        event_of(cast.alice.move(one, "review", key="a")),
        event_of(cast.person("bob").comment(one, "x", key="a")),
    }
    assert len(answers) == 4


def test_a_refused_write_uses_up_no_key(cast: Cast) -> None:
    ref, colony = cast.ticket(), cast.colony
    with pytest.raises(Forbidden):
        colony.move(ref, "done", key="a")
    assert isinstance(colony.move(ref, "progress", key="a", guard=Guard("done")), Conflict)
    assert event_of(colony.move(ref, "progress", key="a")) > 0


@pytest.mark.needs("idempotency")
def test_a_key_is_kept_for_seven_days(cast: Cast) -> None:
    ref = cast.ticket()
    first = cast.alice.comment(ref, "x", key="a")
    cast.clock.ms += 7 * DAY
    assert cast.alice.comment(ref, "x", key="a") == first
    cast.clock.ms += 1
    assert event_of(cast.alice.comment(ref, "x", key="a")) > event_of(first)


# --- any sequence, each write any number of times -----------------------------------------

USERS = ("alice", "bob", "colony")
REFS = st.builds(Ref, st.sampled_from(("shop", "barn")), st.integers(1, 3))
STATES = st.sampled_from(("open", "progress", "review", "pending", "done"))
WORDS = st.text(max_size=6)
CALLS = st.one_of(
    st.tuples(st.just("create"), st.sampled_from(("shop", "barn")), WORDS,
              st.sampled_from(("", "mail:1", "colony:1"))),
    st.tuples(st.just("comment"), REFS, WORDS | st.just("/prio 3")),
    st.tuples(st.just("move"), REFS, STATES),
    st.tuples(st.just("edit"), REFS, WORDS),
    st.tuples(st.just("block"), REFS, REFS, st.booleans()),
    st.tuples(st.just("parent"), REFS, REFS | st.none()),
    st.tuples(st.just("member"), st.sampled_from(("shop", "barn")),
              st.sampled_from(("admin", "edit", None))),
)  # fmt: skip
SCRIPTS = st.lists(st.tuples(st.sampled_from(USERS), CALLS, st.integers(1, 3)), max_size=12)


def one_call(who: Tracker, call: tuple, key: str) -> object:  # type: ignore[type-arg]
    try:
        match call:
            case ("create", project, words, source):
                return who.create(NewTicket(project, words, source=source), key=key)
            case ("comment", ref, text):
                return who.comment(ref, text, key=key)
            case ("move", ref, state):
                return who.move(ref, state, key=key)
            case ("edit", ref, words):
                return who.edit(ref, subject=words, key=key)
            case ("block", ref, by, remove):
                return who.block(ref, by, remove=remove, key=key)
            case ("parent", ref, parent):
                return who.set_parent(ref, parent, key=key)
            case ("member", project, role):
                return who.set_member(project, "bob", role, key=key)
    except ColonyError as error:
        return type(error)
    raise AssertionError(call)


@given(SCRIPTS, st.randoms(use_true_random=False))
def test_writes_repeated_leave_the_same_history_as_once(script, random) -> None:  # type: ignore[no-untyped-def]
    """I4, F38, F39: also when an old write comes again much later, out of order."""
    shown = []
    for repeated in (False, True):
        edge = in_memory()
        # Also where a draw ends the example early.
        with closing(edge.service):
            cast = Cast(edge)
            who = {"alice": cast.alice, "bob": cast.person("bob"), "colony": cast.colony}
            for each in who.values():
                each.me()
            done = []
            for at, (name, call, times) in enumerate(script):
                answer = one_call(who[name], call, f"k{at}")
                for _ in range(times - 1 if repeated else 0):
                    assert one_call(who[name], call, f"k{at}") == answer
                if not isinstance(answer, type):
                    done.append((name, call, f"k{at}", answer))
                if repeated and done and random.random() < 0.5:
                    user, old, key, first = random.choice(done)
                    assert one_call(who[user], old, key) == first
            shown.append(everything(cast.alice))
    assert shown[0] == shown[1]
