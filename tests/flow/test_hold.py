"""Writing while the lease is ours, and keeping it: on a real tracker, with a clock by hand."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from shop import SHOP, TTL_MS, Shop

from colony.core.lease import Lease, lease_of
from colony.core.session import LeaseFacts
from colony.core.texts import lease as lease_texts
from colony.errors import Busy, ColonyError, NoAnswer, NotFound
from colony.flow.hold import LOOK_S, Holder, Keeper, Lost, Sent, guarded, patiently, renew
from colony.tracker.protocol import Conflict, Guard, Written
from tests.fakes.meddled import Call, Meddle, Meddled, Moment, at, deleted, lost, tracker_of

OURS = "s-20260131T1819-aaaaaa"
THEIRS = "s-20260131T1819-bbbbbb"
PATIENCE_S = 20.0


def lease(shop: Shop, session: str = OURS, ttl_ms: int = TTL_MS) -> LeaseFacts:
    """`shop#1` is taken by this session."""
    until_ms = shop.time.wall_ms() + ttl_ms
    text = lease_texts.started(session, "box1", until_ms)
    taken = shop.colony.move(SHOP, "progress", text=text, key=f"{session}:take")
    assert isinstance(taken, Written)
    return LeaseFacts(taken.event, until_ms)


def expire(shop: Shop, session: str = OURS) -> None:
    """Somebody gave the ticket back, as dead."""
    shop.colony.move(SHOP, "open", text=lease_texts.expired(session, "box1"), key=shop.key())


def desk_behind(shop: Shop, meddle: Meddle, ttl_ms: int = TTL_MS) -> tuple[Holder, Meddled]:
    door = Meddled(shop.colony, meddle)
    return shop.holder(OURS, tracker_of(door), ttl_ms), door


def note(holder: Holder, token: int, within_s: float = 30.0) -> Sent | Lost:
    def write(guard: Guard) -> Written | Conflict:
        return holder.tracker.comment(SHOP, "a note", key="note", guard=guard)

    return guarded(holder, write, token, within_s)


# --- guarded writes ----------------------------------------------------------------------------


def test_a_persons_comment_in_between_is_no_loss(shop: Shop) -> None:
    held = lease(shop)
    holder, door = desk_behind(shop, at("before", 1, lambda: shop.says("And paint it.")))
    sent = note(holder, held.token)
    assert isinstance(sent, Sent)
    assert [each.text for each in shop.history().events][-2:] == ["And paint it.", "a note"]
    assert len(door.writes) == 2
    assert sent.written.last_event == shop.history().ticket.last_event


@pytest.mark.parametrize("state", ["open", "pending", "review", "done", "canceled"])
def test_a_persons_move_in_between_is_a_loss_and_nothing_is_written(shop: Shop, state: str) -> None:
    held = lease(shop)
    holder, _ = desk_behind(shop, at("before", 1, lambda: shop.moves(state)))  # type: ignore[arg-type]
    said = note(holder, held.token)
    assert isinstance(said, Lost)
    assert said.standing == "moved"
    assert "a note" not in shop.told()
    assert shop.state == state


def test_a_ticket_that_another_session_took_is_lost_to_it(shop: Shop) -> None:
    """F25: fenced by the id of the event that took the lease."""
    held = lease(shop)
    expire(shop)
    lease(shop, THEIRS)
    said = note(shop.holder(OURS), held.token)
    assert isinstance(said, Lost)
    assert said.standing == "taken"
    assert "a note" not in shop.told()


def test_a_lease_that_expired_is_lost_even_while_nobody_took_it(shop: Shop) -> None:
    held = lease(shop)
    expire(shop)
    said = note(shop.holder(OURS), held.token)
    assert isinstance(said, Lost)
    assert said.standing == "taken"


def test_past_its_time_a_lease_is_still_ours_while_nobody_ended_it(shop: Shop) -> None:
    """F24: accepted, because whoever would expire it compares what it read."""
    held = lease(shop)
    shop.time.pass_by(TTL_MS / 1000 + 60)
    assert isinstance(note(shop.holder(OURS), held.token), Sent)


@pytest.mark.parametrize("moment", ["before", "after"])
def test_while_no_answer_comes_the_same_bytes_go_with_the_same_key(
    shop: Shop, moment: Moment
) -> None:
    """F37, F38: whether or not the write happened before its answer was lost."""
    held = lease(shop)

    def silent(when: Moment, call: Call) -> None:
        if call.writes and when == moment and call.number <= 4:
            raise NoAnswer("no answer")

    holder, door = desk_behind(shop, silent)
    assert isinstance(note(holder, held.token), Sent)
    assert len(door.writes) == 5
    assert {(each.key, each.args) for each in door.writes} == {("note", (SHOP, "a note"))}
    assert shop.told().count("a note") == 1


def test_patience_has_an_end_on_the_clock_that_counts_through_suspend(shop: Shop) -> None:
    asked: list[float] = []

    def ask() -> None:
        asked.append(shop.time.boot_s())
        raise NoAnswer("no answer")

    began = shop.time.boot_s()
    with pytest.raises(NoAnswer):
        patiently(shop.holder(OURS), ask, 30.0)
    gaps = [later - earlier for earlier, later in itertools.pairwise(asked)]
    assert asked[-1] - began <= 30.0
    assert [round(gap) for gap in gaps[1:5]] == [1, 2, 4, 8]


def test_what_may_have_happened_is_never_told_as_merely_busy(shop: Shop) -> None:
    """`Busy` would say that nothing was written."""
    answers: Iterator[ColonyError] = iter([NoAnswer("lost"), *[Busy("locked")] * 20])

    def ask() -> None:
        raise next(answers)

    with pytest.raises(NoAnswer):
        patiently(shop.holder(OURS), ask, 5.0)


def test_a_refusal_is_not_asked_again(shop: Shop) -> None:
    holder, door = desk_behind(shop, deleted(SHOP))
    with pytest.raises(NotFound):
        note(holder, 1)
    assert len(door.calls) == 1


# --- renewals ----------------------------------------------------------------------------------


def test_renewals_are_numbered_and_move_the_end(shop: Shop) -> None:
    held = lease(shop)
    holder, door = desk_behind(shop, lambda *_: None)
    for number in (1, 2, 3):
        shop.time.pass_by(3600)
        answer = renew(holder, held, 30.0)
        assert not isinstance(answer, Lost)
        held, _ = answer
        assert held.renewals == number
    assert [each.key for each in door.writes] == [f"{OURS}:renew:{k}" for k in (1, 2, 3)]
    found = lease_of(shop.history().events)
    assert isinstance(found, Lease)
    assert (found.until_ms, found.kind, found.token) == (held.until_ms, "renewed", held.token)


def test_a_renewal_whose_answer_never_came_is_counted_where_it_happened(shop: Shop) -> None:
    held = lease(shop)

    def silent(when: Moment, call: Call) -> None:
        if call.writes and when == "after":
            raise NoAnswer("no answer")

    holder, _ = desk_behind(shop, silent)
    with pytest.raises(NoAnswer):
        renew(holder, held, 5.0)
    answer = renew(shop.holder(OURS), held, 5.0)
    assert not isinstance(answer, Lost)
    assert answer[0].renewals == 2
    assert sum("renewed" in text for text in shop.told()) == 2


def test_trust_counts_from_sending_not_from_the_answer(shop: Shop) -> None:
    held = lease(shop)
    holder, _ = desk_behind(shop, at("after", 1, lambda: shop.time.pass_by(900)))
    before = shop.time.boot_s()
    answer = renew(holder, held, 30.0)
    assert not isinstance(answer, Lost)
    assert before <= answer[1] < before + 60


def test_a_repeated_renewal_is_trusted_from_its_first_sending(shop: Shop) -> None:
    """The tracker counts from when it got it, which may be the first time."""
    held = lease(shop)
    holder, _ = desk_behind(shop, lost())
    before = shop.time.boot_s()
    answer = renew(holder, held, 30.0)
    assert not isinstance(answer, Lost)
    assert answer[1] < before + 0.4


def test_the_trust_is_shorter_than_the_lease_by_the_margin(shop: Shop) -> None:
    assert shop.holder(OURS).trust_s == TTL_MS / 1000 * 0.9
    assert shop.holder(OURS, ttl_ms=100_000).trust_s == 70
    assert shop.holder(OURS, ttl_ms=40_000).trust_s == 20


# --- the keeper --------------------------------------------------------------------------------


@contextmanager
def kept(
    holder: Holder, held: LeaseFacts, heartbeat_ms: int = 10
) -> Iterator[tuple[Keeper, Woken]]:
    woken = Woken()
    keeper = Keeper(holder, held, holder.clock.boot_s() + holder.trust_s, heartbeat_ms, woken.wake)
    woken.keeper = keeper
    keeper.start()
    try:
        yield keeper, woken
    finally:
        keeper.stop()
        assert not [each for each in threading.enumerate() if each.name == "lease"]


class Woken:
    """Waits for what the keeper calls about."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.keeper: Keeper | None = None
        self.calls = 0

    def wake(self) -> None:
        with self._changed:
            self.calls += 1
            self._changed.notify_all()

    def until_renewed(self, times: int) -> None:
        keeper = self.keeper
        assert keeper
        with self._changed:
            assert self._changed.wait_for(lambda: keeper.lease.renewals >= times, PATIENCE_S)

    def until_over(self) -> None:
        keeper = self.keeper
        assert keeper
        with self._changed:
            assert self._changed.wait_for(keeper.over, PATIENCE_S)


