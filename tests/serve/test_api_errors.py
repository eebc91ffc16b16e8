"""What is refused, and how: one line and a code, never a stack, a path or a query."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from colony.errors import Damaged, Unreachable
from tests.fakes.served import on_file
from tests.serve.conftest import Api, Serve

ONE = "/api/tickets/shop/1"
JSON = {"content-type": "application/json"}


def refused(answer: httpx.Response, status: int) -> str:
    """The line of an answer that has nothing but a line and a code."""
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error", "code"}
    line: str = answer.json()["error"]
    assert "\n" not in line
    assert len(line) <= 300
    return line


DEEP = b'{"a":' * 40 + b"1" + b"}" * 40


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (b"", "the body: is empty, not JSON"),
        (b"{", "the body: is not JSON"),
        (b"subject=x", "the body: is not JSON"),
        (b'{"text":"a","text":"b"}', "the body: the key 'text' stands twice"),
        (b'{"text":NaN}', "the body: NaN is no JSON number"),
        (b'{"text":"\\ud800"}', "text: holds half a character"),
        (b'{"text":1e999}', "text: is not a finite number"),
        (b'{"text":1' + b"0" * 30 + b"}", "the body: a whole number has too many digits"),
        (DEEP, "the body: more than 32 lists and objects"),
        (b'{"text":"\xff"}', "the body: is not UTF-8 (byte 9)"),
    ],
)
def test_what_is_not_strict_json_is_400(shop: httpx.Client, body: bytes, line: str) -> None:
    got = shop.post(f"{ONE}/comments", content=body, headers=JSON)
    assert refused(got, 400).startswith(line)


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "json"])
def test_a_body_that_is_not_called_json_is_415(shop: httpx.Client, kind: str | None) -> None:
    headers = {"content-type": kind} if kind else {}
    got = shop.post(f"{ONE}/comments", content=b'{"text":"x"}', headers=headers)
    assert "Content-Type" in refused(got, 415)


def test_a_charset_does_no_harm(shop: httpx.Client) -> None:
    headers = {"content-type": "Application/JSON; charset=utf-8"}
    got = shop.post(f"{ONE}/comments", content='{"text":"grün"}'.encode(), headers=headers)
    assert got.json()["text"] == "grün"


SHAPES: list[tuple[str, str, object, str]] = [
    ("POST", f"{ONE}/comments", {}, "text: is missing"),
    ("POST", f"{ONE}/comments", {"text": 1}, "text: must be a text"),
    ("POST", f"{ONE}/comments", {"text": "x", "colour": 1}, "colour: is no known key"),
    ("POST", f"{ONE}/comments", ["x"], "the body: must be an object"),
    ("POST", f"{ONE}/comments", "x", "the body: must be an object"),
    ("POST", f"{ONE}/comments", None, "the body: must be an object"),
    ("POST", f"{ONE}/comments", {"text": " "}, "text: empty"),
    ("POST", f"{ONE}/comments", {"text": "x", "expectEvent": "1"}, "expectEvent: must be a whole"),
    ("POST", f"{ONE}/comments", {"text": "x", "expectEvent": 1.5}, "expectEvent: must be a whole"),
    ("POST", f"{ONE}/comments", {"text": "x", "expectEvent": True}, "expectEvent: must be a whole"),
    ("POST", f"{ONE}/comments", {"text": "x", "expectEvent": 2**53}, "expectEvent: must be less"),
    ("POST", f"{ONE}/comments", {"text": "x", "expect": "gone"}, "expect: must be 'open'"),
    ("POST", f"{ONE}/state", {"state": "gone"}, "state: must be 'open', 'progress'"),
    ("POST", f"{ONE}/blocked-by", {"project": "shop"}, "number: is missing"),
    ("POST", f"{ONE}/blocked-by", {"project": "shop", "number": 9}, "blocked-by: there is no"),
    ("POST", "/api/tickets", {"project": "Shop!", "subject": "x"}, "project: small letters"),
    ("POST", "/api/tickets", {"project": "shop", "subject": " \n"}, "subject: empty"),
    (
        "POST",
        "/api/tickets",
        {"project": "shop", "subject": "x", "parent": {"project": "shop"}},
        "parent.number: is missing",
    ),
    (
        "POST",
        "/api/tickets",
        {"project": "shop", "subject": "x", "source": "colony:7"},
        "source: what begins with colony",
    ),
    ("POST", "/api/projects", {"name": "x/y"}, "project: small letters"),
    ("POST", "/api/projects/shop/members", {"user": "b", "role": "boss"}, "role: must be 'admin'"),
    ("POST", "/api/projects/shop/members", {"user": "a\u202eb", "role": "use"}, "user: holds"),
    ("PUT", "/api/hosts/here", {"slots": 1, "running": -1}, "running: must be a count"),
    ("PUT", "/api/hosts/here", {"slots": 1, "running": 1, "host": "there"}, "host: is not the"),
]


@pytest.mark.parametrize(("method", "path", "body", "line"), SHAPES)
def test_a_value_that_cannot_be_used_is_422_with_its_place(
    shop: httpx.Client, api: Api, method: str, path: str, body: object, line: str
) -> None:
    asks = api.client("colony") if method == "PUT" else shop
    before = api.store.service.changes(0)
    got = asks.request(method, path, content=json.dumps(body), headers=JSON)
    assert refused(got, 422).startswith(line)
    assert api.store.service.changes(0) == before


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("/api/tickets?limit=0", "limit: must be greater than or equal to 1"),
        ("/api/tickets?limit=-1", "limit: must be greater"),
        ("/api/tickets?limit=10001", "limit: must be less"),
        ("/api/tickets?limit=9" + "9" * 5000, "limit: must be a whole number"),
        ("/api/tickets?limit=1_0", "limit: must be a whole number"),
        ("/api/tickets?limit=%2B1", "limit: must be a whole number"),
        ("/api/tickets?limit=%D9%A1", "limit: must be a whole number"),
        ("/api/tickets?since=yesterday", "since: must be a whole number"),
        ("/api/tickets?state=gone", "state[0]: is none of the words"),
        ("/api/tickets?state=open&state=", "state[1]: is none of the words"),
        ("/api/tickets?cursor=abc", "cursor: is none that this server gave"),
        ("/api/tickets?cursor=%00", "cursor: is none"),
        ("/api/tickets?events=maybe", "events: must be"),
        ("/api/events?wait=61", "wait: must be less"),
        ("/api/events?wait=-1", "wait: must be greater"),
        ("/api/events?after=x", "after: must be a whole number"),
        ("/api/sessions?number=1.0", "number: must be a whole number"),
        ("/api/tickets/shop/one", "number: must be a whole number"),
        ("/api/tickets/shop/99999999999999999999", "number: must be a whole number"),
    ],
)
def test_a_parameter_that_cannot_be_used_is_422(shop: httpx.Client, path: str, line: str) -> None:
    assert refused(shop.get(path), 422).startswith(line)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/api",
        "/api/",
        "/api/nothing",
        "/api/tickets/",
        "/api/tickets/shop",
        "/api/tickets/shop/3",
        "/api/tickets/shop/0",
        "/api/tickets/shop/-1",
        "/api/tickets/none/1",
        "/api/tickets/%00/1",
        "/api/tickets/..%2f..%2fetc/1",
        "/api/tickets?project=none",
        "/api/tickets?project=%00",
        "/api/projects/none",
        "/api/sessions/none",
        "/api/sessions/%00",
        "/docs/assets/nothing.js",
        "/docs/assets/..%2f..%2fcore.py",
        "/%ff%fe",
    ],
)
def test_what_is_not_there_is_404(shop: httpx.Client, path: str) -> None:
    line = refused(shop.get(path), 404)
    assert "/" not in line


def test_an_address_says_which_methods_it_takes(shop: httpx.Client) -> None:
    for method, path, takes in (
        ("DELETE", ONE, "GET, HEAD, PATCH"),
        ("PATCH", "/api/tickets", "GET, HEAD, POST"),
        ("GET", f"{ONE}/blocked-by", "DELETE, POST"),
        ("POST", "/api/sessions/s/tail", "GET, HEAD, PUT"),
        ("OPTIONS", "/api/events", "GET, HEAD"),
        ("BREW", "/api/me", "GET, HEAD"),
        ("POST", "/docs", "GET, HEAD"),
    ):
        got = shop.request(method, path)
        assert takes in refused(got, 405)
        assert got.headers["allow"] == takes


MIB = 1024 * 1024


def chunks(size: int) -> Iterator[bytes]:
    """A body that names no length."""
    for _ in range(size // 65536):
        yield b" " * 65536


@pytest.mark.parametrize("content", [lambda: b" " * (MIB + 1), lambda: chunks(2 * MIB)])
def test_a_body_above_one_mebibyte_is_413(shop: httpx.Client, content: Callable[[], Any]) -> None:
    got = shop.post(f"{ONE}/comments", content=content(), headers=JSON)
    assert refused(got, 413) == "the body: more than 1048576 bytes"
    fits = b'{"text":"x"}' + b" " * (MIB - 12)
    assert shop.post(f"{ONE}/comments", content=fits, headers=JSON).status_code == 201


def test_a_body_without_end_is_cut_off(api: Api, shop: httpx.Client) -> None:
    """The server stops reading, answers, and closes."""
    host, port = api.url.removeprefix("http://").split(":")
    head = (
        f"POST {ONE}/comments HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer "
        f"{api.token('anna')}\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(head.encode())
        sent = 0
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            while sent < 512 * MIB:
                connection.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
                sent += 65536
        assert sent < 64 * MIB


def test_a_text_above_the_stores_limits_is_413(shop: httpx.Client) -> None:
    for path, body, line in (
        (f"{ONE}/comments", {"text": "x" * (256 * 1024 + 1)}, "text: 262145 bytes"),
        ("/api/tickets", {"project": "shop", "subject": "x" * 301}, "subject: 301 characters"),
    ):
        assert refused(shop.post(path, json=body), 413).startswith(line)
    long = {"idempotency-key": "k" * 256}
    got = shop.post(f"{ONE}/comments", json={"text": "x"}, headers=long)
    assert refused(got, 413).startswith("Idempotency-Key: 256 characters")


def test_what_is_no_http_is_told_so(api: Api) -> None:
    host, port = api.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        said = b"".join(iter(lambda: connection.recv(4096), b""))
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["code"] == "not_http"


def test_a_busy_database_is_503_and_says_nothing_of_its_place(serve: Serve, tmp_path: Path) -> None:
    held, waits = on_file(tmp_path), on_file(tmp_path)
    waits.service._engine._timeout_s = 0.01  # type: ignore[attr-defined]
    api = serve(waits)
    client = api.client("anna")
    client.post("/api/tickets", json={"project": "shop", "subject": "x"})
    with held.service._engine.writing():
        got = client.post(f"{ONE}/comments", json={"text": "x"})
        assert "try again" in refused(got, 503)
        assert got.json()["code"] == "busy"
        assert got.headers["retry-after"] == "1"
        assert str(tmp_path) not in got.text
    assert client.post(f"{ONE}/comments", json={"text": "x"}).status_code == 201
    assert str(tmp_path) in str(waits.bugs[0])
    held.close()
    waits.close()


@pytest.mark.parametrize("error", [Unreachable, Damaged, ZeroDivisionError])
def test_what_the_operator_must_know_is_told_to_the_operator_only(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    api = serve()
    client = api.client("anna")

    def fails(*_: object) -> None:
        raise error("/secret/place")

    monkeypatch.setattr(api.store.service, "projects", fails)
    got = client.get("/api/projects") if error is not ZeroDivisionError else httpx.get(
        f"{api.url}/api/projects", headers=client.headers, trust_env=False
    )  # fmt: skip
    status = 500 if error is ZeroDivisionError else 503
    assert "secret" not in refused(got, status)
    # The answer is on its way before the server tells of what it met.
    until_s = time.monotonic() + 10
    while not api.store.bugs and time.monotonic() < until_s:
        assert client.get("/api/health").status_code == 200
    assert [type(each) for each in api.store.bugs] == [error]


def test_every_answer_has_the_servers_headers(api: Api, shop: httpx.Client) -> None:
    for path in ("/api/tickets", "/nothing", "/docs", "/openapi.json", "/api/health"):
        headers = shop.get(path).headers
        assert headers["server"] == "colony"
        assert headers["date"] == "Tue, 14 Nov 2023 22:13:20 GMT"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers.get_list("date") == [headers["date"]]
    api.store.clock.ms += 61_999  # type: ignore[attr-defined]
    assert shop.get("/api/me").headers["date"] == "Tue, 14 Nov 2023 22:14:21 GMT"
    assert "max-age" in shop.get("/docs/assets/swagger-ui.css").headers["cache-control"]
