"""What a session tells of itself: its row and its tail, and that telling them keeps nothing up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest
from shop import NOTE, SHOP, TTL_MS, Judged, Shop, verdict, worker

from colony.coding.stand_in.agent import StandIn
from colony.core.records import TAIL_MAX, SessionRecord
from colony.core.session import RESTS, LeaseFacts, Outcome
from colony.core.texts import lease as lease_texts
from colony.errors import Busy, ColonyError, NoAnswer, Refused
from colony.flow import news as news_module
from colony.flow.following import Follower, Tail
from colony.flow.hold import QUIET_S, Keeper
from colony.flow.news import EVERY_S, STILL_S, TRY_S, News
from colony.tracker.protocol import Tracker, Written
from tests.fakes.meddled import Crash

PATIENCE_S = 20.0
WAY = ["leased", "working", "reported", "judged", "posting", "ended"]


@dataclass
class Told:
    """A tracker that notes what it is told; `puts` may raise, or wait, before it is."""

    inner: Tracker
    puts: Callable[[SessionRecord], None] = lambda _: None
    asked: list[SessionRecord] = field(default_factory=list)
    tails: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def put_session(self, record: SessionRecord) -> None:
        self.asked.append(record)
        self.puts(record)
        self.inner.put_session(record)

    def put_tail(self, session: str, text: str) -> None:
        self.tails.append(text)
        self.inner.put_tail(session, text)

    @property
    def phases(self) -> list[str]:
        return [each.phase for each in self.asked]

    @property
    def tracker(self) -> Tracker:
        return cast(Tracker, self)


def raises(error: Exception) -> Callable[[SessionRecord], None]:
    def puts(_: SessionRecord) -> None:
        raise error

    return puts


@pytest.fixture
def hang(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A try that is waited for a moment only, and ends when the test does."""
    monkeypatch.setattr(news_module, "TRY_S", 0.05)
    released = threading.Event()
    yield released
    released.set()
    for each in threading.enumerate():
        if each.name == "news":
            each.join(PATIENCE_S)


# --- phases ------------------------------------------------------------------------------------


def test_each_change_of_phase_is_told_once(shop: Shop) -> None:
    told = Told(shop.colony)
    facts = shop.go_by(shop.new().session, told.tracker).facts
    assert told.phases == WAY
    assert [each.step for each in told.asked] == ["", "work", "", "", "", ""]
    last = shop.colony.session(facts.session)
    assert facts.lease is not None
    assert (last.ref, last.host, last.token) == (SHOP, "box1", facts.lease.token)
    assert (last.phase, last.outcome, last.ended_ms) == ("ended", "posted", facts.ended_ms)
    assert (last.account, last.cost_usd) == ("stand-in", facts.cost_usd)
    assert facts.cost_usd > 0
    assert shop.colony.sessions(running=True) == ()


def test_report_and_verdict_ride_along_once_they_are_valid(shop: Shop) -> None:
    told = Told(shop.colony)
    shop.go_by(shop.new().session, told.tracker)
    assert [each.report is not None for each in told.asked] == [False] * 2 + [True] * 4
    assert [each.verdict is not None for each in told.asked] == [False] * 3 + [True] * 3
    assert isinstance(told.asked[-1].report, dict)
    assert told.asked[-1].report["result"] == "The gate opens again."
    assert isinstance(told.asked[-1].verdict, dict)
    assert told.asked[-1].verdict["verdict"] == "pass"


def test_a_report_that_is_refused_does_not_ride_along(shop: Shop) -> None:
    shop.play(work=[{"exactly": {"result": "no more than this"}}])
    told = Told(shop.colony)
    shop.go_by(shop.new().session, told.tracker)
    assert told.phases == ["leased", "working", "posting", "ended"]
    assert {each.report for each in told.asked} == {None}