def test_a_keeper_renews_again_and_again_and_ends_with_its_owner(shop: Shop) -> None:
    with kept(shop.holder(OURS), lease(shop)) as (keeper, woken):
        woken.until_renewed(3)
        assert not keeper.over()
    told = len(shop.told())
    assert [each.name for each in threading.enumerate() if each.name == "lease"] == []
    assert len(shop.told()) == told


def test_a_keeper_renews_at_the_latest_when_half_the_trust_is_left(shop: Shop) -> None:
    """Whatever heartbeat is set: here one of a day."""
    holder = shop.holder(OURS)
    with kept(holder, lease(shop), heartbeat_ms=86_400_000) as (_, woken):
        shop.time.pass_by(holder.trust_s / 2)
        woken.until_renewed(1)


@pytest.mark.parametrize("state", ["open", "pending", "done"])
def test_a_keeper_notices_a_persons_move(shop: Shop, state: str) -> None:
    with kept(shop.holder(OURS), lease(shop)) as (keeper, woken):
        shop.moves(state)  # type: ignore[arg-type]
        woken.until_over()
        assert keeper.lost == "moved"


def test_a_keeper_looks_once_a_minute_whatever_the_heartbeat(shop: Shop) -> None:
    """A person who takes a ticket back does not wait for the next renewal."""
    with kept(shop.holder(OURS), lease(shop), heartbeat_ms=3_600_000) as (keeper, woken):
        told = len(shop.told())
        shop.moves("open")
        shop.time.pass_by(LOOK_S)
        woken.until_over()
        assert keeper.lost == "moved"
    assert len(shop.told()) == told


