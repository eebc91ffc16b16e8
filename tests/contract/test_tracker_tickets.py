"""Tickets, their texts and their order, alike on every edge."""

from __future__ import annotations

import pytest
from edges import Cast, event_of, refuses

from colony.core.ticket import STATES, SUBJECT_MAX, TEXT_MAX, Member, NewTicket, Ref
from colony.errors import Forbidden, Invalid, NotFound, TooLarge
from colony.tracker.protocol import Written
from tests.fakes.served import START_MS


@pytest.mark.needs("first state")
def test_a_ticket_comes_back_as_it_was_written(cast: Cast) -> None:
    made = cast.alice.create(
        NewTicket("shop", "Mend the gate", "It squeaks.", "mail:7", state="review"), key="k"
    )
    assert made.fresh
    ticket = made.ticket
    assert (ticket.ref, ticket.subject, ticket.summary) == (
        Ref("shop", 1), "Mend the gate", "It squeaks.",
    )  # fmt: skip
    assert (ticket.state, ticket.source, ticket.author) == ("review", "mail:7", "alice")
    assert ticket.user_id == cast.alice.me().user_id
    assert (ticket.created_ms, ticket.updated_ms, ticket.version) == (START_MS, START_MS, 1)
    history = cast.alice.ticket(ticket.ref)
    assert history.ticket == ticket
    [opened] = history.events
    assert (opened.kind, opened.after, opened.text) == ("created", "review", "It squeaks.")
    assert opened.id == ticket.last_event


def test_numbers_are_the_projects_own(cast: Cast) -> None:
    refs = [cast.ticket(project=name) for name in ("shop", "barn", "shop", "barn", "shop")]
    assert [str(ref) for ref in refs] == ["shop#1", "barn#1", "shop#2", "barn#2", "shop#3"]


def test_rows_are_ordered_by_age_then_name(cast: Cast) -> None:
    cast.ticket(project="shop")
    cast.ticket(project="barn")
    cast.clock.ms -= 1
    cast.ticket(project="shop")
    assert [str(each.ref) for each in cast.alice.tickets()] == ["shop#2", "barn#1", "shop#1"]


def test_rows_can_be_chosen(cast: Cast) -> None:
    one, two = cast.ticket(), cast.ticket()
    cast.ticket(project="barn")
    cast.clock.ms += 5
    cast.alice.move(two, "done", key="k")

    def found(*args: object) -> list[str]:
        return [str(each.ref) for each in cast.alice.tickets(*args)]  # type: ignore[arg-type]

    assert found("shop") == ["shop#1", "shop#2"]
    assert found(None, ["done"]) == ["shop#2"]
    assert found(None, ["open", "done"]) == ["barn#1", "shop#1", "shop#2"]
    assert found(None, []) == []
    assert found(None, None, START_MS + 5) == ["shop#2"]
    assert found(None, None, START_MS + 6) == []
    assert found("shop", ["open"], -(10**30)) == [str(one)]
    assert found(None, None, 10**30) == []
    with pytest.raises(NotFound):
        found("nowhere")
    with pytest.raises(Invalid):
        found(None, ["opened"])


def test_a_move_is_an_event_with_both_states(cast: Cast) -> None:
    ref = cast.ticket()
    answer = cast.alice.move(ref, "progress", text="I am at it", key="k")
    history = cast.alice.ticket(ref)
    assert isinstance(answer, Written)
    assert answer.event == answer.last_event == history.ticket.last_event
    event = history.events[-1]
    assert (event.kind, event.before, event.after, event.text) == (
        "state", "open", "progress", "I am at it",
    )  # fmt: skip
    assert history.ticket.state == "progress"
    assert history.ticket.version == 2


def test_a_move_to_the_state_that_stands_changes_nothing(cast: Cast) -> None:
    ref = cast.ticket()
    opened = cast.alice.ticket(ref).ticket.last_event
    assert cast.alice.move(ref, "open", key="a") == Written(0, opened)
    words = event_of(cast.alice.move(ref, "open", text="still so", key="b"))
    last = cast.alice.ticket(ref).events[-1]
    assert (last.id, last.kind, last.text) == (words, "comment", "still so")


