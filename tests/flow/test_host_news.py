"""News of a host: told after what the loop did, and never in its way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from colony.core.iteration import Iteration
from colony.core.records import HostRecord
from colony.errors import NoAnswer
from colony.flow.host_news import EVERY_S, STILL_S, HostNews, Teller
from colony.host.threads import SystemThreads, Thread
from colony.tracker.protocol import Tracker
from tests.fakes.gauges import PLENTY
from tests.fakes.pretended import HandClock

IDLE = Iteration(number=1, at_ms=1_800_000_000_000, running=1, parallel=2)


@dataclass
class Desk(SystemThreads):
    """A tracker that notes hosts; a thread is over when it was begun, unless it is to hang."""

    clock: HandClock = field(default_factory=HandClock)
    put: list[HostRecord] = field(default_factory=list)
    error: Exception | None = None
    waits: bool = True

    def put_host(self, record: HostRecord) -> None:
        if self.error is not None:
            raise self.error
        self.put.append(record)

    def begin(self, work: Callable[[], object], name: str) -> Thread:
        thread = super().begin(work, name)
        if self.waits:
            thread.join(10)
        return thread

    def news(self) -> HostNews:
        tracker: Tracker = self  # type: ignore[assignment]
        return HostNews(Teller("elm", tracker, self.clock, self, lambda: PLENTY.read({})))


def test_what_is_told() -> None:
    desk = Desk()
    desk.news().told(IDLE)
    [record] = desk.put
    assert (record.name, record.slots, record.running, record.quota) == ("elm", 2, 1, None)
    assert record.iteration == {
        "number": 1,
        "ms": IDLE.at_ms,
        "text": "1 2027-01-15 08:00 UTC · running 1/2 · nothing to start",
    }
    assert isinstance(record.memory, list)
    assert isinstance(record.disk, list)


def test_what_is_as_before_is_told_seldom_and_what_is_new_soon() -> None:
    desk = Desk()
    news = desk.news()
    for number in range(5):
        news.told(replace(IDLE, number=number))
        desk.clock.s += 60
    desk.clock.s += STILL_S - 300
    assert len(desk.put) == 1
    news.told(IDLE)
    assert len(desk.put) == 2
    desk.clock.s += EVERY_S - 1
    news.told(replace(IDLE, running=2))
    assert len(desk.put) == 2, "not twice within ten seconds"
    desk.clock.s += 1
    news.told(replace(IDLE, running=2))
    assert [each.running for each in desk.put] == [1, 1, 2]


def test_what_cannot_be_told_is_no_error_and_is_told_later() -> None:
    desk = Desk(error=NoAnswer("away"))
    news = desk.news()
    news.told(IDLE)
    desk.error = None
    desk.clock.s += EVERY_S
    news.told(IDLE)
    assert len(desk.put) == 1


def test_a_tracker_that_hangs_keeps_nobody_waiting() -> None:
    desk, free = Desk(waits=False), threading.Event()
    held = desk.put.append
    desk.put_host = lambda record: (free.wait(30), held(record))  # type: ignore[method-assign, assignment, func-returns-value]
    news = desk.news()
    news.told(IDLE)
    desk.clock.s += STILL_S
    news.told(IDLE)
    news.over(0)
    assert desk.put == []
    free.set()


def test_a_loop_that_ends_takes_no_more() -> None:
    desk = Desk()
    news = desk.news()
    news.over(0)
    assert desk.put == [], "it has not done anything"
    news.told(IDLE)
    news.over(1)
    assert [(each.slots, each.running) for each in desk.put] == [(2, 1), (0, 1)]
