"""A session that is paused and goes on: limits, stops, orders, and what the ticket is told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

import pytest
from shop import SHOP, TTL_MS, Script, Shop, worker

from colony.core.endings import Ending
from colony.core.last_line import Ended, ended
from colony.core.lease import Lease, lease_of
from colony.core.markers import LeaseLine, Parked, Run, marker_of
from colony.core.session import Facts, Outcome
from colony.errors import NoAnswer
from colony.flow import work
from colony.flow.advance import Interrupted, Stopped
from colony.flow.bench import Asked
from colony.tracker.protocol import Tracker, Written
from tests.fakes.meddled import Call, Crash, Moment

HOUR_MS = 3_600_000
LIMIT: list[Script] = [{"say": "I begin."}, {"limit": "five_hour", "reset_in": 7200}]
AWAY: list[Script] = [{"error": "Overloaded", "status": 529, "word": "overloaded"}]
LOGGED_OUT: list[Script] = [
    {"error": "Please run /login", "status": 401, "word": "authentication_failed"}
]


def lines(shop: Shop) -> list[object]:
    found = (marker_of(each) for each in shop.history().events)
    return [each for each in found if each is not None]


def held(shop: Shop) -> Lease:
    found = lease_of(shop.history().events)
    assert isinstance(found, Lease)
    return found


def limited(shop: Shop) -> Facts:
    shop.play(work=LIMIT, resume=worker())
    told = shop.work()
    assert (told.line.kind, told.exit_code) == ("parked", 0)
    return told.facts


def test_a_reached_limit_parks_the_session_until_its_reset(shop: Shop) -> None:
    """Mission 020, usage limit: the ticket stays leased, nothing is given back."""
    began_ms = shop.time.wall_ms()
    facts = limited(shop)
    [park] = facts.parks
    assert (park.reason, park.after, park.told, facts.outcome) == ("limit", 1, True, None)
    assert 7000_000 < park.resume_ms - began_ms < 7300_000
    assert shop.state == "progress"
    lease = held(shop)
    assert (lease.kind, lease.resume_ms) == ("parked", park.resume_ms)
    assert lease.until_ms == park.until_ms >= park.resume_ms + TTL_MS
    parked = lines(shop)[-1]
    assert isinstance(parked, Parked)
    assert (parked.phase, parked.host) == ("worker", facts.host)
    assert "used up its limit" in shop.told()[-1]


def test_before_its_time_nothing_happens(shop: Shop) -> None:
    session = limited(shop).session
    before = len(shop.history().events)
    assert shop.go(session).line.kind == "parked"
    assert len(shop.history().events) == before
    assert len(shop.facts(session).parts) == 1


def test_after_its_time_it_goes_on_with_the_same_conversation_and_posts(shop: Shop) -> None:
    session = limited(shop).session
    shop.time.pass_by(7201)
    facts = shop.go(session).facts
    assert facts.outcome == Outcome.POSTED
    first, second = facts.parts[:2]
    assert (first.ended, second.ended) == (Ending.LIMIT, Ending.REPORT)
    assert (second.agent_session, second.resumes) == (first.agent_session, True)
    resumed = [each for each in lines(shop) if isinstance(each, LeaseLine)][-1]
    assert (resumed.kind, resumed.park) == ("resumed", 1)
    assert facts.lease is not None
    assert facts.lease.parks == 1
    prompt = (shop.folder_of(session).path / "resume-1.md").read_text()
    assert "8700-8709" in prompt
    assert session in prompt


def test_the_cost_of_a_resumed_conversation_is_counted_once(shop: Shop) -> None:
    """The agent reports its whole session; each part has its own share (I9)."""
    session = limited(shop).session
    shop.time.pass_by(7201)
    facts = shop.go(session).facts
    totals = [part.total_cost_usd for part in facts.worked]
    assert totals[-1] is not None
    assert facts.cost_of("work") == pytest.approx(totals[-1])
    assert facts.worked[1].cost_usd < totals[-1]
    assert "resume.cost" in shop.kinds()


def test_comments_that_came_meanwhile_reach_the_worker(shop: Shop) -> None:
    session = limited(shop).session
    shop.says("Paint it green, please.")
    shop.time.pass_by(7201)
    shop.go(session)
    prompt = (shop.folder_of(session).path / "resume-1.md").read_text()
    assert "Paint it green, please." in prompt
    assert "creator" in prompt


@pytest.mark.parametrize(
    ("script", "reason", "pauses"),
    [
        (AWAY, "provider", (60, 300, 900, 3600, 3600)),
        (LOGGED_OUT, "login", (900, 3600, 3600)),
    ],
)
def test_the_pauses_grow_while_an_account_does_not_answer(
    shop: Shop, script: list[Script], reason: str, pauses: tuple[int, ...]
) -> None:
    shop.play(work=script, resume=script)
    session = shop.new().session
    for pause in pauses:
        facts = shop.go(session).facts
        last = facts.parts[-1]
        assert facts.parked is not None
        assert facts.parked.reason == reason
        assert last.ended_ms is not None
        assert facts.parked.resume_ms == last.ended_ms + pause * 1000
        shop.time.pass_by(pause + 1)
    assert facts.outcome is None
    assert not [each for each in lines(shop) if isinstance(each, Run)], (
        "it costs the ticket nothing"
    )


def test_still_limited_after_the_reset_waits_longer_each_time(shop: Shop) -> None:
    again: list[Script] = [{"limit": "five_hour", "reset_in": 1}]
    shop.play(work=again, resume=again)
    session = shop.new().session
    waited = []
    for _ in range(4):
        facts = shop.go(session).facts
        assert facts.parked is not None
        assert facts.parts[-1].ended_ms is not None
        waited.append(round((facts.parked.resume_ms - facts.parts[-1].ended_ms) / 60_000))
        shop.time.pass_by(waited[-1] * 60 + 61)
    assert waited == [1, 15, 60, 60]


def test_a_limit_while_checking_parks_and_checks_anew(shop: Shop) -> None:
    shop.play(check=LIMIT)
    facts = shop.work().facts
    assert facts.parked is not None
    parked = lines(shop)[-1]
    assert isinstance(parked, Parked)
    assert parked.phase == "controller"
    shop.play()
    shop.time.pass_by(7201)
    facts = shop.go(facts.session).facts
    assert facts.outcome == Outcome.POSTED
    kinds = [(part.kind, part.resumes) for part in facts.parts]
    assert kinds == [("work", False), ("check", False), ("check", False)]


# --- trouble while it is told ------------------------------------------------------------------


def test_a_tracker_that_does_not_answer_leaves_it_parked_here(shop: Shop) -> None:
    def away(moment: Moment, call: Call) -> None:
        if call.name == "comment" and "colony-parked" in str(call):
            raise NoAnswer("away")

    shop.play(work=LIMIT, resume=worker())
    session = shop.new().session
    facts = shop.go(session, away).facts
    assert facts.parked is not None
    assert not facts.parked.told
    assert not [each for each in lines(shop) if isinstance(each, Parked)]
    told = shop.go(session).facts
    assert told.parked is not None
    assert told.parked.told, "the next process tells it"
    shop.time.pass_by(7201)
    assert shop.go(session).facts.outcome == Outcome.POSTED


CHUNKS = 3
"""The instants are dealt out to so many tests, which run side by side."""


@pytest.mark.long
@pytest.mark.parametrize("first", range(1, CHUNKS + 1))
def test_killed_at_each_instant_of_a_pause_it_is_told_once(tmp_path: Path, first: int) -> None:
    number, passed = first - CHUNKS, first
    while passed >= number:
        number, passed = number + CHUNKS, 0
        one = Shop(tmp_path / f"{number}")
        one.play(work=LIMIT, resume=worker())
        session = one.new().session
        armed = True

        def instant() -> None:
            nonlocal passed, armed
            facts = one.facts(session)  # noqa: B023
            if not facts.parts or facts.parts[0].ended is None:
                return
            passed += 1
            if armed and passed == number:  # noqa: B023
                armed = False
                raise Crash

        def meddle(_: Moment, call: Call) -> None:
            if call.writes:
                instant()

        def saved(_: str) -> None:
            instant()

        for _ in range(4):
            try:
                facts = one.go(session, meddle, saved).facts
            except Crash:
                continue
            if facts.outcome is None:
                one.time.pass_by(7201)
        facts = one.go(session).facts
        assert facts.outcome == Outcome.POSTED
        found = [type(each).__name__ for each in lines(one)]
        assert found.count("Parked") <= 1
        assert (
            sum(isinstance(each, LeaseLine) and each.kind == "resumed" for each in lines(one)) == 1
        )
        assert found[-1] == "Report"
        one.close()


@pytest.mark.parametrize("move", ["pending", "canceled"])
def test_a_parked_session_whose_ticket_a_person_moved_ends(
    shop: Shop, move: Literal["pending", "canceled"]
) -> None:
    session = limited(shop).session
    shop.moves(move)
    before = len(shop.history().events)
    facts = shop.go(session).facts
    assert facts.outcome == Outcome.MOVED
    assert len(shop.history().events) == before
    assert len(facts.parts) == 1


def test_one_whose_lease_was_given_away_ends_as_late(shop: Shop) -> None:
    session = limited(shop).session
    moved = shop.colony.move(
        SHOP, "open", key="x", text=f"colony-lease-expired: {session} · host h"
    )
    assert isinstance(moved, Written)
    assert shop.go(session).facts.outcome == Outcome.LATE


# --- a person asks -----------------------------------------------------------------------------


@dataclass
class Order:
    """An order that waits for the session's process."""

    wish: Asked | None = None
    handled: list[str] = field(default_factory=list)

    def of(self, session: str) -> Asked | None:
        return self.wish

    def done(self, session: str, asked: Asked) -> None:
        self.handled.append(session)
        self.wish = None