@pytest.mark.needs("edits")
def test_an_edit_keeps_what_was(cast: Cast) -> None:
    ref = cast.ticket("Old", summary="one")
    cast.alice.edit(ref, subject="New", key="a")
    cast.alice.edit(ref, summary="two", key="b")
    nothing = cast.alice.edit(ref, subject="New", summary="two", key="c")
    history = cast.alice.ticket(ref)
    assert (history.ticket.subject, history.ticket.summary) == ("New", "two")
    assert [(e.before, e.after, e.text) for e in history.events if e.kind == "edit"] == [
        ("Old", "New", "one"), ("New", "New", "two"),
    ]  # fmt: skip
    assert event_of(nothing) == 0


def test_a_source_makes_one_ticket(cast: Cast) -> None:
    new = NewTicket("shop", "From mail", source="mail:1")
    first = cast.alice.create(new, key="a")
    other = NewTicket("shop", "Another subject", source="mail:1")
    again = cast.person("bob").create(other, key="b")
    assert (first.fresh, again.fresh) == (True, False)
    assert again.ticket == first.ticket
    assert cast.alice.create(NewTicket("barn", "x", source="mail:1"), key="c").fresh
    assert cast.alice.create(NewTicket("shop", "x"), key="d").fresh
    assert cast.alice.create(NewTicket("shop", "x"), key="e").fresh


def test_sources_of_colony_are_a_machines(cast: Cast) -> None:
    cast.ticket()
    new = NewTicket("shop", "Filed", source="colony-report:s:issue:0")
    refuses(Invalid, lambda: cast.alice.create(new, key="a"), cast.alice)
    assert cast.colony.create(new, key="a").fresh


@pytest.mark.needs("edits")
@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("two\r\nlines", "two lines"),
        ("\n\n a \u2028 b\x85c\v\n", "a b c"),
        ("emoji 👩‍🚒 and 漢字", "emoji 👩‍🚒 and 漢字"),
        ("half \ud83d emoji", "half \ufffd emoji"),
        ("nul \x00 here", "nul \ufffd here"),
        ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
        ("it's; DROP TABLE tickets --", "it's; DROP TABLE tickets --"),
        ("x" * SUBJECT_MAX, "x" * SUBJECT_MAX),
    ],
)
def test_a_subject_is_one_line_that_can_be_stored(cast: Cast, typed: str, kept: str) -> None:
    ref = cast.ticket(typed)
    assert cast.alice.ticket(ref).ticket.subject == kept
    cast.alice.edit(ref, subject="other", key="a")
    cast.alice.edit(ref, subject=typed, key="b")
    assert cast.alice.ticket(ref).ticket.subject == kept


def test_texts_keep_every_word(cast: Cast) -> None:
    ref = cast.ticket(summary="a\x00b\udfff\r\n\tc")
    cast.comment(cast.alice, ref, "x\ud800y")
    cast.alice.move(ref, "review", text="\x00", key="m")
    history = cast.alice.ticket(ref)
    assert history.ticket.summary == "a\ufffdb\ufffd\r\n\tc"
    assert [event.text for event in history.events[1:]] == ["x\ufffdy", "\ufffd"]


