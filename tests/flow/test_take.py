"""Taking a ticket: one of many gets it, a lost answer loses nothing, a refusal leaves nothing."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from shop import HOST, SHOP, TTL_MS, Shop, a_home, environ_of, worker

from colony.core.lease import Lease, lease_of
from colony.core.session import Outcome
from colony.core.texts import lease as lease_texts
from colony.core.ticket import NewTicket, State
from colony.errors import Busy, NoAnswer, Refused
from colony.flow.take import regain, salvage
from colony.flow.work import Kept
from colony.host.journal import list_runs
from colony.host.lock import lock_folder
from colony.tracker.protocol import Written
from tests.fakes.meddled import Call, Crash, Meddled, Moment, at, deleted, lost, tracker_of

THEIRS = "s-20260131T1819-bbbbbb"


def taken_by(shop: Shop, session: str = THEIRS, ttl_ms: int = TTL_MS) -> int:
    """Another session takes the ticket; the lease's token."""
    text = lease_texts.started(session, "box2", shop.time.wall_ms() + ttl_ms)
    written = shop.colony.move(SHOP, "progress", text=text, key=shop.key())
    assert isinstance(written, Written)
    return written.event


def expired(shop: Shop, session: str) -> None:
    shop.colony.move(SHOP, "open", text=lease_texts.expired(session, HOST), key=shop.key())


def starts(shop: Shop) -> int:
    return sum("· started ·" in text for text in shop.told())


# --- take --------------------------------------------------------------------------------------


def test_a_ticket_is_taken_with_its_brief_on_disk_before(shop: Shop) -> None:
    facts = shop.new()
    seen = []

    def look() -> None:
        intent = shop.facts(facts.session)
        brief = shop.folder_of(facts.session).read("brief.md", 1_000_000, intent.brief_sha256)
        seen.append((intent, brief))
        raise Crash

    with pytest.raises(Crash):
        shop.go(facts.session, at("before", 1, look))
    [(intent, brief)] = seen
    assert brief is not None
    assert b"Mend the gate" in brief
    assert intent.lease is None
    assert intent.brief_event == shop.history().ticket.last_event


def test_the_fencing_number_is_the_event_that_took_the_lease(shop: Shop) -> None:
    facts = shop.facts(shop.work(post=False).facts.session)
    [taken] = [each for each in shop.history().events if each.after == "progress"]
    assert facts.lease is not None
    assert facts.lease.token == taken.id
    held = lease_of(shop.history().events)
    assert isinstance(held, Lease)
    assert (held.session, held.until_ms) == (facts.session, facts.lease.until_ms)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_take_without_answer_is_sent_again_as_it_was(shop: Shop, moment: Moment) -> None:
    def silent(when: Moment, call: Call) -> None:
        if call.writes and when == moment and call.number <= 3:
            raise NoAnswer("no answer")

    door = Meddled(shop.colony, silent)
    assert shop.go_by(shop.new().session, tracker_of(door)).facts.outcome == Outcome.POSTED
    assert starts(shop) == 1
    takes = [each for each in door.writes if each.args[1] == "progress"]
    assert len(takes) == 4
    assert len({(each.key, each.args) for each in takes}) == 1


def test_killed_after_the_take_the_session_adopts_its_own_live_lease(shop: Shop) -> None:
    """A crash between the take and its record: the next process finds it as its own."""
    facts = shop.new()

    def die() -> None:
        raise Crash

    with pytest.raises(Crash):
        shop.go(facts.session, at("after", 1, die))
    assert shop.facts(facts.session).lease is None
    brief = shop.facts(facts.session).brief_sha256
    assert shop.go(facts.session).facts.outcome == Outcome.POSTED
    assert starts(shop) == 1
    assert shop.facts(facts.session).brief_sha256 == brief


def test_a_take_that_gets_no_answer_leaves_the_session_to_begin_again(shop: Shop) -> None:
    facts = shop.new()

    def silent(when: Moment, call: Call) -> None:
        if call.writes and when == "after":
            raise NoAnswer("no answer")

    with pytest.raises(Kept):
        shop.go(facts.session, silent)
    assert shop.go(facts.session).facts.outcome == Outcome.POSTED
    assert starts(shop) == 1


def test_a_take_that_lands_after_its_sender_gave_up_is_adopted(shop: Shop) -> None:
    """F26: the first request arrives between the second one's read and its write."""
    facts = shop.new()
    sent: list[Call] = []

    def swallowed(when: Moment, call: Call) -> None:
        if call.writes and when == "before":
            sent.append(call)
            raise NoAnswer("no answer")

    with pytest.raises(Kept):
        shop.go(facts.session, swallowed)

    def arrives() -> None:
        assert isinstance(shop.colony.move(*sent[0].args, **sent[0].more), Written)

    shop.time.pass_by(60)
    assert shop.go(facts.session, at("before", 1, arrives)).facts.outcome == Outcome.POSTED
    assert starts(shop) == 1


