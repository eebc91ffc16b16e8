"""What a machine may do on a creator's behalf, and that it is nothing else."""

from __future__ import annotations

import pytest
from edges import Cast, event_of, refuses

from colony.core.ticket import STATES, NewTicket, Ref, State
from colony.errors import Forbidden
from colony.tracker.protocol import Conflict, Guard, Tracker, Written

pytestmark = pytest.mark.over("memory", "http")

ASKS: dict[str, State] = {
    "/confirm": "done",
    "/reject it still leaks": "reopened",
    "/hold": "pending",
    "/resume": "open",
    # People write on telephones, and politely.
    "/Confirm": "done",
    "/confirm, thank you": "done",
    "  /hold for a week\nI am away.": "pending",
}
ASKS_NOTHING = (
    "please /confirm",
    "confirm",
    "/confirmed",
    "//confirm",
    "/confirm/done",
    "> /confirm",
    "`/confirm`",
    "/reject",
    "/reject  \n",
    "/prio 3",
    "/accept",
    "/budget $5",
    "/model large",
    "/answer yes",
    "/cancel",
    "All is well, done.",
)
HELD = "pending"
NOBODYS: tuple[int, ...] = (0, -1, 10**6, 2**53 - 1)


def built(cast: Cast, state: State = "review") -> Ref:
    """A ticket that Colony has worked on."""
    ref = cast.ticket()
    cast.colony.move(ref, "progress", key=cast.key())
    cast.colony.move(ref, state, key=cast.key())
    return ref


def question(cast: Cast, parent: Ref | None = None) -> Ref:
    """A question that Colony asks."""
    cast.alice.me()
    new = NewTicket("shop", "Question: which colour?", state="pending", parent=parent,
                    source=f"colony:question:{cast.key()}")  # fmt: skip
    return cast.colony.create(new, key=cast.key()).ticket.ref


def refused(cast: Cast, ref: Ref, state: State, event: int, who: Tracker | None = None) -> str:
    mover = who or cast.colony
    move = lambda: mover.move(ref, state, text="x", key="refused", on_behalf=event)  # noqa: E731
    return refuses(Forbidden, move, cast.alice)


@pytest.mark.parametrize("words", ASKS)
@pytest.mark.parametrize("wanted", STATES)
def test_a_keyword_asks_for_just_one_state(cast: Cast, words: str, wanted: State) -> None:
    ref = built(cast, "progress")
    asked = cast.comment(cast.alice, ref, words)
    if wanted != ASKS[words]:
        refused(cast, ref, wanted, asked)
        return
    answer = cast.colony.move(ref, wanted, text="As you asked.", key="m", on_behalf=asked)
    history = cast.alice.ticket(ref)
    moved = history.events[-1]
    assert answer == Written(moved.id, moved.id)
    assert history.ticket.state == wanted
    assert (moved.kind, moved.before, moved.after) == ("state", "progress", wanted)
    # It stays the machine's word: nobody can take it for a person's.
    assert (moved.author, moved.machine, moved.text) == ("colony", True, "As you asked.")


@pytest.mark.parametrize("words", ASKS_NOTHING)
def test_what_is_no_such_keyword_asks_for_nothing(cast: Cast, words: str) -> None:
    ref = built(cast)
    said = cast.comment(cast.alice, ref, words)
    for state in STATES:
        refused(cast, ref, state, said)


@pytest.mark.over("memory")
def test_no_word_cancels(cast: Cast) -> None:
    ref, waits = built(cast), question(cast)
    for words in (*ASKS, *ASKS_NOTHING, "/canceled", "cancel it"):
        refused(cast, ref, "canceled", cast.comment(cast.alice, ref, words))
        refused(cast, waits, "canceled", cast.comment(cast.alice, waits, words))


@pytest.mark.parametrize("role", ["edit", "use", None])
def test_nobody_asks_but_a_creator(cast: Cast, role: str | None) -> None:
    ref, waits = built(cast), question(cast)
    bob = cast.member("bob", role)
    for words, state in ASKS.items():
        refused(cast, ref, state, cast.comment(bob, ref, words))
    refused(cast, waits, "done", cast.comment(bob, waits, "Blue."))
    refused(cast, waits, "done", cast.comment(bob, waits, "/answer Blue."))


