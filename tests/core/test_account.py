"""The account is held, not the ticket: by what, until when, for whom, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from colony.core.account import (
    EXTENDED_MS,
    TRY_MS,
    Hold,
    Kind,
    Login,
    Told,
    Used,
    asks,
    holds_of,
    in_force,
    of_account,
    seen_in,
    told,
    told_of_login,
    used_of,
)
from colony.core.endings import Ending
from colony.core.quota import Seen
from colony.core.session import Facts, PartFacts, Runner, Setup
from colony.core.session.follows import AGAIN_MS
from colony.core.ticket import Ref
from colony.core.turn import Reading

MINUTE: Final = 60_000
HOUR: Final = 60 * MINUTE
T: Final = 1_800_000_000_000
LOGIN: Final = Login("anna", "mark 1")
CART: Final = Ref("shop", 1)


def part(began: int, ended: int | None, how: Ending | None = None, **more: Any) -> Used:
    """A part of `anna`'s, by minutes after T."""
    facts = {
        "session": "s-1", "ref": CART, "number": began + 1, "born": ("", 0), "agent": "claude",
        "model": "sonnet", "account": "anna",
        "mark": "mark 1", "answered": False, "until_ms": None, "readings": (), "cost_usd": 0.0,
    } | more  # fmt: skip
    ends = None if ended is None else T + ended * MINUTE
    return Used(started_ms=T + began * MINUTE, ended_ms=ends, ended=how, **facts)


def limit(began: int, ended: int, until: int | None = None, **more: Any) -> Used:
    until_ms = None if until is None else T + until * MINUTE
    return part(began, ended, Ending.LIMIT, until_ms=until_ms, **more)


def only(*parts: Used, login: Login = LOGIN, reached_ms: int = 0) -> Hold:
    [hold] = holds_of(parts, login, reached_ms)
    return hold


def minutes(hold: Hold) -> int:
    """Until when it holds, in minutes after T."""
    return (hold.until_ms - T) // MINUTE


# --- until when ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "until"),
    [
        ([limit(0, 1, 90)], 90),
        ([limit(0, 1)], 1 + 15),
        ([limit(0, 1, 0)], 1 + 1),
        ([limit(0, 1, 90), limit(91, 92, 90)], 92 + 15),
        ([limit(0, 1, 90), limit(91, 92, 90), limit(107, 108, 90)], 108 + 60),
        ([limit(0, 1), limit(16, 17), limit(32, 33)], 33 + 60),
        ([limit(0, 1, 90), limit(91, 92, 300)], 300),
        ([part(0, 1, Ending.PROVIDER)], 1 + 1),
        ([part(0, 1, Ending.PROVIDER), part(2, 3, Ending.PROVIDER)], 3 + 5),
        ([part(n * 20, n * 20 + 1, Ending.PROVIDER) for n in range(3)], 41 + 15),
        ([part(n * 20, n * 20 + 1, Ending.PROVIDER) for n in range(4)], 61 + 60),
        ([part(n * 20, n * 20 + 1, Ending.PROVIDER) for n in range(9)], 161 + 60),
        ([part(0, 1, Ending.LOGIN)], 1 + 15),
        ([part(0, 1, Ending.LOGIN), part(16, 17, Ending.LOGIN)], 17 + 60),
        ([part(0, 1, Ending.MODEL)], 1 + 15),
        ([part(0, 1, Ending.MODEL), part(16, 17, Ending.MODEL)], 17 + 60),
    ],
)
def test_how_long_it_is_held(parts: list[Used], until: int) -> None:
    assert minutes(only(*parts)) == until
    assert minutes(only(*reversed(parts))) == until, "the order of the records says nothing"


def test_a_missing_login_is_told_of_once() -> None:
    assert told_of_login("", "") == told_of_login("none", "none") == ""
    begins = "the coding agent is not logged in — nothing is started until it is: none"
    assert told_of_login("", "none") == told_of_login("other", "none") == begins
    assert told_of_login("none", "") == "resumed — a login is there"