def test_a_look_that_gets_no_answer_says_nothing(shop: Shop) -> None:
    held = lease(shop)
    looks = threading.Semaphore(0)

    def silent(when: Moment, call: Call) -> None:
        looks.release()
        raise NoAnswer("no answer")

    holder, _ = desk_behind(shop, silent)
    with kept(holder, held, heartbeat_ms=3_600_000) as (keeper, _):
        for _ in range(2):
            shop.time.pass_by(LOOK_S)
            assert looks.acquire(timeout=PATIENCE_S)
        assert not keeper.over()


def test_a_keeper_notices_that_another_session_took_the_ticket(shop: Shop) -> None:
    with kept(shop.holder(OURS), lease(shop), heartbeat_ms=3_600_000) as (keeper, woken):
        expire(shop)
        lease(shop, THEIRS)
        shop.time.pass_by(3600)
        woken.until_over()
        assert keeper.lost == "taken"


def test_a_keeper_notices_a_ticket_that_is_gone(shop: Shop) -> None:
    held = lease(shop)
    holder, _ = desk_behind(shop, deleted(SHOP))
    with kept(holder, held) as (keeper, woken):
        woken.until_over()
        assert keeper.lost is not None


def test_trust_is_over_by_the_clock_alone_without_any_thread(shop: Shop) -> None:
    """The machine slept: no thread ran, and the lease is not ours to rely on any more."""
    holder = shop.holder(OURS)
    keeper = Keeper(holder, lease(shop), shop.time.boot_s() + holder.trust_s, 1000, lambda: None)
    assert not keeper.over()
    shop.time.pass_by(holder.trust_s - 60)
    assert not keeper.over()
    shop.time.pass_by(61)
    assert keeper.over()
    assert keeper.lost is None


def test_a_keeper_that_gets_no_answer_gives_up_when_the_trust_is_over(shop: Shop) -> None:
    held = lease(shop)

    def silent(when: Moment, call: Call) -> None:
        shop.time.pass_by(600)
        raise NoAnswer("no answer")

    holder, _ = desk_behind(shop, silent)
    with kept(holder, held) as (keeper, woken):
        woken.until_over()
        assert keeper.lost is None


def test_stopping_a_keeper_sends_nothing_more_while_the_tracker_is_silent(shop: Shop) -> None:
    held = lease(shop)
    asked = threading.Semaphore(0)

    def silent(when: Moment, call: Call) -> None:
        asked.release()
        raise NoAnswer("no answer")

    holder, door = desk_behind(shop, silent)
    with kept(holder, held) as (keeper, _):
        assert asked.acquire(timeout=PATIENCE_S)
        keeper.stop()
        assert len(door.calls) <= 2