def test_a_creator_of_another_project_is_none_here(cast: Cast) -> None:
    ref = built(cast)
    bob = cast.person("bob")
    bob.add_project("barn", key="p")
    refused(cast, ref, "done", cast.comment(bob, ref, "/confirm"))


def test_an_owner_is_a_creator_everywhere(cast: Cast) -> None:
    bob = cast.person("bob")
    ref = bob.create(NewTicket("barn", "x"), key="b").ticket.ref
    asked = cast.comment(cast.alice, ref, "/confirm")
    assert event_of(cast.colony.move(ref, "done", key="m", on_behalf=asked)) > 0


def test_who_is_a_creator_no_more_asks_no_more(cast: Cast) -> None:
    ref = built(cast)
    asked = cast.comment(cast.member("bob", "admin"), ref, "/confirm")
    cast.alice.set_member("shop", "bob", "edit", key="d")
    refused(cast, ref, "done", asked)
    cast.alice.set_member("shop", "bob", "admin", key="e")
    assert event_of(cast.colony.move(ref, "done", key="m", on_behalf=asked)) > 0


def test_no_machine_asks_another(cast: Cast) -> None:
    ref, waits = built(cast), question(cast)
    for words, state in ASKS.items():
        refused(cast, ref, state, cast.comment(cast.colony, ref, words))
    refused(cast, waits, "done", cast.comment(cast.colony, waits, "Blue."))


@pytest.mark.parametrize("role", ["owner", "admin", "edit", "use", None])
def test_no_person_acts_on_behalf(cast: Cast, role: str | None) -> None:
    """Not even who might make the move by himself."""
    ref = built(cast)
    asked = cast.comment(cast.alice, ref, "/confirm")
    who = cast.alice if role == "owner" else cast.member("bob", role)
    refused(cast, ref, "done", asked, who)


def test_a_machine_names_what_does_not_ask_and_gets_nothing(cast: Cast) -> None:
    """Not even a move that it might make by itself."""
    ref = built(cast)
    asked = cast.comment(cast.alice, ref, "/confirm")
    refused(cast, ref, "open", asked)
    for event in NOBODYS:
        refused(cast, ref, "done", event)
        refused(cast, ref, "open", event)
    assert event_of(cast.colony.move(ref, "open", key="m")) > 0


def test_the_comment_lies_with_this_ticket(cast: Cast) -> None:
    ref, other = built(cast), built(cast)
    elsewhere = cast.comment(cast.alice, other, "/confirm")
    assert elsewhere > cast.alice.ticket(ref).ticket.last_event
    refused(cast, ref, "done", elsewhere)


def test_only_a_comment_asks(cast: Cast) -> None:
    """Not a summary, an edit, a state's text or a member's event."""
    ref = cast.ticket(summary="/confirm")
    refused(cast, ref, "done", cast.alice.ticket(ref).ticket.last_event)
    refused(cast, ref, "done", event_of(cast.alice.edit(ref, summary="/confirm ", key="e")))
    refused(cast, ref, "done", event_of(cast.alice.move(ref, "review", text="/confirm", key="m")))
    cast.alice.set_member("shop", "bob", "admin", key="b")
    refused(cast, ref, "done", cast.alice.changes(0).last)
    # Words to a state that stands already are a comment.
    said = event_of(cast.alice.move(ref, "review", text="/confirm", key="n"))
    assert event_of(cast.colony.move(ref, "done", key="d", on_behalf=said)) > 0


@pytest.mark.parametrize("mover", ["person", "machine"])
def test_a_move_after_the_comment_spends_it(cast: Cast, mover: str) -> None:
    ref = built(cast)
    asked = cast.comment(cast.alice, ref, "/confirm")
    who = cast.alice if mover == "person" else cast.colony
    who.move(ref, "open", key="a")
    refused(cast, ref, "done", asked)
    who.move(ref, "review", key="b")
    refused(cast, ref, "done", asked)
    again = cast.comment(cast.alice, ref, "/confirm")
    assert event_of(cast.colony.move(ref, "done", key="c", on_behalf=again)) > 0


def test_a_comment_before_the_last_move_asks_for_nothing(cast: Cast) -> None:
    ref = cast.ticket()
    asked = cast.comment(cast.alice, ref, "/confirm")
    cast.colony.move(ref, "progress", key="a")
    refused(cast, ref, "done", asked)


