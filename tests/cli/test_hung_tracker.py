"""A tracker that hangs while everything is to be stopped: the server's process stands still."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.looping import Gate, carriers, loop, session_processes, until
from tests.cli.stage import CART, Stage, a_cart
from tests.cli.test_serve_verb import Running, started
from tests.fakes.served import store_at

SOON_S = 5.0
"""Parked within 3 s, and a machine that has much else to do. One try of the tracker takes as
long."""


@dataclass
class Remote:
    stage: Stage
    gate: Gate
    server: Running

    def hang(self) -> None:
        self.server.process.send_signal(signal.SIGSTOP)

    def goes_on(self) -> None:
        self.server.process.send_signal(signal.SIGCONT)


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[Remote]:
    stage, gate = a_cart(tmp_path), Gate(tmp_path)
    gate.script(stage)
    with ExitStack() as stack:
        server = stack.enter_context(started(stage))
        store = store_at(f"sqlite:///{stage.database}", lambda: time.time_ns() // 10**6)
        token = stage.home / "token"
        token.write_text(store.token("colony", machine=True))
        token.chmod(0o600)
        store.close()
        stage.environ |= {"COLONY_TICKETS_URL": server.url, "COLONY_TOKEN_FILE": str(token)}
        yield Remote(stage, gate, server)


def test_a_session_parks_in_time_and_goes_on_later(remote: Remote) -> None:
    stage = remote.stage
    with loop(stage) as running:
        remote.gate.reached()
        remote.hang()
        stopped_s = time.monotonic()
        # The loop may be waiting for the tracker itself: it says nothing, and hears all the same.
        # Two signals of one kind could become one.
        running.send(signal.SIGTERM)
        running.send(signal.SIGINT)
        until(lambda: not session_processes(stage))
        assert time.monotonic() - stopped_s < SOON_S
        assert not carriers(stage)
        [park] = stage.record()["parks"]
        assert (park["reason"], park["told"]) == ("stop", False)
        remote.goes_on()
        assert running.ends() == 0
    remote.gate.open()
    assert stage("run", "--once").code == 0
    assert stage.row(CART).state == "review"
    assert stage.texts(CART).count("colony-report:") == 1
