"""What listens on a session's ports: stopped when it is the part's, told in every case."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from colony.host.identity import identify
from colony.host.listeners import Listener, stop_listeners
from colony.host.ports import busy_ports
from tests.host.conftest import CLOCK, MARK

OURS, OTHER = f"test-{MARK}-ours", f"test-{MARK}-other"
LISTENS = """
import signal, socket, sys
if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
family = socket.AF_INET6 if "six" in sys.argv else socket.AF_INET
server = socket.socket(family)
server.bind(("::1" if "six" in sys.argv else "127.0.0.1", 0))
server.listen()
print(server.getsockname()[1], flush=True)
signal.pause()
"""

Listen = Callable[..., tuple["subprocess.Popen[str]", int]]


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Starts a listener; its process and port."""
    running: list[subprocess.Popen[str]] = []

    def started(session: str | None, *how: str) -> tuple[subprocess.Popen[str], int]:
        env = {"COLONY_SESSION": session} if session else {}
        process = subprocess.Popen(
            [sys.executable, "-c", LISTENS, MARK, *how], env=env, stdout=subprocess.PIPE, text=True
        )
        running.append(process)
        assert process.stdout
        return process, int(process.stdout.readline())

    yield started
    for process in running:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def stop(port: int, since_s: float = 0.0) -> tuple[Listener, ...]:
    return stop_listeners((port, port), since_s, OURS, CLOCK, grace_s=0.5)


@pytest.mark.parametrize("session", [OURS, None], ids=["ours", "nobodys"])
@pytest.mark.parametrize("how", ["four", "six"])
def test_a_listener_of_the_part_is_stopped(listen: Listen, session: str | None, how: str) -> None:
    before_ms = CLOCK.wall_ms()
    process, port = listen(session, how)
    (told,) = stop(port)
    assert (told.port, told.pid, told.outcome) == (port, process.pid, "TERM")
    assert told.command.startswith(f"{sys.executable} -c ")
    assert told.started_ms is not None
    assert before_ms - 50 < told.started_ms <= CLOCK.wall_ms()
    assert process.wait() == -15
    assert busy_ports((port, port)) == ()


def test_a_deaf_one_is_killed(listen: Listen) -> None:
    process, port = listen(OURS, "deaf")
    assert [each.outcome for each in stop(port)] == ["KILL"]
    assert process.wait() == -9


def test_one_that_was_there_before_the_part_is_left(listen: Listen) -> None:
    process, port = listen(None)
    started = identify(process.pid)
    assert started
    for since_s in (started.started_s, started.started_s - 0.03, CLOCK.boot_s()):
        (told,) = stop(port, since_s)
        assert (told.outcome, told.reason) == ("skipped", "was there before the part")
    assert process.poll() is None


def test_another_sessions_is_left(listen: Listen) -> None:
    process, port = listen(OTHER)
    (told,) = stop(port)
    assert (told.outcome, told.reason) == ("skipped", f"belongs to session {OTHER}")
    assert process.poll() is None


def test_one_that_colony_runs_under_is_left() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        (told,) = stop(server.getsockname()[1])
    assert (told.pid, told.outcome) == (os.getpid(), "skipped")


def test_a_port_outside_the_range_is_nobodys_business(listen: Listen) -> None:
    one, port = listen(OURS)
    other, _ = listen(OURS)
    assert [told.pid for told in stop(port)] == [one.pid]
    assert other.poll() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_another_users_is_left() -> None:
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    with subprocess.Popen(
        [*nobody, "/usr/bin/python3", "-c", LISTENS, MARK], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        (told,) = stop(int(process.stdout.readline()))
        assert (told.outcome, told.reason) == ("skipped", "another user's process")
        process.kill()


def test_busy_ports_are_found_by_binding_them(listen: Listen) -> None:
    _, four = listen(None)
    _, six = listen(None, "six")
    for port in (four, six):
        assert port in busy_ports((port - 1, port + 1))
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    assert busy_ports((free, free)) == ()