def test_moved_back_while_the_answer_was_lost_the_ticket_is_taken_anew(shop: Shop) -> None:
    facts = shop.new()

    def die() -> None:
        raise Crash

    with pytest.raises(Crash):
        shop.go(facts.session, at("after", 1, die))
    shop.moves("open", "Not yet: paint it, too.")
    shop.time.pass_by(60)
    assert shop.go(facts.session).facts.outcome == Outcome.POSTED
    brief = shop.folder_of(facts.session).read("brief.md", 1_000_000)
    assert brief is not None
    assert b"paint it, too" in brief


def test_changed_and_still_eligible_the_brief_is_written_anew_and_taken(shop: Shop) -> None:
    facts = shop.new()
    meddle = at("before", 1, lambda: shop.says("Paint it green."))
    facts = shop.go(facts.session, meddle).facts
    assert facts.outcome == Outcome.POSTED
    said, taken = [
        each
        for each in shop.history().events
        if each.text == "Paint it green." or each.after == "progress"
    ]
    assert (facts.brief_event, said.id < taken.id) == (said.id, True)
    brief = shop.folder_of(facts.session).read("brief.md", 1_000_000, facts.brief_sha256)
    assert brief is not None
    assert b"Paint it green." in brief
    assert "Paint it green." not in shop.told()[-2], "it did not come after the brief"


# --- refusals ----------------------------------------------------------------------------------


def left_nothing(shop: Shop) -> None:
    assert starts(shop) == 0
    assert shop.sessions == []


@pytest.mark.parametrize("state", ["pending", "review", "done", "canceled"])
def test_a_person_who_was_faster_is_not_overruled(shop: Shop, state: State) -> None:
    facts = shop.new()
    with pytest.raises(Refused, match=r"shop#1 is not eligible"):
        shop.go(facts.session, at("before", 1, lambda: shop.moves(state)))
    assert shop.state == state
    left_nothing(shop)


def test_another_session_that_was_faster_is_busy(shop: Shop) -> None:
    facts = shop.new()
    with pytest.raises(Busy, match=THEIRS):
        shop.go(facts.session, at("before", 1, lambda: taken_by(shop)))
    assert starts(shop) == 1
    assert shop.sessions == []


def test_a_ticket_that_is_gone_is_refused(shop: Shop) -> None:
    facts = shop.new()
    with pytest.raises(Refused):
        shop.go(facts.session, deleted(SHOP))
    left_nothing(shop)


def test_a_question_is_never_work(shop: Shop) -> None:
    asked = NewTicket(
        "shop", "Which colour?", source="colony-report:x:questions:0", parent=SHOP, state="pending"
    )
    ref = shop.colony.create(asked, key="ask").ticket.ref
    shop.moves("open", ref=ref)
    facts = shop.new()
    facts = replace(facts, ticket=ref)
    shop.put(facts)
    with pytest.raises(Refused, match="question"):
        shop.go(facts.session)
    left_nothing(shop)


def test_a_dev_folder_in_which_another_session_works_is_busy(shop: Shop) -> None:
    facts = shop.new()
    with lock_folder(shop.dev, "a test"), pytest.raises(Busy, match="another session works"):
        shop.go(facts.session)
    assert shop.state == "open"
    left_nothing(shop)


# --- regain ------------------------------------------------------------------------------------


def rested(shop: Shop) -> str:
    """A session with a checked report that it may not post."""
    return shop.work(post=False).facts.session


def test_a_live_lease_of_its_own_needs_no_renewal(shop: Shop) -> None:
    session = rested(shop)
    found = regain(shop.holder(session), shop.facts(session))
    assert not isinstance(found, str)
    assert found.lease == shop.facts(session).lease
    assert found.trusted_s <= shop.time.boot_s() + shop.holder(session).trust_s
    assert not any("renewed" in text for text in shop.told())


def test_past_its_time_but_still_its_own_it_is_renewed(shop: Shop) -> None:
    session = rested(shop)
    shop.time.pass_by(2 * TTL_MS / 1000)
    now_ms = shop.time.wall_ms()
    found = regain(shop.holder(session), shop.facts(session))
    assert not isinstance(found, str)
    held = lease_of(shop.history().events)
    assert isinstance(held, Lease)
    assert held.until_ms == found.lease.until_ms
    # A server tells its time in whole seconds.
    assert found.lease.until_ms >= now_ms + TTL_MS - 1000
    assert found.lease.renewals == 1


def test_moved_by_a_person_it_is_not_its_own(shop: Shop) -> None:
    session = rested(shop)
    shop.moves("pending")
    assert regain(shop.holder(session), shop.facts(session)) == "moved"


def test_expired_or_taken_it_is_another_ones(shop: Shop) -> None:
    session = rested(shop)
    expired(shop, session)
    assert regain(shop.holder(session), shop.facts(session)) == "taken"
    taken_by(shop)
    assert regain(shop.holder(session), shop.facts(session)) == "taken"