def test_a_comment_is_spent_by_its_own_move(cast: Cast) -> None:
    ref = built(cast)
    asked = cast.comment(cast.alice, ref, "/reject it leaks")
    cast.colony.move(ref, "reopened", key="a", on_behalf=asked)
    cast.colony.move(ref, "progress", key="b")
    cast.colony.move(ref, "review", key="c")
    refused(cast, ref, "reopened", asked)


def test_what_is_no_move_spends_nothing(cast: Cast) -> None:
    ref, other = built(cast), cast.ticket()
    asked = cast.comment(cast.alice, ref, "/confirm")
    cast.comment(cast.alice, ref, "Nice.")
    cast.comment(cast.colony, ref, "Thank you.")
    cast.alice.edit(ref, subject="Mend the big gate", key="e")
    cast.alice.block(ref, other, key="b")
    cast.alice.move(other, "done", key="o")
    assert event_of(cast.colony.move(ref, "done", key="m", on_behalf=asked)) > 0


@pytest.mark.parametrize("who", ["alice", "bob"])
@pytest.mark.parametrize("words", ["/hold", "/reject it still leaks", "/resume"])
def test_a_later_word_for_something_else_takes_it_back(cast: Cast, words: str, who: str) -> None:
    ref = built(cast)
    bob = cast.member("bob", "admin")
    asked = cast.comment(cast.alice, ref, "/confirm")
    later = cast.comment(cast.alice if who == "alice" else bob, ref, words)
    assert f"event {later} asks for {ASKS_LATER[words]} since" in refused(cast, ref, "done", asked)
    again = cast.comment(cast.alice, ref, "/confirm")
    assert event_of(cast.colony.move(ref, "done", key="m", on_behalf=again)) > 0


ASKS_LATER = {"/hold": "pending", "/reject it still leaks": "reopened", "/resume": "open"}


@pytest.mark.parametrize("role", ["edit", "use", None])
def test_a_later_word_of_nobody_or_for_the_same_takes_nothing_back(
    cast: Cast, role: str | None
) -> None:
    ref = built(cast)
    asked = cast.comment(cast.alice, ref, "/confirm")
    cast.comment(cast.member("bob", role), ref, "/hold")
    cast.comment(cast.colony, ref, "/hold")
    cast.comment(cast.alice, ref, "/confirm")
    assert event_of(cast.colony.move(ref, "done", key="m", on_behalf=asked)) > 0


def test_a_repetition_gets_the_first_answer(cast: Cast) -> None:
    """F38: the answer was lost, and much happened since."""
    ref = built(cast)
    asked = cast.comment(cast.alice, ref, "/confirm")

    def move() -> Written | Conflict:
        return cast.colony.move(ref, "done", text="Done.", key="m", on_behalf=asked)

    first = move()
    assert move() == first
    cast.alice.move(ref, "reopened", key="r")
    cast.alice.set_member("shop", "bob", "use", key="b")
    length = len(cast.alice.ticket(ref).events)
    assert move() == first
    assert len(cast.alice.ticket(ref).events) == length
    assert cast.alice.ticket(ref).ticket.state == "reopened"
    refused(cast, ref, "done", asked)


def test_an_old_view_is_told_first(cast: Cast) -> None:
    ref = built(cast)
    asked = cast.comment(cast.alice, ref, "/confirm")
    seen = cast.alice.ticket(ref).ticket.last_event
    cast.comment(cast.alice, ref, "Wait!")
    now = cast.alice.ticket(ref).ticket.last_event

    def move(guard: Guard) -> Written | Conflict:
        return cast.colony.move(ref, "done", key="m", on_behalf=asked, guard=guard)

    assert move(Guard(event=seen)) == Conflict("review", now, None)
    assert move(Guard(state="open")) == Conflict("review", now, None)
    assert event_of(move(Guard("review", now))) > now


# --- pending -------------------------------------------------------------------------------