def test_a_report_too_large_for_a_row_stays_behind_and_the_row_does_not(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(news_module, "RECORD_MAX", 100)
    session = shop.work().facts.session
    assert shop.colony.session(session).phase == "ended"
    assert shop.colony.session(session).report is None


def test_without_leave_to_post_it_is_told_too(shop: Shop) -> None:
    before = len(shop.history().events)
    session = shop.work(post=False).facts.session
    row = shop.colony.session(session)
    assert (row.phase, row.report is not None, row.ended_ms) == ("judged", True, None)
    assert row.step == RESTS
    assert len(shop.history().events) == before + 1, "the lease, and nothing more"


def test_a_session_that_never_held_its_ticket_is_not_told_of(shop: Shop) -> None:
    shop.moves("pending")
    with pytest.raises(Refused):
        shop.work()
    assert shop.colony.sessions() == ()


def test_a_session_that_is_taken_up_again_tells_again(judged: Judged) -> None:
    shop = judged.again()
    told = Told(shop.colony)
    with pytest.raises(Crash):
        shop.go_by(judged.session, told.tracker, crash_at(2))
    assert told.phases == ["judged"]
    shop.go_by(judged.session, told.tracker)
    assert told.phases[1:] == ["judged", "posting", "ended"]
    assert shop.colony.session(judged.session).phase == "ended"


def crash_at(number: int) -> Callable[[str], None]:
    """The process dies before its commit of this number."""
    commits: list[str] = []

    def saved(moment: str) -> None:
        if moment == "before":
            commits.append(moment)
            if len(commits) == number:
                raise Crash

    return saved


# --- what cannot be told -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [NoAnswer("silent"), Busy("locked"), Refused("no"), ValueError("a bug")], ids=repr
)
def test_what_cannot_be_told_is_no_error_and_is_not_told_again(
    shop: Shop, error: Exception
) -> None:
    told = Told(shop.colony, raises(error))
    ended = shop.go_by(shop.new().session, told.tracker)
    assert (ended.facts.outcome, shop.state) == (Outcome.POSTED, "review")
    assert told.phases == WAY
    assert told.tails == []
    assert shop.colony.sessions() == ()


def test_a_tracker_that_never_answers_news_is_asked_once(shop: Shop, hang: threading.Event) -> None:
    told = Told(shop.colony, lambda _: cast(None, hang.wait(PATIENCE_S)))
    ended = shop.go_by(shop.new().session, told.tracker)
    assert (ended.facts.outcome, shop.state) == (Outcome.POSTED, "review")
    assert told.phases == ["leased"], "what hangs is not asked for more"


