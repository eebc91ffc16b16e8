"""Writes to a tracker that knows no conditions and keeps no keys: each happens once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from colony.core.ticket import NewTicket, Ref, State
from colony.errors import Forbidden, Invalid, NoAnswer
from colony.tracker.http.foreign import Foreign
from colony.tracker.protocol import Conflict, Guard, Written
from tests.fakes.bare_side import foreign_to
from tests.fakes.bare_tracker import BareTracker, HangUp, Speaks

NOW_MS = 1_700_000_000_000
SESSION = "s-20260131T1819-aaaaaa"
OTHER = "s-20260131T1819-bbbbbb"
SHOP = Ref("shop", 1)
NEVER = Guard(event=-1)
KINDS = {
    "bare": Speaks(),
    "counted": Speaks(event_ids=False),
    "older": Speaks(older_words=True),
    "members": Speaks(members=True, relations=True),
    "strict": Speaks(same_state=False),
}


class Time:
    def __init__(self) -> None:
        self.ms = NOW_MS

    def __call__(self) -> int:
        return self.ms


@contextmanager
def serving(speaks: Speaks) -> Iterator[BareTracker]:
    server = BareTracker(Time(), speaks)
    server.create("alice", {"project": "shop", "subject": "Mend the gate"})
    try:
        yield server
    finally:
        server.close()


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[BareTracker]:
    with serving(request.param) as made:
        yield made


@pytest.fixture
def bare() -> Iterator[BareTracker]:
    with serving(Speaks()) as made:
        yield made


@pytest.fixture
def older() -> Iterator[BareTracker]:
    with serving(Speaks(older_words=True)) as made:
        yield made


def lose_one(server: BareTracker, end: str = "") -> None:
    """The answer to the next write whose path ends so is lost."""
    left = [1]

    def loses(method: str, path: str) -> bool:
        if method == "GET" or not path.endswith(end) or not left:
            return False
        left.clear()
        return True

    server.loses = loses


def texts(server: BareTracker) -> list[str]:
    return [each["text"] for each in server.tickets["shop", 1]["events"]]


def lease(kind: str = "started", session: str = SESSION, ms: int = NOW_MS + 1000) -> str:
    return f"A worker.\n\ncolony-lease: {session} · host h1 · {kind} · ms {ms}"


Write = Callable[[Foreign], object]
REPORT = f"Built.\n\ncolony-report: {SESSION} · sha256 0123456789ab · controller pass"
WRITES: dict[str, Write] = {
    "comment": lambda who: who.comment(SHOP, "hello \r\n\nthere ", key="a"),
    "line": lambda who: who.comment(SHOP, REPORT, key=f"{SESSION}:comment"),
    "take": lambda who: who.move(SHOP, "progress", text=lease(), key=f"{SESSION}:take:1"),
    "silent move": lambda who: who.move(SHOP, "review", key="a"),
    "to where it is": lambda who: who.move(SHOP, "open", text="still so", key="a"),
    "new": lambda who: who.create(NewTicket("shop", "Another", "With words"), key="a"),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_lost_answer_is_found_again(server: BareTracker, write: Write) -> None:
    who = foreign_to(server)
    lose_one(server)
    with pytest.raises(NoAnswer):
        write(who)
    before = [len(each["events"]) for each in server.tickets.values()]
    found = write(who)
    assert write(who) == found
    assert [len(each["events"]) for each in server.tickets.values()] == before
    if isinstance(found, Written):
        assert found.event == who.ticket(SHOP).events[-1].id
        assert found.last_event == who.ticket(SHOP).ticket.last_event
    who.close()


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_that_never_came_is_written(server: BareTracker, write: Write) -> None:
    """The server hangs up before it has done anything."""
    who = foreign_to(server)
    before = server.last

    def hang_up(path: str) -> None:
        server.before_write = lambda path: None
        raise HangUp

    server.before_write = hang_up
    with pytest.raises(NoAnswer):
        write(who)
    assert server.last == before
    write(who)
    assert server.last == before + 1
    who.close()


@pytest.mark.parametrize("name", ["line", "take"])
def test_another_process_finds_the_machine_line(server: BareTracker, name: str) -> None:
    """Before any condition: nothing is to be written, so none is looked at."""
    first = foreign_to(server)
    lose_one(server)
    with pytest.raises(NoAnswer):
        WRITES[name](first)
    server.comment("alice", "shop", 1, "meanwhile")
    count = len(texts(server))
    second = foreign_to(server)
    if name == "line":
        found = second.comment(SHOP, REPORT, key=f"{SESSION}:comment", guard=NEVER)
    else:
        found = second.move(SHOP, "progress", text=lease(), key=f"{SESSION}:take:1", guard=NEVER)
    assert isinstance(found, Written)
    assert found.event == second.ticket(SHOP).events[1].id
    assert len(texts(server)) == count
    for each in (first, second):
        each.close()


def test_another_process_finds_a_move_behind_the_sessions_own_line(server: BareTracker) -> None:
    """A state's one line names no session: it is looked for after the session's last line."""
    who, words = foreign_to(server), "Ready to be tried."
    who.move(SHOP, "progress", text=lease(), key=f"{SESSION}:take:1")
    who.move(SHOP, "open", text=words, key="x")
    who.move(SHOP, "review", text=words, key="y")
    who.move(SHOP, "progress", text=lease(ms=NOW_MS + 5), key=f"{SESSION}:take:2")
    who.comment(SHOP, REPORT, key=f"{SESSION}:comment")

    def posts(key: str) -> object:
        other = foreign_to(server)
        answer = other.move(SHOP, "review", text=words, key=key, guard=NEVER)
        other.close()
        return answer

    assert isinstance(posts(f"{SESSION}:state"), Conflict)
    done = who.move(SHOP, "review", text=words, key=f"{SESSION}:state")
    assert isinstance(done, Written)
    count = len(texts(server))
    assert posts(f"{SESSION}:state") == done
    assert isinstance(posts(f"{OTHER}:state"), Conflict)
    assert len(texts(server)) == count
    who.close()


def test_a_line_that_comes_once_a_lease_is_written_once_a_lease(bare: BareTracker) -> None:
    """The same session may expire twice: the second time says the same words."""
    who = foreign_to(bare)
    gone = f"Back.\n\ncolony-lease-expired: {SESSION} · host h1"
    for at in (1, 2):
        who.move(SHOP, "progress", text=lease(ms=NOW_MS + at), key=f"{SESSION}:take:{at}")
        token = who.ticket(SHOP).ticket.last_event
        for process in (who, foreign_to(bare)):
            process.move(SHOP, "open", text=gone, key=f"{SESSION}:expire:{token}")
    assert texts(bare).count(gone) == 2


def test_a_persons_words_are_never_taken_for_ours(bare: BareTracker) -> None:
    who = foreign_to(bare)
    bare.comment("bob", "shop", 1, REPORT)
    who.comment(SHOP, REPORT, key=f"{SESSION}:comment")
    assert texts(bare).count(REPORT) == 2
    lose_one(bare)
    with pytest.raises(NoAnswer):
        who.comment(SHOP, "fine", key="b")
    bare.tickets["shop", 1]["events"].pop()
    bare.comment("bob", "shop", 1, "fine")
    who.comment(SHOP, "fine", key="b")
    assert [each["author"] for each in bare.tickets["shop", 1]["events"]][-2:] == ["bob", "colony"]
    who.close()


def test_a_person_may_say_the_same_twice(bare: BareTracker) -> None:
    anna = foreign_to(bare, "anna", machine=False)
    first = anna.comment(SHOP, "ping", key="a")
    second = anna.comment(SHOP, "ping", key="b")
    assert first != second
    assert texts(bare).count("ping") == 2
    anna.close()


def test_a_key_for_something_else_is_refused(bare: BareTracker) -> None:
    who = foreign_to(bare)
    who.comment(SHOP, "one", key="a")
    with pytest.raises(Invalid, match="Idempotency-Key"):
        who.comment(SHOP, "two", key="a")
    who.create(NewTicket("shop", "x"), key="a")
    with pytest.raises(Invalid, match="Idempotency-Key"):
        who.create(NewTicket("shop", "y"), key="a")
    assert texts(bare) == ["", "one"]
    who.close()


def test_a_key_that_nobody_heard_of_may_say_something_else(bare: BareTracker) -> None:
    """A renewal that never came is sent again with a later time."""
    who = foreign_to(bare)

    def hang_up(path: str) -> None:
        bare.before_write = lambda path: None
        raise HangUp

    bare.before_write = hang_up
    who_renews = lambda ms: who.comment(SHOP, lease("renewed", ms=ms), key="r:1")  # noqa: E731
    with pytest.raises(NoAnswer):
        who_renews(NOW_MS + 1)
    written = who_renews(NOW_MS + 2)
    assert isinstance(written, Written)
    assert who_renews(NOW_MS + 2) == written
    assert texts(bare) == ["", lease("renewed", ms=NOW_MS + 2)]
    who.close()


# --- conditions --------------------------------------------------------------------------------


def test_what_changed_before_the_read_is_a_conflict(server: BareTracker) -> None:
    who = foreign_to(server)
    known = who.ticket(SHOP).ticket.last_event
    server.comment("alice", "shop", 1, "wait")
    asked = len(server.requests)
    answer = who.comment(SHOP, "x", key="a", guard=Guard(event=known))
    now = who.ticket(SHOP).ticket
    assert answer == Conflict("open", now.last_event, None)
    assert all(method == "GET" for method, _ in server.requests[asked:])
    assert isinstance(who.comment(SHOP, "x", key="a", guard=Guard("open", now.last_event)), Written)
    who.close()


def test_what_changes_between_read_and_write_is_not_seen(bare: BareTracker) -> None:
    """The gap that remains, as the page about such trackers says."""
    who = foreign_to(bare)
    known = who.ticket(SHOP).ticket.last_event

    def meanwhile(path: str) -> None:
        bare.before_write = lambda path: None
        bare.comment("alice", "shop", 1, "wait")

    bare.before_write = meanwhile
    answer = who.comment(SHOP, "x", key="a", guard=Guard(event=known))
    assert isinstance(answer, Written)
    assert texts(bare) == ["", "wait", "x"]
    assert answer.event == who.ticket(SHOP).events[-1].id
    who.close()


def test_what_the_server_refuses_since_it_changed_is_a_conflict() -> None:
    with serving(Speaks(same_state=False)) as server:
        who = foreign_to(server)
        known = who.ticket(SHOP).ticket.last_event

        def meanwhile(path: str) -> None:
            server.before_write = lambda path: None
            server.move("alice", "shop", 1, "progress")

        server.before_write = meanwhile
        answer = who.move(SHOP, "progress", text=lease(), key="a", guard=Guard(event=known))
        assert isinstance(answer, Conflict)
        assert answer.state == "progress"
        with pytest.raises(Forbidden):
            who.move(SHOP, "done", key="b", guard=Guard(event=answer.last_event))
        # Neither of them used up its key.
        assert isinstance(who.move(SHOP, "open", key="a"), Written)
        assert isinstance(who.comment(SHOP, "x", key="b"), Written)
        who.close()


# --- words and states ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("subject", "state", "word"),
    [
        ("Mend", "progress", "in progress"),
        ("Mend", "review", "awaiting creator"),
        ("Mend", "pending", "on hold"),
        ("Question: which?", "pending", "awaiting creator"),
    ],
)
def test_older_words_are_written(older: BareTracker, subject: str, state: State, word: str) -> None:
    who = foreign_to(older)
    ref = who.create(NewTicket("shop", subject), key="a").ticket.ref
    assert isinstance(who.move(ref, state, key="b"), Written)
    assert older.tickets["shop", 2]["state"] == word
    assert who.ticket(ref).ticket.state == state
    assert who.ticket(ref).events[-1].after == state
    who.close()


def test_canceled_is_refused_before_anything_is_asked(older: BareTracker) -> None:
    who = foreign_to(older, "alice", machine=False)
    for call in (
        lambda: who.move(SHOP, "canceled", key="a"),
        lambda: who.create(NewTicket("shop", "x", state="canceled"), key="b"),
    ):
        with pytest.raises(Invalid, match="canceled"):
            call()
    assert all(method == "GET" for method, _ in older.requests)
    who.close()


# --- new tickets --------------------------------------------------------------------------------


QUESTION = NewTicket(
    "shop", "Question: which?", source="colony:question", parent=SHOP, state="pending"
)


def test_a_question_waits_in_its_first_state_with_its_parent(server: BareTracker) -> None:
    who = foreign_to(server)
    made = who.create(QUESTION, key="a")
    assert made.fresh
    assert made.ticket.state == "pending"
    assert made.ticket == who.ticket(made.ticket.ref).ticket
    parent = made.ticket.parent.ref if made.ticket.parent else None
    assert parent == (SHOP if server.speaks.relations else None)
    assert not foreign_to(server).create(QUESTION, key="b").fresh
    who.close()


def test_a_source_is_sent_again_at_once(server: BareTracker) -> None:
    """Nobody has to ask twice: the server itself makes nothing of the second one."""
    who = foreign_to(server)
    lose_one(server)
    made = who.create(NewTicket("shop", "From mail", source="mail:1"), key="a")
    assert made.ticket.ref == Ref("shop", 2)
    assert len(server.tickets) == 2
    who.close()


@pytest.mark.parametrize("end", ["/state", "/parent"])
def test_a_question_that_was_left_half_made_is_finished(end: str) -> None:
    with serving(Speaks(relations=True)) as server:
        first = foreign_to(server)
        lose_one(server, end)
        with pytest.raises(NoAnswer):
            first.create(QUESTION, key="a")
        second = foreign_to(server)
        made = second.create(QUESTION, key="a").ticket
        assert made.state == "pending"
        assert made.parent is not None
        events = server.tickets["shop", 2]["events"]
        assert [each["kind"] for each in events] == ["created", "state"]
        for each in (first, second):
            each.close()


def test_a_question_that_a_person_moved_is_left_alone(bare: BareTracker) -> None:
    who = foreign_to(bare)
    who.create(QUESTION, key="a")
    bare.move("alice", "shop", 2, "done")
    assert foreign_to(bare).create(QUESTION, key="a").ticket.state == "done"
    assert [each["to"] for each in bare.tickets["shop", 2]["events"][1:]] == ["pending", "done"]
    who.close()


def test_somebody_elses_ticket_of_that_source_is_left_alone(bare: BareTracker) -> None:
    bare.create("bob", {"project": "shop", "subject": "Mail", "source": "mail:1"})
    who = foreign_to(bare, "alice", machine=False)
    made = who.create(NewTicket("shop", "x", source="mail:1", state="review"), key="a")
    assert (made.fresh, made.ticket.state, made.ticket.author) == (False, "open", "bob")
    who.close()


# --- relations ----------------------------------------------------------------------------------


def test_relations_are_refused_where_there_are_none(bare: BareTracker) -> None:
    who = foreign_to(bare)
    other = who.create(NewTicket("shop", "Other"), key="n").ticket.ref
    for call in (
        lambda: who.block(SHOP, other, key="a"),
        lambda: who.set_parent(SHOP, other, key="b"),
        lambda: who.block(SHOP, other, key="c", remove=True),
    ):
        with pytest.raises(Invalid, match="relations"):
            call()
    assert "relations" not in who.features
    who.close()


def test_a_lost_answer_to_a_link_is_found_again() -> None:
    with serving(Speaks(relations=True)) as server:
        who = foreign_to(server)
        other = who.create(NewTicket("shop", "Other"), key="n").ticket.ref
        lose_one(server)
        with pytest.raises(NoAnswer):
            who.block(SHOP, other, key="a")
        asked = len(server.requests)
        assert isinstance(who.block(SHOP, other, key="a", guard=NEVER), Written)
        assert all(method == "GET" for method, _ in server.requests[asked:])
        assert who.block(SHOP, other, key="b") == Written(0, who.ticket(SHOP).ticket.last_event)
        who.close()


# --- on behalf ----------------------------------------------------------------------------------


def said(server: BareTracker, user: str, text: str) -> int:
    event: int = server.comment(user, "shop", 1, text)["id"]
    return event


@pytest.mark.parametrize("speaks", [Speaks(), Speaks(members=True)], ids=["names", "members"])
def test_a_creators_token_stands_in_for_on_behalf(speaks: Speaks) -> None:
    with serving(speaks) as server:
        who = foreign_to(server, creator="alice")
        event = said(server, "alice", "/confirm")
        done = who.move(SHOP, "done", key="a", on_behalf=event)
        assert isinstance(done, Written)
        last = who.ticket(SHOP).events[-1]
        assert (last.id, last.author, last.after, last.machine) == (
            done.event, "alice", "done", False,
        )  # fmt: skip
        assert who.move(SHOP, "done", key="a", on_behalf=event) == done
        who.close()


def test_a_lost_answer_of_a_creators_token_is_found_again(bare: BareTracker) -> None:
    who = foreign_to(bare, creator="alice")
    event = said(bare, "alice", "/reject too loud")
    lose_one(bare)
    with pytest.raises(NoAnswer):
        who.move(SHOP, "reopened", text="too loud", key="a", on_behalf=event)
    assert isinstance(
        who.move(SHOP, "reopened", text="too loud", key="a", on_behalf=event), Written
    )
    assert texts(bare).count("too loud") == 1
    who.close()


@pytest.mark.parametrize(
    ("user", "text"), [("bob", "/confirm"), ("alice", "very nice"), ("colony", "/confirm")]
)
def test_a_creators_token_is_not_used_for_what_no_creator_asked(
    bare: BareTracker, user: str, text: str
) -> None:
    who = foreign_to(bare, creator="alice")
    event = said(bare, user, text)
    with pytest.raises(Forbidden, match="onBehalf"):
        who.move(SHOP, "done", key="a", on_behalf=event)
    with pytest.raises(Forbidden, match="onBehalf"):
        who.move(SHOP, "done", key="b", on_behalf=99)
    assert all(method == "GET" for method, _ in bare.requests)
    who.close()


def test_without_a_creators_token_the_setting_is_named(bare: BareTracker) -> None:
    who = foreign_to(bare)
    event = said(bare, "alice", "/confirm")
    with pytest.raises(Forbidden, match="COLONY_CREATOR_TOKEN_FILE"):
        who.move(SHOP, "done", key="a", on_behalf=event)
    # What a machine may do by itself needs nobody's token.
    hold = said(bare, "alice", "/hold")
    assert isinstance(who.move(SHOP, "pending", key="b", on_behalf=hold), Written)
    who.close()


def test_the_older_servers_own_answered_is_no_move(older: BareTracker) -> None:
    """It comes right after the creator's comment, and must not make that comment an old one."""
    who = foreign_to(older, creator="alice")
    ref = who.create(NewTicket("shop", "Question: which?", state="pending"), key="q").ticket.ref
    event = older.comment("alice", "shop", 2, "The red one.")["id"]
    assert older.tickets["shop", 2]["state"] == "answered"
    seen = who.ticket(ref)
    assert seen.ticket.state == "pending"
    assert seen.events[-1].id == event < seen.ticket.last_event
    guard = Guard(event=seen.ticket.last_event)
    assert isinstance(who.move(ref, "done", key="d", on_behalf=event, guard=guard), Written)
    assert older.tickets["shop", 2]["state"] == "confirmed"
    who.close()


def test_a_comment_and_what_the_server_adds_to_it_are_one(older: BareTracker) -> None:
    """Who goes on from their own write has seen what came with it."""
    alice = foreign_to(older, "alice", machine=False)
    ref = alice.create(NewTicket("shop", "Question: which?", state="pending"), key="q").ticket.ref
    written = alice.comment(ref, "The red one.", key="c")
    assert isinstance(written, Written)
    assert written.event < written.last_event
    answer = alice.move(ref, "done", key="d", guard=Guard(event=written.last_event))
    assert isinstance(answer, Written)
    alice.close()
