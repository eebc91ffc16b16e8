"""The quota call of the loop: never two, never waited for, ended at its time, and said once."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hall import Hall, readings

from colony.coding.protocol import Invocation
from colony.core.turn import QuotaAnswer
from colony.flow import meter as meters
from colony.flow.run import Loop
from colony.host.clock import SystemClock
from colony.host.errand import Errand
from colony.host.identity import pids

MARK = f"{72_000_000 + os.getpid()}"
"""Seconds that only a call of this test process sleeps."""


def calls() -> list[int]:
    """Processes of quota calls."""
    mark = MARK.encode()
    return [pid for pid in pids() if pid != os.getpid() and mark in _line(pid)]


def _line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def says(script: str) -> Invocation:
    return Invocation(("/bin/sh", "-c", script), {"PATH": "/usr/bin:/bin"})


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    """The account tells that it has room; the loop waits for real, since its call is real."""
    made = Hall(tmp_path, time=SystemClock())  # type: ignore[arg-type]
    made.account.answer = QuotaAnswer(readings(0.05, 0.41, resets_ms=made.time.wall_ms() + 10**7))
    made.account.call = says("echo told")
    with made.signals:
        yield made
        made.close()
    assert not calls()


def test_the_iteration_goes_on_when_the_quota_is_read(hall: Hall) -> None:
    hall.loop.iterate()
    assert hall.sessions.launched == []
    assert hall.lines == [], "it is said when it is over"
    hall.loop._rest(once=True)
    assert len(hall.sessions.launched) == 5
    [line] = hall.said("iter")
    assert line.startswith("1 ")
    assert "quota 5% of 5 h (resets " in line


def test_a_reading_serves_for_a_minute(hall: Hall, tmp_path: Path) -> None:
    count = tmp_path / "count"
    hall.account.call = says(f"echo . >> {count}; echo told")
    hall.loop.iterate()
    hall.loop._rest(once=True)
    for _ in range(3):
        hall.loop.iterate()
    assert count.read_text().count(".") == 1
    assert len(hall.said("iter")) == 4


def test_where_nothing_could_start_nobody_asks(hall: Hall, tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    hall.account.call = says(f"touch {asked}")
    hall.parallel = 0
    hall.loop = Loop(hall._bench(), hall.settings, hall.sessions)
    hall.loop.iterate()
    assert len(hall.said("iter")) == 1
    assert not asked.exists()
    assert hall.loop._meter.pidfds == ()


def test_while_it_runs_no_second_one_begins(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Errand] = []

    def counted(*given: Any) -> Errand:
        begun.append(Errand(*given))
        return begun[-1]

    monkeypatch.setattr(meters, "Errand", counted)
    hall.account.call = says(f"sleep {MARK}")
    for _ in range(3):
        hall.loop.iterate()
    hall.loop._meter.drop()
    assert len(begun) == 1
    assert hall.said("iter") == []
    assert hall.loop._meter.due_in(0.0) is None


def test_at_its_time_it_is_ended_and_the_quota_is_unknown(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meters, "PROBE_S", 0.2)
    hall.account.call = says(f"sleep {MARK}")
    hall.loop.iterate()
    hall.loop._rest(once=True)
    [line] = hall.said("iter")
    assert "quota: the quota is not known: the quota call took more than 0 s → no start" in line
    assert hall.sessions.launched == []
    assert not calls()


@pytest.mark.parametrize(
    ("call", "why", "waits"),
    [
        (says("echo no disk >&2; exit 1"), "it printed nothing: no disk", True),
        (Invocation(("claude-x",), {"PATH": "/bin"}), "claude-x: no such program", False),
    ],
)
def test_one_that_fails_is_said_with_its_reason_and_tried_again(
    hall: Hall, call: Invocation, why: str, waits: bool
) -> None:
    hall.account.call = call
    hall.loop.iterate()
    assert bool(hall.said("iter")) is not waits
    if waits:
        hall.loop._rest(once=True)
    assert f"the quota is not known: {why} → no start" in hall.said("iter")[0]
    assert hall.sessions.launched == []
    hall.account.call = says("echo told")
    hall.loop.iterate()
    hall.loop._rest(once=True)
    assert len(hall.sessions.launched) == 5, "at the next look"


def test_one_that_cost_money_is_said(hall: Hall) -> None:
    hall.account.answer = QuotaAnswer(hall.account.answer.readings, cost_usd=0.02)
    hall.loop.iterate()
    hall.loop._rest(once=True)
    assert hall.said("probe.cost") == ["$0.0200 — a look at the quota should cost nothing"]


def test_a_stop_ends_it(hall: Hall) -> None:
    hall.account.call = says(f"sleep {MARK}")
    os.kill(os.getpid(), signal.SIGTERM)
    hall.loop.run(once=False)
    assert hall.sessions.launched == []
    assert hall.lines[-1].kind == "run.stopped"


def test_a_stop_that_comes_while_it_runs_ends_it(hall: Hall) -> None:
    hall.account.call = says(f"kill -TERM {os.getpid()}; exec sleep {MARK}")
    hall.loop.iterate()
    assert hall.loop._meter.reading
    hall.loop._rest(once=False)
    assert not hall.loop._meter.reading, "at once, however long sessions take to finish"
    assert not calls()
    hall.loop.run(once=True)
    assert hall.sessions.launched == []
    assert hall.lines[-1].kind == "run.stopped"


def test_it_gets_nothing_of_colonys_own_environment(hall: Hall) -> None:
    own = "import os, sys; sys.exit(any(name.startswith('COLONY_') for name in os.environ))"
    own = f"import time; time.sleep(1); {own}"
    hall.account.call = Invocation((sys.executable, "-c", f"print(1); {own}"), {})
    settings = hall.settings
    settings.account.environ["COLONY_TOKEN_FILE"] = "x"  # type: ignore[index]
    hall.loop = Loop(hall._bench(), settings, hall.sessions)
    hall.loop.iterate()
    errand = hall.loop._meter._errand
    assert errand is not None
    environ = b""
    while not environ and errand._process.poll() is None:
        # It shows none for an instant, while it becomes the program.
        environ = Path(f"/proc/{errand._process.pid}/environ").read_bytes()
    hall.loop._rest(once=True)
    assert b"COLONY_" not in environ
    assert b"PATH=" in environ