def test_who_is_being_stopped_hardly_waits_for_news(
    shop: Shop, hang: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What hangs here would be waited for as long as a try may take."""
    monkeypatch.setattr(news_module, "TRY_S", TRY_S)
    shop.play(work=[{"hang": True}])
    stopped_s: list[float] = []

    def puts(_: SessionRecord) -> None:
        if shop.waits.count:
            hang.wait(PATIENCE_S)

    def saved(moment: str) -> None:
        parts = shop.facts(session).parts
        if moment == "after" and parts and parts[-1].process and not stopped_s:
            shop.waits.count = 1
            stopped_s.append(time.monotonic())

    session = shop.new().session
    told = Told(shop.colony, puts)
    ended = shop.go_by(session, told.tracker, saved)
    assert time.monotonic() - stopped_s[0] < TRY_S
    assert ended.line.kind == "parked"
    assert told.phases[-1] == "parked"


# --- while a part runs -------------------------------------------------------------------------


def lease(shop: Shop, session: str) -> LeaseFacts:
    until_ms = shop.time.wall_ms() + TTL_MS
    text = lease_texts.started(session, "box1", until_ms)
    taken = shop.colony.move(SHOP, "progress", text=text, key=f"{session}:take")
    assert isinstance(taken, Written)
    return LeaseFacts(taken.event, until_ms)


def test_a_running_part_tells_its_last_call_and_its_tail_without_secrets(
    shop: Shop, tmp_path: Path
) -> None:
    shop.secrets["DOOR"] = "sesame-street"
    gate = tmp_path / "gate"
    shop.play(
        work=[
            NOTE,
            {"say": "I look at sesame-street."},
            {"run": f"test -p {gate} || mkfifo {gate}; echo sesame-street; : <{gate}"},
            *worker()[1:],
        ],
        check=verdict(),
    )
    seen: list[SessionRecord] = []

    def puts(record: SessionRecord) -> None:
        if record.last_tool.startswith("Bash test"):
            seen.append(record)
            gate.open("w").close()
        elif record.phase == "working":
            shop.time.pass_by(EVERY_S)

    told = Told(shop.colony, puts)
    session = shop.new().session
    assert shop.go_by(session, told.tracker).facts.outcome == Outcome.POSTED
    assert (seen[0].phase, seen[0].step) == ("working", "work")
    tail = shop.colony.tail(session).splitlines()
    assert tail[0] == "— work begins —"
    assert "Bash echo a note" in tail
    assert "I look at [DOOR]." in tail
    assert "— check begins —" in tail
    assert "sesame-street" not in str(told.asked) + str(told.tails) + str(shop.doings)


def test_at_most_one_try_in_ten_seconds_and_only_where_something_is_new(shop: Shop) -> None:
    told = Told(shop.colony)
    session, facts, follower = running(shop, told)
    news = News(shop.bench(shop.folder_of(session), told.tracker))
    news.changed(facts)
    shop.time.pass_by(EVERY_S - 1)
    tell(news, facts, follower)
    assert len(told.asked) == 1, "too early"
    shop.time.pass_by(1)
    follower.last_call = "Bash ls"
    tell(news, facts, follower)
    assert [each.last_tool for each in told.asked] == ["", "Bash ls"]
    tell(news, facts, follower)
    shop.time.pass_by(EVERY_S)
    tell(news, facts, follower)
    assert len(told.asked) == 2, "nothing new"
    assert len(told.tails) == 1, "nor is the tail"
    shop.time.pass_by(STILL_S - EVERY_S)
    tell(news, facts, follower)
    assert len(told.asked) == 3, "a sign of life"


def running(shop: Shop, told: Told) -> tuple[str, Any, Follower]:
    """A session that holds its ticket, as far as the facts go, and whoever follows its part."""
    facts = shop.new()
    facts = replace(facts, lease=lease(shop, facts.session))
    return facts.session, facts, Follower(StandIn(), shop.folder / "no-stream")


def tell(news: News, facts: Any, follower: Follower) -> None:
    news.looked(facts, follower)
    news.tell()
    for each in threading.enumerate():
        if each.name == "news":
            each.join(PATIENCE_S)


# --- beside renewals ---------------------------------------------------------------------------


@dataclass
class Kept:
    """A keeper, and how often it may tell."""

    shop: Shop
    tells: Callable[[], None]
    heartbeat_ms: int
    changed: threading.Condition = field(default_factory=threading.Condition)

    def __enter__(self) -> Keeper:
        holder = self.shop.holder("s-20260131T1819-aaaaaa")
        held = lease(self.shop, holder.session)
        trusted_s = holder.clock.boot_s() + holder.trust_s
        self.keeper = Keeper(holder, held, trusted_s, self.heartbeat_ms, self.wake, self.tells)
        self.keeper.start()
        return self.keeper

    def __exit__(self, *_: object) -> None:
        self.keeper.stop()

    def wake(self) -> None:
        with self.changed:
            self.changed.notify_all()

    def until_renewed(self, times: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.keeper.lease.renewals >= times, PATIENCE_S)


def test_nothing_is_told_when_a_renewal_is_near(shop: Shop) -> None:
    tells: list[float] = []
    kept = Kept(shop, lambda: tells.append(shop.time.boot_s()), round(QUIET_S * 1000))
    with kept:
        for times in (1, 2, 3):
            shop.time.pass_by(QUIET_S)
            kept.until_renewed(times)
    assert tells == []


def test_between_renewals_there_is_time_to_tell(shop: Shop) -> None:
    told = threading.Semaphore(0)
    with Kept(shop, told.release, round(QUIET_S * 2000)):
        assert told.acquire(timeout=PATIENCE_S)


def test_news_that_hang_delay_no_renewal_and_no_end(shop: Shop, hang: threading.Event) -> None:
    """The tracker takes comments, and never comes back from a row."""
    asked = threading.Semaphore(0)

    def puts(_: SessionRecord) -> None:
        asked.release()
        hang.wait(PATIENCE_S * 2)

    facts = shop.new(session="s-20260131T1819-aaaaaa")
    news = News(shop.bench(shop.folder_of(facts.session), Told(shop.colony, puts).tracker))
    follower = Follower(StandIn(), shop.folder / "no-stream")

    def tells() -> None:
        news.looked(facts, follower)
        news.tell()

    kept = Kept(shop, tells, 60_000)
    with kept as keeper:
        assert asked.acquire(timeout=PATIENCE_S)
        for times in (1, 2, 3):
            shop.time.pass_by(60)
            kept.until_renewed(times)
        assert not keeper.over()
    assert not asked.acquire(blocking=False), "one that hangs is enough"
    assert not hang.is_set()


# --- the tail ----------------------------------------------------------------------------------


def test_the_tail_keeps_the_end(tmp_path: Path) -> None:
    tail = Tail()
    for number in range(1000):
        tail.add(f"{number} " + "€" * 100)
    assert TAIL_MAX - 400 < len(tail.text.encode()) <= TAIL_MAX
    assert tail.text.endswith("999 " + "€" * 100 + "\n")
    assert not tail.text.startswith("0 ")


@pytest.mark.parametrize("error", [ColonyError("x"), Busy("x")])
def test_an_agent_that_cannot_be_had_any_more_keeps_no_news_back(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, error: ColonyError
) -> None:
    def gone(_: object) -> StandIn:
        raise error

    session, facts, _ = running(shop, Told(shop.colony))
    monkeypatch.setattr(shop, "agent", gone)
    News(shop.bench(shop.folder_of(session))).changed(facts)
    assert shop.colony.session(session).account == ""