def test_what_a_person_held_is_left_on_behalf_only(cast: Cast) -> None:
    for words, state in (("/resume", "open"), ("/confirm", "done"), ("/reject no", "reopened")):
        ref = built(cast)
        cast.alice.move(ref, "pending", key=cast.key())
        for wanted in ("open", "progress", "review"):
            move = lambda to=wanted, ref=ref: cast.colony.move(ref, to, key="x")  # noqa: E731
            refuses(Forbidden, move, cast.alice)
        asked = cast.comment(cast.alice, ref, words)
        refuses(Forbidden, lambda ref=ref: cast.colony.move(ref, "open", key="x"), cast.alice)  # type: ignore[misc]
        answer = cast.colony.move(ref, state, key=cast.key(), on_behalf=asked)
        assert event_of(answer) > asked


def test_what_a_person_held_by_a_word_is_held(cast: Cast) -> None:
    """The machine wrote the move, the person's word set it: it stays until `/resume`."""
    ref = built(cast)
    asked = cast.comment(cast.alice, ref, "/hold")
    cast.colony.move(ref, "pending", key="a", on_behalf=asked)
    cast.comment(cast.alice, ref, "Back in a week.")
    for wanted in ("open", "progress", "review"):
        move = lambda to=wanted: cast.colony.move(ref, to, key="x")  # noqa: E731
        refuses(Forbidden, move, cast.alice)
    asked = cast.comment(cast.alice, ref, "/resume")
    assert event_of(cast.colony.move(ref, "open", key="b", on_behalf=asked)) > 0
    # And what the machine itself sets afterwards is its own again.
    cast.colony.move(ref, "pending", key="c")
    assert event_of(cast.colony.move(ref, "open", key="d")) > 0


@pytest.mark.parametrize(
    ("closed", "words", "wanted"),
    [
        ("done", "/hold", "pending"),
        ("done", "/resume", "open"),
        ("canceled", "/hold", "pending"),
        ("canceled", "/resume", "open"),
    ],
)
def test_what_is_closed_is_not_led_out_of_but_by_a_rejection(
    cast: Cast, closed: State, words: str, wanted: State
) -> None:
    """`onBehalf` adds `done`, `reopened` and leaving `pending` to what `edit` may, no more."""
    ref = built(cast)
    cast.alice.move(ref, closed, key="a")
    refused(cast, ref, wanted, cast.comment(cast.alice, ref, words))
    asked = cast.comment(cast.alice, ref, "/reject it broke again")
    assert event_of(cast.colony.move(ref, "reopened", key="m", on_behalf=asked)) > 0


# --- questions -----------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["Blue.", "/answer Blue.", "/usr/bin is where it lies", "no"])
def test_any_word_on_a_pending_question_is_its_answer(cast: Cast, words: str) -> None:
    ref = question(cast)
    said = cast.comment(cast.alice, ref, words)
    for wanted in STATES:
        if wanted != "done":
            refused(cast, ref, wanted, said)
    assert event_of(cast.colony.move(ref, "done", key="m", on_behalf=said)) > 0
    assert cast.alice.ticket(ref).ticket.state == "done"


@pytest.mark.parametrize(
    "words", ["/hold", "/prio 3", "/resume", "/reject no", "/answer", "/budget"]
)
def test_a_keyword_on_a_question_is_no_answer(cast: Cast, words: str) -> None:
    ref = question(cast)
    refused(cast, ref, "done", cast.comment(cast.alice, ref, words))


def test_a_person_may_ask_too(cast: Cast) -> None:
    ref = cast.ticket("Question for the team", state="pending")
    said = cast.comment(cast.alice, ref, "Yes.")
    assert event_of(cast.colony.move(ref, "done", key="m", on_behalf=said)) > 0


def test_words_on_other_tickets_are_words(cast: Cast) -> None:
    """A ticket that waits and is no question; a question that does not wait."""
    ref = built(cast, "pending")
    refused(cast, ref, "done", cast.comment(cast.alice, ref, "Blue."))
    refused(cast, ref, "done", cast.comment(cast.alice, ref, "/answer Blue."))
    waits = question(cast)
    cast.colony.move(waits, "open", key="o")
    refused(cast, waits, "done", cast.comment(cast.alice, waits, "Blue."))
    refused(cast, waits, "done", cast.comment(cast.alice, waits, "/answer Blue."))


def test_an_answer_to_an_earlier_waiting_answers_no_later_one(cast: Cast) -> None:
    ref = question(cast)
    said = cast.comment(cast.alice, ref, "Blue.")
    cast.alice.move(ref, "open", key="a")
    cast.alice.move(ref, "pending", key="b")
    refused(cast, ref, "done", said)
