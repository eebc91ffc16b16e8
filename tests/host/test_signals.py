"""Signals that a loop looks at, and one wait over time, wake-ups and processes."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from colony.host.signals import LoopSignals, StopSignals
from tests.host.conftest import CLOCK, MARK

LONG_S = 20.0


@pytest.fixture
def signals() -> Iterator[LoopSignals]:
    with LoopSignals() as made:
        yield made


@contextlib.contextmanager
def sleeper() -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    with subprocess.Popen(["sleep", MARK]) as process:
        pidfd = os.pidfd_open(process.pid)
        try:
            yield process, pidfd
        finally:
            process.kill()
            os.close(pidfd)


def took_s(signals: LoopSignals, seconds: float, *pidfds: int) -> tuple[float, frozenset[int]]:
    began_s = CLOCK.boot_s()
    ready = signals.wait_for(seconds, pidfds)
    return CLOCK.boot_s() - began_s, ready


def test_the_first_the_second_and_the_third_are_told_apart(signals: LoopSignals) -> None:
    seen = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
        os.kill(os.getpid(), number)
        seen.append(signals.count)
    assert seen == [1, 2, 3]
    assert signals.first == signal.SIGTERM
    assert not signals.take_read_again()


def test_hangup_is_no_stop_and_is_told_once(signals: LoopSignals) -> None:
    os.kill(os.getpid(), signal.SIGHUP)
    spent_s, ready = took_s(signals, LONG_S)
    assert (signals.count, signals.first, ready) == (0, None, frozenset())
    assert spent_s < LONG_S / 2, "it wakes whoever waits"
    assert signals.take_read_again()
    assert not signals.take_read_again()


def test_to_one_session_hangup_is_a_stop() -> None:
    with StopSignals() as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        assert (stop.count, stop.first) == (1, signal.SIGHUP)


def test_handlers_are_as_before_afterwards() -> None:
    before = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
    with LoopSignals():
        assert signal.getsignal(signal.SIGHUP) not in before
    after = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
    assert before == after


def test_it_waits_as_long_as_it_is_told(signals: LoopSignals) -> None:
    spent_s, ready = took_s(signals, 0.05)
    assert spent_s >= 0.05
    assert not ready
    assert not signals.wait_for(-1, [])


def test_those_that_have_ended_are_named(signals: LoopSignals) -> None:
    with sleeper() as (_, living), sleeper() as (one, first), sleeper() as (two, second):
        one.kill()
        two.kill()
        one.wait()
        two.wait()
        spent_s, ready = took_s(signals, LONG_S, living, first, second)
        assert ready == {first, second}
        assert spent_s < LONG_S / 2


def test_a_process_that_ends_wakes(signals: LoopSignals) -> None:
    with sleeper() as (process, pidfd), sleeper() as (_, living):
        threading.Timer(0.05, process.kill).start()
        spent_s, ready = took_s(signals, LONG_S, living, pidfd)
        assert ready == {pidfd}
        assert spent_s < LONG_S / 2


@pytest.mark.parametrize("how", ["signal", "wake"])
def test_a_wake_up_ends_the_wait_and_is_forgotten(how: str, signals: LoopSignals) -> None:
    with sleeper() as (_, living):
        act = signals.wake if how == "wake" else lambda: os.kill(os.getpid(), signal.SIGTERM)
        threading.Timer(0.05, act).start()
        spent_s, ready = took_s(signals, LONG_S, living)
        assert spent_s < LONG_S / 2
        assert not ready
        spent_s, _ = took_s(signals, 0.05, living)
        assert spent_s >= 0.05, "once is enough"


def test_one_more_than_the_last_ends_a_loop_that_hangs() -> None:
    """A write to a pipe that nobody reads goes on after a handler has run."""
    program = (
        "import os, signal\n"
        "from colony.host.signals import LoopSignals\n"
        "with LoopSignals() as made:\n"
        "    made.on_stop = lambda count: os.write(2, b'%d\\n' % count)\n"
        "    os.write(2, b'up\\n')\n"
        "    while True:\n"
        "        os.write(1, bytes(2**16))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    ) as hung:
        assert hung.stderr is not None
        assert hung.stderr.readline() == b"up\n"
        for number in (1, 2, 3):
            hung.send_signal(signal.SIGTERM)
            assert hung.stderr.readline() == b"%d\n" % number
        # The third's handler may still run when this comes: then it is handled, not lost.
        until_ended(hung)
    assert hung.returncode == -signal.SIGTERM


def until_ended(process: subprocess.Popen[bytes]) -> None:
    deadline_s = CLOCK.boot_s() + LONG_S
    while process.poll() is None:
        process.send_signal(signal.SIGTERM)
        assert CLOCK.boot_s() < deadline_s
        select.select([], [], [], 0.05)