def test_sessions_that_ran_beside_it_are_one_try() -> None:
    """Five that meet the same limit do not make the pause that of five tries."""
    five = [limit(0, 5 + n, 90, session=f"s-{n}") for n in range(5)]
    assert minutes(only(*five)) == 90
    away = [part(0, 5 + n, Ending.PROVIDER, session=f"s-{n}") for n in range(5)]
    assert minutes(only(*away)) == 9 + 1


def test_a_hit_before_the_told_reset_makes_the_pause_no_longer() -> None:
    """Somebody starts by hand while the account is held: the reset stays where it was told."""
    hits = [limit(0, 1, 90), limit(10, 11, 90, session="s-2"), limit(40, 41, 90, session="s-3")]
    assert minutes(only(*hits)) == 90
    assert minutes(only(*hits, limit(91, 92, 90))) == 92 + 15, "after it, it is a try that failed"


def test_an_answer_from_before_the_clock_was_set_back_proves_nothing() -> None:
    """By the wall clock it came after the limit; the machine knows that it began before."""
    failed = limit(0, 1, 300, session="s-2", born=("boot", 200))
    assert minutes(only(part(20, 30, answered=True, born=("boot", 100)), failed)) == 300
    assert minutes(only(part(20, 30, answered=True, session="s-2", number=0), failed)) == 300
    after = part(20, 30, answered=True, born=("boot", 300))
    other_boot = part(20, 30, answered=True, born=("another", 100))
    for proof in (after, other_boot):
        assert holds_of([proof, failed], LOGIN) == ()


@pytest.mark.parametrize(
    "between",
    [
        part(2, 3, Ending.NO_REPORT, answered=True),
        part(2, None, answered=True),
    ],
)
def test_an_answer_begins_the_row_anew(between: Used) -> None:
    row = [part(0, 1, Ending.PROVIDER), between, part(40, 41, Ending.PROVIDER)]
    assert minutes(only(*row)) == 41 + 1


def test_a_part_that_was_answered_before_it_failed_begins_the_row_anew() -> None:
    row = [part(0, 1, Ending.PROVIDER), part(2, 30, Ending.PROVIDER, answered=True)]
    assert minutes(only(*row)) == 30 + 1


def test_the_longest_hold_of_several_counts() -> None:
    both = (limit(0, 1, 90), part(0, 2, Ending.PROVIDER, session="s-2"))
    found = in_force(holds_of(both, LOGIN), T + 2 * MINUTE)
    assert found is not None
    assert (found.kind, minutes(found), found.session) == ("limit", 90, "s-1")
    assert in_force(holds_of(both, LOGIN), T + 90 * MINUTE) is None


# --- what ends it --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "free"),
    [
        (part(1, None, answered=True), True),
        (part(1, 2, Ending.CRASHED, answered=True), True),
        (part(1, None), False),
        # A worker that cannot be started, or dies before a word, has asked the account nothing.
        (part(1, 2, Ending.NO_BOX), False),
        (part(1, 2, Ending.CRASHED), False),
        (part(1, 2, Ending.STALLED), False),
        # It began before: what it was told, it was told while the account was good.
        (part(0, None, answered=True), False),
        (part(0, 2, Ending.REPORT, answered=True), False),
    ],
)
def test_it_is_held_until_somebody_who_began_later_is_answered(after: Used, free: bool) -> None:
    assert (holds_of((limit(0, 1, 90), after), LOGIN) == ()) is free


def test_near_the_limit_holds_nothing() -> None:
    assert not holds_of((part(0, 1, Ending.NEAR_LIMIT),), LOGIN)


def test_a_new_login_may_be_tried_at_once() -> None:
    failed = part(0, 1, Ending.LOGIN)
    assert minutes(only(failed)) == 16
    assert minutes(only(failed, login=Login("anna", "mark 2"))) == 1
    # A limit asks for no new login.
    assert minutes(only(limit(0, 1, 90), login=Login("anna", "mark 2"))) == 90