@pytest.mark.parametrize("between", ["says", "moves"])
def test_what_a_person_does_while_it_is_renewed_counts(shop: Shop, between: str) -> None:
    session = rested(shop)
    shop.time.pass_by(2 * TTL_MS / 1000)
    acts: dict[str, Callable[[], None]] = {
        "says": lambda: shop.says("Well?"),
        "moves": lambda: shop.moves("pending"),
    }
    door = Meddled(shop.colony, at("before", 1, acts[between]))
    found = regain(shop.holder(session, tracker_of(door)), shop.facts(session))
    assert found == "moved" if between == "moves" else not isinstance(found, str)


# --- salvage -----------------------------------------------------------------------------------


def test_an_open_ticket_is_taken_once_more(shop: Shop) -> None:
    session = rested(shop)
    expired(shop, session)
    hold = salvage(shop.holder(session), shop.history())
    assert hold is not None
    held = lease_of(shop.history().events)
    assert isinstance(held, Lease)
    assert (held.session, held.kind, held.token) == (session, "salvage", hold.lease.token)


def test_its_own_live_lease_is_used_again(shop: Shop) -> None:
    session = rested(shop)
    before = shop.history()
    hold = salvage(shop.holder(session), before)
    assert hold is not None
    assert shop.facts(session).lease == hold.lease
    assert shop.history() == before


def test_a_ticket_that_another_session_holds_is_busy(shop: Shop) -> None:
    session = rested(shop)
    expired(shop, session)
    taken_by(shop)
    before = shop.history()
    with pytest.raises(Busy, match=THEIRS):
        salvage(shop.holder(session), before)
    assert shop.history() == before


@pytest.mark.parametrize("state", ["review", "pending", "done", "canceled"])
def test_in_any_other_state_only_a_comment_may_be_written(shop: Shop, state: State) -> None:
    session = rested(shop)
    shop.moves(state)
    before = shop.history()
    assert salvage(shop.holder(session), before) is None
    assert shop.history() == before


def test_a_ticket_can_be_salvaged_again_and_again(shop: Shop) -> None:
    session = rested(shop)
    for _ in range(3):
        expired(shop, session)
        shop.time.pass_by(60)
        hold = salvage(shop.holder(session), shop.history())
        assert hold is not None


def test_salvage_sees_what_happened_since_it_looked(shop: Shop) -> None:
    session = rested(shop)
    expired(shop, session)
    door = Meddled(shop.colony, at("before", 1, lambda: shop.moves("pending")))
    assert salvage(shop.holder(session, tracker_of(door)), shop.history()) is None
    assert shop.state == "pending"


def test_a_salvage_whose_answer_was_lost_is_done_once(shop: Shop) -> None:
    session = rested(shop)
    expired(shop, session)
    door = Meddled(shop.colony, lost())
    assert salvage(shop.holder(session, tracker_of(door)), shop.history()) is not None
    assert sum("· salvage ·" in text for text in shop.told()) == 1


# --- many at once ------------------------------------------------------------------------------

PROCESSES = 10


@pytest.mark.parametrize("homes", [1, PROCESSES])
def test_of_ten_processes_at_once_exactly_one_starts(tmp_path: Path, homes: int) -> None:
    """F10: the one that starts waits in its worker until all others have been refused."""
    folder = tmp_path / "shop"
    shop = Shop(folder, f"sqlite:///{folder}/colony.db")
    go = folder / "go"
    shop.play(work=[{"run": f"while [ ! -e {go} ]; do sleep 0.05; done"}, *worker()])
    places = [folder] if homes == 1 else [a_home(shop, f"home-{n}") for n in range(homes)]
    words = [sys.executable, "-m", "colony", "work", "shop", "1", "--post", "--json"]
    with contextlib.ExitStack() as held:
        held.callback(shop.close)
        waiting = {}
        for at_most in range(PROCESSES):
            home = places[at_most % homes]
            out = held.enter_context((folder / f"out-{at_most}").open("w+"))
            started = subprocess.Popen(words, env=environ_of(shop, home), cwd=home, stdout=out)
            held.callback(started.wait)
            held.callback(started.kill)
            waiting[os.pidfd_open(started.pid)] = started
        ended = []
        while len(waiting) > 1:
            ready, _, _ = select.select(waiting, [], [], 60)
            assert ready, "two of them go on"
            for pidfd in ready:
                ended.append(waiting.pop(pidfd).wait())
                os.close(pidfd)
        go.touch()
        [(pidfd, last)] = waiting.items()
        os.close(pidfd)
        assert last.wait(60) == 0
        assert ended == [5] * (PROCESSES - 1), "busy, each of them"
        assert starts(shop) == 1
        assert shop.state == "review"
        assert sum(len(list_runs(home / "runs")) for home in places) == 1
