"""A server that never stops sending: every try ends when its time is over."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from colony.errors import NoAnswer
from colony.host.clock import SystemClock
from colony.tracker.http.client import Http, Patience, Surroundings
from tests.fakes.pretended import HandToken
from tests.fakes.raw_server import answer, answering

ANSWER_S = 0.6
IN_TIME_S = 5.0
"""Far less than the drip goes on, far more than the try may take."""
DRIPS = {
    "in the first line": b"HTTP/1.1 200 ",
    "in the head": b"HTTP/1.1 200 OK\r\nx-a: ",
    "in the body": b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n[",
    "in a chunk": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffff\r\n",
    "without end before the head": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\nx: ",
}


@contextlib.contextmanager
def dripping(first: bytes) -> Iterator[str]:
    """`first`, and then a blank every 20 ms for as long as the other end listens."""
    over = threading.Event()

    def drip() -> None:
        with contextlib.suppress(OSError):
            while not over.is_set():
                connection, _ = server.accept()
                with connection, contextlib.suppress(OSError):
                    connection.recv(65536)
                    connection.sendall(first)
                    while not over.wait(0.02):
                        connection.sendall(b" ")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            over.set()
            server.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def client(url: str, patience: Patience) -> Http:
    around = Surroundings(SystemClock(), lambda: 0.5, time.sleep)
    return Http(url, token=HandToken(), user_agent="colony/test", around=around, patience=patience)


def given_up(call: object) -> tuple[str, float]:
    """The line, and the seconds it took; the test goes on where it never ends."""
    said: list[str] = []

    def run() -> None:
        assert callable(call)
        with pytest.raises(NoAnswer) as caught:
            call()
        said.append(caught.value.line)

    begun_s = time.monotonic()
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(IN_TIME_S)
    return "".join(said), time.monotonic() - begun_s


@pytest.mark.parametrize("first", DRIPS.values(), ids=DRIPS)
def test_a_server_that_drips_is_given_up(first: bytes) -> None:
    patience = Patience(connect_s=2.0, read_s=2.0, answer_s=ANSWER_S, tries_s=0.0)
    with dripping(first) as url:
        line, took_s = given_up(lambda: client(url, patience).get("/api/x"))
    assert line == f"GET /api/x: no whole answer of {url} (it took too long)"
    assert ANSWER_S <= took_s < IN_TIME_S


def test_also_where_the_request_has_a_patience_of_its_own() -> None:
    quick = Patience(connect_s=2.0, read_s=2.0, answer_s=ANSWER_S, tries_s=0.0)
    with dripping(DRIPS["in the head"]) as url:
        http = client(url, Patience())
        line, took_s = given_up(lambda: http.send("PUT", "/api/x", {}, patience=quick))
    assert "took too long" in line
    assert took_s < IN_TIME_S


def test_also_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    patience = Patience(connect_s=2.0, read_s=2.0, answer_s=ANSWER_S, tries_s=0.0)
    for address in ("http://tracker.example", "https://tracker.example"):
        with dripping(DRIPS["in the head"]) as url:
            for name in ("http_proxy", "https_proxy"):
                monkeypatch.setenv(name, url)
            line, took_s = given_up(lambda to=address: client(to, patience).get("/api/x"))
        assert "took too long" in line, address
        assert took_s < IN_TIME_S


def test_a_deadline_that_is_over_does_not_reach_the_next_request() -> None:
    patience = Patience(connect_s=2.0, read_s=0.3, answer_s=0.3, tries_s=0.0)
    fine = answer(200, {"fine": True})
    with answering(lambda asked: None if asked.number == 1 else fine) as server:
        http = client(server.url, patience)
        with pytest.raises(NoAnswer):
            http.get("/api/x")
        assert http.get("/api/x").value == {"fine": True}