def test_limits_count_characters_of_subjects_and_bytes_of_texts(cast: Cast) -> None:
    biggest = "é" * (TEXT_MAX // 2)
    ref = cast.ticket(summary=biggest)
    cast.comment(cast.alice, ref, biggest)
    alice = cast.alice
    for call in (
        lambda: alice.create(NewTicket("shop", "x" * (SUBJECT_MAX + 1)), key="a"),
        lambda: alice.create(NewTicket("shop", "x", biggest + "x"), key="a"),
        lambda: alice.create(NewTicket("shop", "x", source="s" * 301), key="a"),
        lambda: alice.comment(ref, biggest + "x", key="a"),
        lambda: alice.move(ref, "done", text=biggest + "x", key="a"),
        lambda: alice.edit(ref, summary=biggest + "x", key="a"),
        lambda: alice.comment(ref, "x", key="k" * 256),
    ):
        refuses(TooLarge, call, alice)
    assert alice.ticket(ref).ticket.summary == biggest


def test_what_cannot_be_is_refused_by_its_name(cast: Cast) -> None:
    ref, alice = cast.ticket(), cast.alice
    for name, call in {
        "project": lambda: alice.create(NewTicket("Shop", "x"), key="a"),
        "subject": lambda: alice.create(NewTicket("shop", " \n "), key="a"),
        "source": lambda: alice.create(NewTicket("shop", "x", source="a\nb"), key="a"),
        "state": lambda: alice.move(ref, "closed", key="a"),  # type: ignore[arg-type]
        "text": lambda: alice.comment(ref, " \n", key="a"),
        "Idempotency-Key": lambda: alice.comment(ref, "x", key=""),
        "user": lambda: alice.set_member("shop", "\ud800", "use", key="a"),
        "role": lambda: alice.set_member("shop", "bob", "boss", key="a"),  # type: ignore[arg-type]
    }.items():
        assert refuses(Invalid, call, alice).startswith(f"{name}: ")


@pytest.mark.parametrize(
    "ref",
    [Ref("shop", 9), Ref("barn", 1), Ref("\ud800", 1), Ref("a\x00", 1), Ref("shop", 0),
     Ref("shop", -1), Ref("shop", 10**5000), Ref("", 1)],
    ids=lambda ref: f"{ref.project!a}",
)  # fmt: skip
def test_what_is_not_there_is_not_found(cast: Cast, ref: Ref) -> None:
    mine = cast.ticket()
    alice = cast.alice
    refuses(NotFound, lambda: alice.ticket(ref), alice)
    refuses(NotFound, lambda: alice.comment(ref, "x", key="a"), alice)
    refuses(NotFound, lambda: alice.move(ref, "done", key="a"), alice)
    refuses(Invalid, lambda: alice.block(mine, ref, key="a"), alice)
    refuses(Invalid, lambda: alice.set_parent(mine, ref, key="a"), alice)
    refuses(Invalid, lambda: alice.create(NewTicket("shop", "x", parent=ref), key="a"), alice)


@pytest.mark.needs("projects")
def test_projects_count_their_tickets_by_state(cast: Cast) -> None:
    cast.ticket()
    cast.alice.move(cast.ticket(), "review", key="a")
    cast.alice.add_project("barn", key="b")
    assert cast.alice.projects() == {"barn": {}, "shop": {"open": 1, "review": 1}}


@pytest.mark.needs("projects")
def test_a_project_is_made_once_and_belongs_to_its_maker(cast: Cast) -> None:
    bob = cast.person("bob")
    made = bob.add_project("barn", key="a")
    assert made.members == (Member("bob", bob.me().user_id, "admin"),)
    assert cast.person("carol").add_project("barn", key="a") == made
    alice = cast.alice.me()
    assert cast.alice.project("barn").members == (
        Member("alice", alice.user_id, "admin"), *made.members,
    )  # fmt: skip
    with pytest.raises(NotFound):
        bob.project("shop")


@pytest.mark.needs("projects", "roles")
def test_a_machine_makes_projects_for_the_owners(cast: Cast) -> None:
    new = NewTicket("inbox", "Where is the code?")
    line = refuses(Forbidden, lambda: cast.colony.create(new, key="a"), cast.colony)
    assert "inbox" in line
    alice = cast.alice.me()
    assert cast.colony.create(new, key="a").fresh
    assert cast.colony.project("inbox").members == (Member("alice", alice.user_id, "admin"),)


@pytest.mark.needs("expect")
def test_states_are_all_there(cast: Cast) -> None:
    for state in STATES:
        ref = cast.ticket(state=state)
        assert cast.alice.ticket(ref).ticket.state == state
    assert "expect" in cast.alice.features


def test_time_is_the_trackers_own_and_never_goes_back(cast: Cast) -> None:
    ref = cast.ticket()
    assert abs(cast.alice.now_ms() - START_MS) <= cast.edge.inexact_ms
    cast.clock.ms -= 10_000
    cast.comment(cast.alice, ref, "x")
    history = cast.alice.ticket(ref)
    assert history.events[-1].at_ms == START_MS - 10_000
    assert history.ticket.updated_ms == START_MS
