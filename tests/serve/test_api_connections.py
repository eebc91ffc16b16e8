"""Connections that bring no request, or half of one, and more of them than there is room for."""

from __future__ import annotations

import asyncio
import functools
import json
import socket
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from anyio.to_thread import current_default_thread_limiter

from colony.serve.connections import Limits
from tests.fakes.served import in_memory, loop, on_file, serving
from tests.serve.conftest import Api, Serve

SHORT = Limits(head_s=0.3, body_s=0.3)
HEALTH = b"GET /api/health HTTP/1.1\r\nHost: x\r\n\r\n"


def connected(api: Api) -> socket.socket:
    place = urlsplit(api.url)
    assert place.hostname
    assert place.port
    return socket.create_connection((place.hostname, place.port), 10)


def rest(connection: socket.socket) -> bytes:
    """All until the server closes; a time-out where it does not."""
    said = b""
    try:
        while part := connection.recv(65536):
            said += part
    except ConnectionResetError:
        pass
    return said


def healthy(connection: socket.socket) -> None:
    """One request, and its whole answer."""
    connection.sendall(HEALTH)
    said = b""
    while not said.endswith(b"}"):
        part = connection.recv(65536)
        assert part, said
        said += part
    assert said.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("sent", [b"", b"GET /api/hea", HEALTH[:-2]])
def test_a_head_that_does_not_come_whole_ends_the_connection(serve: Serve, sent: bytes) -> None:
    api = serve(limits=SHORT)
    with connected(api) as connection:
        connection.sendall(sent)
        assert rest(connection) == b""


def test_a_head_in_drips_ends_it_too(serve: Serve) -> None:
    api = serve(limits=SHORT)
    ended = False
    with connected(api) as connection:
        connection.sendall(b"GET /api/health HTTP/1.1\r\n")
        connection.settimeout(0.05)
        until = time.monotonic() + 10
        while not ended and time.monotonic() < until:
            try:
                connection.sendall(b"X: y\r\n")
                ended = connection.recv(100) == b""
            except TimeoutError:
                continue
            except OSError:
                ended = True
    assert ended


def test_half_a_second_head_on_a_kept_connection_ends_it(serve: Serve) -> None:
    api = serve(limits=SHORT)
    with connected(api) as connection:
        healthy(connection)
        connection.sendall(b"GET /api")
        assert rest(connection) == b""


def test_a_kept_connection_outlives_the_time_for_a_head(serve: Serve) -> None:
    api = serve(limits=SHORT)
    with connected(api) as connection:
        healthy(connection)
        connection.settimeout(1)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        healthy(connection)


def test_half_a_body_is_408(serve: Serve) -> None:
    api = serve(limits=SHORT)
    with connected(api) as connection:
        connection.sendall(
            b"POST /api/tickets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            + f"Authorization: Bearer {api.token('anna')}\r\n".encode()
            + b"Content-Length: 100\r\n\r\n{"
        )
        head, _, body = rest(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 ")
    assert json.loads(body)["code"] == "too_slow"
    assert api.store.bugs == []


def test_an_answer_may_take_longer_than_its_request(serve: Serve) -> None:
    """Waiting for events is the server's own time."""
    anna = serve(limits=SHORT).client("anna")
    last = anna.get("/api/events").json()["last"]
    told = anna.get("/api/events", params={"wait": 1, "after": last})
    assert (told.status_code, told.json()["events"]) == (200, [])


def test_silent_connections_make_room_for_requests(serve: Serve) -> None:
    api = serve(limits=Limits(open_max=5))
    silent = [connected(api) for _ in range(20)]
    with connected(api) as connection:
        healthy(connection)
    for each in silent[:10]:
        assert rest(each) == b""
    for each in silent:
        each.close()


def test_where_all_are_being_answered_the_newest_is_closed(serve: Serve) -> None:
    store = in_memory()
    api = serve(store, limits=Limits(open_max=3))
    secret = api.token("anna")
    asked = (
        f"GET /api/events?wait=60&after=99 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {secret}"
    )
    last = store.service.changes(0).last
    waiting = [connected(api) for _ in range(3)]
    for each in waiting:
        each.sendall(asked.replace("99", str(last)).encode() + b"\r\n\r\n")
    api.until_waiting(3)
    with connected(api) as newest:
        assert rest(newest) == b""
    assert api.desk.bell.waiting == 3
    for each in waiting:
        each.close()


def test_a_write_that_waits_when_the_server_stops_is_told(tmp_path: Path) -> None:
    store = on_file(tmp_path)
    headers = {"authorization": f"Bearer {store.token('anna', owner=True)}"}
    other = sqlite3.connect(tmp_path / "colony.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as pool:
        with serving(store) as url:
            post = functools.partial(httpx.post, headers=headers, timeout=30, trust_env=False)
            body = {"project": "shop", "subject": "x"}
            answer = pool.submit(post, f"{url}/api/tickets", json=body)
            for _ in range(3000):
                if httpx.get(f"{url}/api/health", trust_env=False).is_success and began():
                    break
        told = answer.result(30)
    other.execute("ROLLBACK")
    other.close()
    # Its thread goes on, and the write is kept after all.
    until = time.monotonic() + 20
    while not store.service.tickets() and time.monotonic() < until:
        time.sleep(0.01)
    assert store.service.tickets()
    store.close()
    assert (told.status_code, told.json()["code"]) == (503, "no_answer")
    assert told.headers["retry-after"] == "1"
    assert store.bugs == []


def began() -> bool:
    """Whether a request holds a thread of the server's pool."""

    async def busy() -> int:
        return int(current_default_thread_limiter().borrowed_tokens)

    return asyncio.run_coroutine_threadsafe(busy(), loop()).result(10) > 0


def test_who_hangs_up_waits_no_longer_and_waiting_is_limited(serve: Serve) -> None:
    store = in_memory()
    api = serve(store)
    anna = api.client("anna")
    last = anna.get("/api/events").json()["last"]
    asked = f"GET /api/events?wait=60&after={last} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
    with connected(api) as one, connected(api) as two:
        for each in (one, two):
            each.sendall(f"{asked}{api.token('anna')}\r\n\r\n".encode())
        api.until_waiting(2)
        api.desk.bell.most = 2
        full = anna.get("/api/events", params={"wait": 60, "after": last})
        assert (full.status_code, full.json()["code"]) == (503, "busy")
        assert full.headers["retry-after"] == "1"
        assert anna.get("/api/events", params={"after": last}).status_code == 200
    # Far less than the minute they asked for.
    api.until_waiting(0)
    assert store.bugs == []


def test_a_usual_client_is_none_of_this(serve: Serve) -> None:
    api = serve(limits=SHORT)
    assert httpx.get(f"{api.url}/api/health", trust_env=False).status_code == 200