def go(shop: Shop, session: str, order: Order) -> Ended:
    bench = replace(shop.bench(shop.folder_of(session)), orders=order)
    made, step = work.run(bench, shop.facts(session))
    return ended(made.facts, step, "work")


def test_asked_to_stop_it_gives_the_ticket_back(shop: Shop) -> None:
    session = limited(shop).session
    order = Order("stop")
    told = go(shop, session, order)
    assert (told.facts.outcome, shop.state, order.handled) == (
        Outcome.GIVEN_BACK, "open", [session],
    )  # fmt: skip
    back = lines(shop)[-1]
    assert isinstance(back, Run)
    assert (back.how, back.reason) == ("given back", "stopped")


def test_asked_to_park_it_waits_until_it_is_asked_to_go_on(shop: Shop) -> None:
    shop.play(work=[{"hang": True}], resume=worker())
    session = shop.new().session
    order = Order()

    def saved(moment: str) -> None:
        parts = shop.facts(session).parts
        if moment == "after" and parts and parts[-1].process and not order.handled:
            order.wish = "park"

    bench = replace(shop.bench(shop.folder_of(session), saved=saved), orders=order)
    made, step = work.run(bench, shop.facts(session))
    assert ended(made.facts, step, "work").line.kind == "parked"
    facts = shop.facts(session)
    assert facts.parked is not None
    assert (facts.parked.reason, facts.parked.told, facts.asked) == ("asked", True, None)
    shop.time.pass_by(30 * 24 * 3600)
    assert shop.go(session).line.kind == "parked", "it waits for a person"
    made, step = work.go_on(shop.bench(shop.folder_of(session)), shop.facts(session), post=True)
    assert made.facts.outcome == Outcome.POSTED