def test_another_account_is_not_held() -> None:
    hers = limit(0, 1, 90)
    assert of_account((hers,), "anna", frozenset({"claude"})) == (hers,)
    assert not of_account((hers,), "berta", frozenset({"claude"}))
    assert not of_account((hers,), "anna", frozenset({"stand-in"}))
    older = replace(hers, account="")
    assert of_account((older,), "berta", frozenset({"claude"})) == (older,)


def test_only_a_model_that_is_not_there_is_held() -> None:
    gone = part(0, 1, Ending.MODEL, model="opus")
    hold = only(gone)
    assert (hold.model, hold.covers("opus"), hold.covers("sonnet")) == ("opus", True, False)
    assert in_force((hold,), T + 2 * MINUTE) is None, "the account is not held"
    other = part(2, None, answered=True)
    assert only(gone, other) == hold, "another model's answer says nothing of it"
    assert not holds_of((gone, replace(other, model="opus")), LOGIN)
    everything = only(limit(0, 1, 90))
    assert everything.covers("opus")
    assert everything.covers("sonnet")


# --- a long hold ---------------------------------------------------------------------------------


def test_during_a_long_hold_one_may_try_now_and_then() -> None:
    week = limit(0, 1, 6 * 24 * 60)
    assert only(week).try_ms == T + MINUTE + TRY_MS
    again = only(week, limit(121, 122, 6 * 24 * 60))
    assert again.try_ms == T + 122 * MINUTE + TRY_MS
    assert minutes(again) == 6 * 24 * 60, "it is still held"


def test_a_reading_that_says_reached_spares_the_try() -> None:
    read_ms = T + 122 * MINUTE
    assert only(limit(0, 1, 6 * 24 * 60), reached_ms=read_ms).try_ms == read_ms + TRY_MS


def test_of_a_limit_that_ended_a_part_the_hold_knows_when_to_try() -> None:
    """Else the reading would keep everybody at home until the window's end."""
    full, low = Reading("five_hour", None, T, "rejected"), Reading("seven_day", 0.4, T)
    for part_, kept in (
        (limit(0, 1, readings=(full, low)), (low,)),
        (part(0, 1, Ending.REPORT, readings=(full, low)), (full, low)),
    ):
        assert [*seen_in([part_])] == [Seen(kept, T + MINUTE)]
    assert not [*seen_in([part(0, None, readings=(low,))])], "it is told when the part has ended"
    assert not [*seen_in([limit(0, 1, readings=(full,))])]


def test_a_short_hold_is_tried_when_it_is_over() -> None:
    hold = only(limit(0, 1, 121))
    assert hold.try_ms == hold.until_ms


# --- from records --------------------------------------------------------------------------------


def test_parts_of_a_session_and_who_answered() -> None:
    runner = Runner("claude", "claude", "opus", 9, 9, "auto")
    setup = Setup(runner, replace(runner, model="haiku"), "/", (1, 2), "", False, 2, 9, 9, "on")
    parts = (
        PartFacts(1, "work", "u", False, T, account="anna", login_mark="m", answered=True),
        PartFacts(2, "check", "u", False, T, models=("haiku",)),
        PartFacts(3, "check", "u", False, T),
    )
    facts = Facts("s-1", CART, "h", True, T, setup, parts=parts)
    told_ = [(each.model, each.account, each.mark, each.answered) for each in used_of(facts)]
    assert told_ == [("opus", "anna", "m", True), ("haiku", "", "", True), ("haiku", "", "", False)]


