"""What a service manager hears: real datagram sockets, and managers that are not there."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from colony.host.notify import SERVICE_ONLY, Notifier, notifier_of, without_service

PID = 4711


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    """An address as the environment names it, and the socket that listens there."""
    name = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(name if request.param == "path" else f"\0{name}")
        listener.setblocking(False)
        yield (name if request.param == "path" else f"@{name}"), listener


def heard(listener: socket.socket) -> list[str]:
    found = []
    while True:
        try:
            found.append(listener.recv(65536).decode())
        except BlockingIOError:
            return found


def test_each_word_is_one_datagram(manager: tuple[str, socket.socket]) -> None:
    address, listener = manager
    notifier = Notifier(address)
    notifier.ready()
    notifier.status("1 running\nREADY=0 \x1b[31m \ud800")
    notifier.status("x" * 5000)
    notifier.stopping()
    ready, status, long, stopping = heard(listener)
    assert (ready, stopping) == ("READY=1", "STOPPING=1")
    assert status == "STATUS=1 running READY=0 \\x1b[31m \\ud800", "a text forges no other word"
    assert len(long) < 600


def test_the_watchdog_hears_it_at_half_of_its_time(manager: tuple[str, socket.socket]) -> None:
    address, listener = manager
    environ = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "20000000", "WATCHDOG_PID": str(PID)}
    notifier = notifier_of(environ, PID)
    assert notifier.due_in(100.0) == 0.0
    for now_s, times in ((100.0, 1), (109.9, 0), (110.0, 1), (111.0, 0), (500.0, 1)):
        notifier.beat(now_s)
        assert heard(listener) == ["WATCHDOG=1"] * times
    assert notifier.due_in(504.0) == 6.0
    assert notifier.due_in(600.0) == 0.0


@pytest.mark.parametrize(
    ("environ", "every_s"),
    [
        ({"WATCHDOG_USEC": "3000000"}, 1.5),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(PID)}, 1.5),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(PID + 1)}, None),
        ({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "x"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "-5"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_whose_watchdog_it_is(environ: dict[str, str], every_s: float | None) -> None:
    notifier = notifier_of(environ, PID)
    assert notifier.every_s == every_s
    if every_s is None:
        assert notifier.due_in(5.0) is None


@pytest.mark.parametrize(
    "address", ["", "relative", "vsock:2:1", "/", "/nonexistent/socket", "@", "@" + "x" * 200,
                "/" + "x" * 200, "/a\0b"],
)  # fmt: skip
def test_a_manager_that_cannot_be_told_stops_nothing(address: str) -> None:
    notifier = Notifier(address, 1.0)
    notifier.ready()
    notifier.beat(1.0)
    notifier.stopping()


def test_a_manager_that_does_not_read_is_not_waited_for(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "full"))
        notifier = Notifier(str(tmp_path / "full"))
        sent = 20_000
        for number in range(sent):
            notifier.status(f"{number}" * 50)
        listener.setblocking(False)
        assert 0 < len(heard(listener)) < sent


def test_a_child_speaks_for_nobody() -> None:
    environ = dict.fromkeys(SERVICE_ONLY, "1") | {"PATH": os.defpath}
    assert without_service(environ) == {"PATH": os.defpath}
    assert {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} <= SERVICE_ONLY