def test_the_signal_that_comes_with_an_order_is_no_stop_of_its_own(shop: Shop) -> None:
    """It may come as late as the moment before the order is taken away."""
    session = limited(shop).session

    class Late(Order):
        def done(self, session: str, asked: Asked) -> None:
            shop.waits.count += 1
            super().done(session, asked)

    order = Late("stop")
    assert go(shop, session, order).facts.outcome == Outcome.GIVEN_BACK
    assert (shop.state, order.handled) == ("open", [session])


def test_an_order_before_the_take_waits_for_it(shop: Shop) -> None:
    shop.play(work=worker())
    order = Order("stop")
    told = go(shop, shop.new().session, order)
    assert (told.facts.outcome, told.facts.parts) == (Outcome.GIVEN_BACK, ())
    assert shop.state == "open"
    assert order.handled


def test_a_second_stop_ends_it_at_once_and_keeps_what_is_there(shop: Shop) -> None:
    shop.play(work=[{"hang": True}], resume=worker())
    session = shop.new().session

    def saved(moment: str) -> None:
        parts = shop.facts(session).parts
        if moment == "after" and parts and parts[-1].process:
            shop.waits.count = 2

    with pytest.raises(Interrupted) as stopped:
        shop.go(session, saved=saved)
    assert stopped.value.exit_code == 128 + 15
    shop.waits.count = 0
    facts = shop.facts(session)
    assert (facts.parked, facts.parts[-1].ended) == (None, Ending.STOPPED)
    assert shop.go(session).facts.outcome == Outcome.POSTED