@pytest.mark.parametrize(
    ("last", "asks_"),
    [
        (None, (False, None)),
        (PartFacts(1, "work", "u", False, T), (False, T)),
        (PartFacts(1, "work", "u", False, T, answered=True), (True, T)),
        (PartFacts(1, "work", "u", False, T, ended=Ending.REPORT, answered=True), (True, None)),
        (PartFacts(1, "work", "u", False, T, ended=Ending.KILLED), (False, None)),
        # It was answered before it hit the limit; what it is taken up for is another try.
        (PartFacts(1, "work", "u", False, T, ended=Ending.LIMIT, answered=True), (False, None)),
    ],
)
def test_whether_a_session_that_runs_tries_its_account(
    last: PartFacts | None, asks_: tuple[bool, int | None]
) -> None:
    runner = Runner("claude", "claude", "opus", 9, 9, "auto")
    setup = Setup(runner, runner, "/", (1, 2), "", False, 2, 9, 9, "on")
    facts = Facts("s-1", CART, "h", True, T, setup, parts=() if last is None else (last,))
    assert asks(facts) == asks_


# --- what is said --------------------------------------------------------------------------------


def hold(kind: Kind, until: int, **more: Any) -> Hold:
    values = {"try_ms": T + until * MINUTE, "failed_ms": T, "session": "s-1", "ref": CART} | more
    return Hold(kind, T + until * MINUTE, **values)


def test_a_hold_is_said_once_when_it_begins_grows_and_is_over() -> None:
    at, first = T, hold("limit", 90)
    said, lines = told(Told(), (first,), at)
    assert lines == (
        "usage limit reached — starts paused until 2027-01-15 09:30 UTC · shop#1 s-1 hit it",
    )
    for _ in range(3):
        said, lines = told(said, (first,), at)
        assert not lines
    said, lines = told(said, (hold("limit", 120),), at)
    assert [line.split(" · ")[0] for line in lines] == [
        "the pause is extended until 2027-01-15 10:00 UTC"
    ]
    said, lines = told(said, (hold("limit", 120),), T + 120 * MINUTE)
    assert lines == (
        "resumed — the pause until 2027-01-15 10:00 UTC is over;"
        " one session goes first, then the others",
    )
    assert told(said, (hold("limit", 120),), T + 121 * MINUTE)[1] == ()


def test_what_grows_by_a_breath_is_not_said_again() -> None:
    said, _ = told(Told(), (hold("provider", 5),), T)
    for seconds in (30, 59):
        longer = replace(hold("provider", 5), until_ms=T + 5 * MINUTE + seconds * 1000)
        said, lines = told(said, (longer,), T)
        assert not lines
    longer = replace(hold("provider", 5), until_ms=T + 5 * MINUTE + EXTENDED_MS)
    assert len(told(said, (longer,), T)[1]) == 1


def test_an_answer_before_its_time_ends_it() -> None:
    said, _ = told(Told(), (hold("limit", 90),), T)
    _, [line] = told(said, (), T + MINUTE)
    assert line == (
        "resumed — the pause until 2027-01-15 09:30 UTC is over: a session has been answered"
    )


@pytest.mark.parametrize(
    ("one", "reads", "words"),
    [
        (hold("login", 15), False, "· log in again"),
        (hold("limit", 15, known=False), False, "(no reset time known: then one tries)"),
        (hold("model", 15, model="opus"), False, "the model is not to be had (opus) — "),
    ],
)
def test_what_its_beginning_says(one: Hold, reads: bool, words: str) -> None:
    _, [line] = told(Told(), (one,), T, "log in again", reads=reads)
    assert words in line
    assert ("log in again" in line) is (one.kind == "login")


def test_before_the_first_goes_the_quota_is_read() -> None:
    said, _ = told(Told(), (hold("limit", 15),), T)
    _, [line] = told(said, (hold("limit", 15),), T + 15 * MINUTE, reads=True)
    assert "the quota is read first, then one session goes first" in line


def test_a_model_and_the_account_are_said_apart() -> None:
    both = (hold("model", 15, model="opus"), hold("limit", 90))
    said, lines = told(Told(), both, T)
    assert len(lines) == 2
    assert len(told(said, both, T + 15 * MINUTE)[1]) == 1


def test_every_ending_of_an_account_has_its_pauses() -> None:
    assert set(AGAIN_MS) == {Ending.LIMIT, Ending.PROVIDER, Ending.LOGIN, Ending.MODEL}