def test_a_stop_while_it_is_told_is_over_within_a_second(shop: Shop) -> None:
    """The tracker hangs: the pause is on disk, nobody waits for it."""
    shop.play(work=[{"hang": True}], resume=worker())
    session = shop.new().session

    def away(moment: Moment, call: Call) -> None:
        if call.name == "comment":
            raise NoAnswer("away")

    def saved(moment: str) -> None:
        parts = shop.facts(session).parts
        if moment == "after" and parts and parts[-1].process:
            shop.waits.count = 1

    facts = shop.go(session, away, saved).facts
    assert facts.parked is not None
    assert (facts.parked.reason, facts.parked.told) == ("stop", False)
    shop.waits.count = 0
    assert shop.go(session).facts.outcome == Outcome.POSTED
    assert sum(isinstance(each, Parked) for each in lines(shop)) == 1, "told before it goes on"


def test_what_dies_without_a_part_is_not_taken_up_for_ever(shop: Shop) -> None:
    """F9: a death while nothing runs is counted before the next try."""
    session = shop.new(crash_resumes=2).session

    def dies(moment: str) -> None:
        if moment == "after" and shop.facts(session).lease is not None:
            raise Crash

    with pytest.raises(Crash):
        shop.go(session, saved=dies)
    for death in (1, 2):
        with pytest.raises(Crash):
            work.go_on(
                shop.bench(shop.folder_of(session), saved=dies), shop.facts(session), post=True
            )
        assert shop.facts(session).deaths == death
    made, _ = work.go_on(shop.bench(shop.folder_of(session)), shop.facts(session), post=True)
    assert (made.facts.outcome, shop.state) == (Outcome.GIVEN_BACK, "open")
    assert made.facts.parts == ()


class Hung:
    """A tracker that takes what it is told once `stopped`, and answers nothing."""

    def __init__(self, inner: Tracker, stopped: Callable[[], bool]) -> None:
        self._inner = inner
        self._stopped = stopped
        self.ends = threading.Event()

    def __getattr__(self, name: str) -> Any:
        there = getattr(self._inner, name)
        if name not in ("comment", "put_session", "put_tail"):
            return there

        def asked(*args: Any, **more: Any) -> Any:
            if self._stopped():
                self.ends.wait(30)
                raise NoAnswer("hangs")
            return there(*args, **more)

        return asked


def test_a_stop_is_not_held_up_by_a_tracker_that_hangs(shop: Shop) -> None:
    """Parked within 3 s: neither the pause nor the news of it is waited for."""
    shop.play(work=[{"hang": True}], resume=worker())
    session = shop.new().session
    hung = Hung(shop.colony, lambda: shop.waits.count > 0)
    stopped_s = 0.0

    def saved(moment: str) -> None:
        nonlocal stopped_s
        parts = shop.facts(session).parts
        if moment == "after" and parts and parts[-1].process and not shop.waits.count:
            shop.waits.count, stopped_s = 1, time.monotonic()

    try:
        told = shop.go_by(session, cast(Tracker, hung), saved)
        assert time.monotonic() - stopped_s < 3.0
    finally:
        hung.ends.set()
    assert told.line.kind == "parked"


def test_a_stop_before_it_goes_on_leaves_it_in_order(shop: Shop) -> None:
    """The tracker does not answer whose the ticket is, and a stop comes: no death is counted."""
    shop.play(work=[{"hang": True}], resume=worker())
    session = shop.new().session

    def saved(moment: str) -> None:
        parts = shop.facts(session).parts
        if moment == "after" and parts and parts[-1].process and not shop.waits.count:
            shop.waits.count = 1

    assert shop.go(session, saved=saved).line.kind == "parked"

    def away(moment: Moment, call: Call) -> None:
        if call.name == "ticket":
            raise NoAnswer("away")

    with pytest.raises(Stopped):
        shop.go(session, away)
    shop.waits.count = 0
    facts = shop.facts(session)
    assert (facts.left, facts.deaths, facts.outcome) == (True, 0, None)
    assert shop.go(session).facts.outcome == Outcome.POSTED
