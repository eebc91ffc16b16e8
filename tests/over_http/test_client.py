"""Requests, repetitions and errors of the HTTP client, against servers that say anything."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from colony.errors import (
    Busy,
    ColonyError,
    Forbidden,
    Invalid,
    NoAnswer,
    NotAccepted,
    NotFound,
    Refused,
    TooLarge,
    UsageProblem,
)
from colony.tracker.http.client import ANSWER_MAX, QUICK, Http, Patience, Surroundings
from tests.fakes.pretended import HandClock, HandToken, client_to
from tests.fakes.raw_server import Asked, Reply, answer, answering

OK = answer(200, {"fine": True})


def after(times: int, bad: bytes | None, good: bytes = OK) -> Reply:
    """`bad` that many times, then `good`."""
    return lambda asked: bad if asked.number <= times else good


def write(http: Http, *, repeatable: bool = True) -> object:
    return http.send("POST", "/api/x", {"text": "a"}, key="k1", repeatable=repeatable).value


def told(error: type[ColonyError], call: Callable[[], object]) -> str:
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    return caught.value.line


def test_a_request_says_who_asks_and_what() -> None:
    with answering(lambda _: OK) as server:
        http = client_to(server.url + "/below/")
        assert http.get("/api/tickets", {"project": "a b"}).value == {"fine": True}
        write(http)
    read, written = server.asked
    assert (read.method, read.target) == ("GET", "/below/api/tickets?project=a+b")
    assert read.token == "tkt_one"
    assert read.headers["user-agent"] == "colony/test"
    assert written.headers["idempotency-key"] == "k1"
    assert written.headers["content-type"] == "application/json"
    assert json.loads(written.body) == {"text": "a"}


def test_no_token_is_no_header() -> None:
    with answering(lambda _: OK) as server:
        client_to(server.url, token=HandToken(None)).get("/api/x")
    assert "authorization" not in server.asked[0].headers


HTML = answer(200, body=b"<html>Welcome to the hotel</html>", kind="text/html")
HALF = OK[:-3]
LONG = answer(200, {"fine": True}, content_length="9999").replace(b"content-length: 14\r\n", b"")
UNCLEAR = {
    "500": answer(500, {"error": "oops"}),
    "502 of a proxy": answer(502, body=b"<html>", kind="text/html"),
    "503 of a proxy": answer(503, body=b"<html>", kind="text/html"),
    "504": answer(504, {"error": "late"}),
    "a page": HTML,
    "half a body": HALF,
    "a length too long": LONG,
    "no body": answer(200, body=b""),
    "half of JSON": answer(200, body=b'{"fine": tr'),
    "not a number": answer(200, body=b'{"fine": NaN}'),
    "a number without end": answer(200, body=b'{"fine": ' + b"9" * 40 + b"}"),
    "too deep": answer(200, body=b"[" * 100_000),
    "not UTF-8": answer(200, body=b'{"fine": "\xff"}'),
    "null": answer(200, None),
    "a list": answer(200, [{"fine": True}]),
    "a text": answer(201, "fine"),
    "204": answer(204, body=b"", kind=""),
    "304 to what had no condition": answer(304, body=b"", kind=""),
    "no kind": answer(200, {"fine": True}, kind=""),
    "not packed as it says": answer(200, {"fine": True}, content_encoding="gzip"),
    "no HTTP": b"SSH-2.0-OpenSSH_9.2\r\n",
    "nothing": b"",
}


@pytest.mark.parametrize("bad", UNCLEAR.values(), ids=UNCLEAR)
def test_what_is_no_answer_is_asked_again_with_the_same_bytes(bad: bytes) -> None:
    """F37, F38, F40."""
    clock = HandClock()
    with answering(after(2, bad)) as server:
        assert write(client_to(server.url, clock)) == {"fine": True}
    first, *others = server.asked
    assert [(each.body, each.headers["idempotency-key"]) for each in others] == [
        (first.body, "k1")
    ] * 2
    assert clock.waited == [0.25, 0.5], "longer and longer"


@pytest.mark.parametrize("bad", UNCLEAR.values(), ids=UNCLEAR)
def test_it_never_counts_as_done_and_a_write_without_a_key_is_sent_once(bad: bytes) -> None:
    with answering(lambda _: bad) as server:
        line = told(NoAnswer, lambda: write(client_to(server.url), repeatable=False))
    assert line.startswith("POST /api/x: ")
    assert len(server.asked) == 1


@pytest.mark.parametrize("bad", ["null", "a list", "204", "304 to what had no condition"])
def test_what_came_is_named_where_no_object_did(bad: str) -> None:
    with answering(lambda _: UNCLEAR[bad]) as server:
        line = told(NoAnswer, lambda: client_to(server.url).get("/api/x"))
        assert len(server.asked) > 3
    came = {
        "null": "answered 200 with null, not an object",
        "a list": "answered 200 with a list, not an object",
        "204": "answered 204, which holds nothing",
    }
    assert line == f"GET /api/x: {came.get(bad, 'answered 304, which holds nothing')}"


def test_a_write_may_be_answered_with_nothing_where_nothing_is_due() -> None:
    for said in (UNCLEAR["204"], UNCLEAR["null"], UNCLEAR["a list"]):
        with answering(lambda _, now=said: now) as server:
            client_to(server.url).send("POST", "/api/x", {}, may_be_empty=True)


def test_the_tries_end_within_a_quarter_of_a_minute() -> None:
    clock = HandClock()
    with answering(lambda _: UNCLEAR["500"]) as server:
        told(NoAnswer, lambda: client_to(server.url, clock).get("/api/x"))
    assert 4 <= len(server.asked) <= 8
    assert 5 < sum(clock.waited) <= 15


def test_chance_spreads_the_tries() -> None:
    clock = HandClock()
    with answering(after(1, UNCLEAR["500"])) as server:
        http = client_to(server.url, clock)
        object.__setattr__(http._around, "chance", lambda: 0.0)
        http.get("/api/x")
    assert clock.waited == [0.125]


def test_nobody_there_is_no_answer_and_is_waited_for() -> None:
    """A server that is being restarted in the middle of a session."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    clock = HandClock()
    line = told(
        NoAnswer, lambda: write(client_to(f"http://127.0.0.1:{port}", clock), repeatable=False)
    )
    assert line.startswith(f"POST /api/x: http://127.0.0.1:{port} cannot be reached (")
    assert len(clock.waited) > 3, "it cannot have happened: also a write without a key goes on"


def test_a_server_that_says_nothing_is_given_up() -> None:
    """F49."""
    with answering(lambda _: None) as server:
        line = told(NoAnswer, lambda: write(client_to(server.url), repeatable=False))
    assert "took too long" in line


def test_busy_is_waited_for_as_long_as_it_asks() -> None:
    """F42."""
    busy = answer(429, {"error": "slower"}, retry_after="3")
    clock = HandClock()
    with answering(after(2, busy)) as server:
        assert write(client_to(server.url, clock), repeatable=False) == {"fine": True}
    assert clock.waited == [3, 3]


def test_but_not_without_end() -> None:
    busy = answer(429, {"error": "slower"}, retry_after="3600")
    clock = HandClock()
    with answering(lambda _: busy) as server:
        line = told(Busy, lambda: write(client_to(server.url, clock)))
    assert line == "POST /api/x: answered 429 (slower), asks to wait 3600 s"
    assert (len(server.asked), clock.waited) == (1, [])


def test_only_the_trackers_own_word_says_that_nothing_happened() -> None:
    own = answer(503, {"error": "the database is busy", "code": "busy"})
    with answering(lambda _: own) as server:
        told(Busy, lambda: write(client_to(server.url)))
    with answering(lambda asked: UNCLEAR["500"] if asked.number == 1 else own) as server:
        line = told(NoAnswer, lambda: write(client_to(server.url)))
    assert line == "POST /api/x: answered 500 (oops)"


REFUSALS = {
    400: Refused,
    403: Forbidden,
    404: NotFound,
    405: Refused,
    410: NotFound,
    413: TooLarge,
    422: Invalid,
}


@pytest.mark.parametrize(("status", "kind"), REFUSALS.items())
def test_a_refusal_is_the_servers_own_line(status: int, kind: type[ColonyError]) -> None:
    bad = answer(status, {"error": "no \x1b[31m such\nthing " + "x" * 1000, "code": "y"})
    with answering(lambda _: bad) as server:
        line = told(kind, lambda: client_to(server.url).get("/api/x", {"q": "private words"}))
    assert line.startswith("no \\x1b[31m such thing x")
    assert line.endswith(f"… ({status} to GET /api/x)")
    assert len(server.asked) == 1
    assert "private" not in line


@pytest.mark.parametrize("status", [403, 404, 410])
def test_another_programs_page_is_no_reason_to_think_that_a_ticket_is_gone(status: int) -> None:
    page = answer(status, body=b"<html>nginx</html>", kind="text/html")
    with answering(lambda _: page) as server:
        line = told(NoAnswer, lambda: client_to(server.url).get("/api/x"))
    assert line == f"GET /api/x: answered {status}: no tracker's answer"


def test_a_conflict_is_given_back() -> None:
    with answering(lambda _: answer(409, {"state": "open"})) as server:
        found = client_to(server.url).send("POST", "/api/x", {})
    assert (found.status, found.value) == (409, {"state": "open"})


def test_unchanged_is_an_answer_without_a_value() -> None:
    def reply(asked: Asked) -> bytes:
        if asked.headers.get("if-none-match") == '"7"':
            return answer(304, body=b"", kind="", etag='"7"')
        return answer(200, {"n": 7}, etag='"7"')

    with answering(reply) as server:
        http = client_to(server.url)
        first = http.get("/api/x")
        second = http.get("/api/x", etag=first.etag)
    assert (first.value, second.status, second.value) == ({"n": 7}, 304, None)


# --- the token -----------------------------------------------------------------------------------


def only(secret: str) -> Reply:
    return lambda asked: OK if asked.token == secret else answer(401, {"error": "who is that"})


def test_a_token_that_is_not_accepted_is_named_by_its_file() -> None:
    """F41."""
    with answering(only("tkt_two")) as server:
        line = told(NotAccepted, lambda: write(client_to(server.url)))
    assert "COLONY_TOKEN_FILE /etc/token" in line
    assert "tkt_" not in line
    assert len(server.asked) == 1, "asking again is no help"
    assert NotAccepted.exit_code == 4


def test_a_token_that_was_swapped_is_used_at_once() -> None:
    """F41."""
    with answering(only("tkt_two")) as server:
        http = client_to(server.url, token=HandToken(swapped="tkt_two"))
        assert write(http) == {"fine": True}
        assert write(http) == {"fine": True}
    assert [each.token for each in server.asked] == ["tkt_one", "tkt_two", "tkt_two"]


def test_where_there_is_no_token_it_says_so() -> None:
    with answering(only("tkt_two")) as server:
        line = told(NotAccepted, lambda: write(client_to(server.url, token=HandToken(None))))
    assert "wants a token, and there is none: COLONY_TOKEN_FILE" in line


# --- redirects -----------------------------------------------------------------------------------


def to(place: str, status: int = 302) -> bytes:
    return answer(status, body=b"", kind="", location=place)


def test_a_read_goes_along_within_the_same_server() -> None:
    with answering(lambda asked: to("/b?q=1", 301) if asked.number == 1 else OK) as server:
        assert client_to(server.url).get("/a", {"x": "y"}).value == {"fine": True}
    assert [each.target for each in server.asked] == ["/a?x=y", "/b?q=1"]


def test_but_not_without_end_and_a_write_not_at_all() -> None:
    with answering(lambda _: to("/b")) as server:
        told(NoAnswer, lambda: client_to(server.url).get("/a"))
        assert len(server.asked) == 4
        told(NoAnswer, lambda: write(client_to(server.url)))
        assert len(server.asked) == 5


def test_never_to_another_place() -> None:
    with (
        answering(lambda _: OK) as other,
        answering(lambda _: to(f"{other.url}/a?secret=1")) as server,
    ):
        line = told(NoAnswer, lambda: client_to(server.url).get("/a"))
        place = other.url
    assert line == (
        f"GET /a: answered 302 and points to {place}, which is not followed (COLONY_TICKETS_URL)"
    )
    assert other.asked == []


@pytest.mark.parametrize("place", ["https://127.0.0.1/a", "//["])
def test_nor_to_another_scheme_or_to_nowhere(place: str) -> None:
    with answering(lambda _: to(place)) as server:
        assert "not followed" in told(NoAnswer, lambda: client_to(server.url).get("/a"))


# --- what is in it -------------------------------------------------------------------------------


def test_an_answer_without_end_is_not_read_to_its_end() -> None:
    zeros = gzip.compress(b" " * (ANSWER_MAX + 1), compresslevel=1)
    big = answer(200, body=zeros, content_encoding="gzip")
    with answering(lambda _: big) as server:
        line = told(NoAnswer, lambda: client_to(server.url).get("/api/x"))
    assert line == "GET /api/x: an answer of more than 64 MiB"
    assert len(server.asked) == 1


def test_packed_answers_and_halves_of_characters_are_read() -> None:
    body = gzip.compress(b'{"a": "\\ud83d\\ude00 \\ud800", "b": 1}')
    with answering(lambda _: answer(200, body=body, content_encoding="gzip")) as server:
        assert client_to(server.url).get("/x").value == {"a": "\U0001f600 \ufffd", "b": 1}


def test_a_word_in_passing_is_sent_once() -> None:
    clock = HandClock()
    with answering(lambda _: UNCLEAR["500"]) as server:
        http = client_to(server.url, clock)
        told(NoAnswer, lambda: http.send("PUT", "/x", {}, repeatable=True, patience=QUICK))
    assert (len(server.asked), clock.waited) == (1, [])


# --- how long it waits ---------------------------------------------------------------------------


def test_ten_seconds_for_a_connection_and_thirty_for_an_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What each request is sent with, where nobody says another patience."""
    given: list[dict[str, float]] = []
    made = httpx.Client.build_request

    def noted(*args: Any, **more: Any) -> httpx.Request:
        request = made(*args, **more)
        given.append(request.extensions["timeout"])
        return request

    monkeypatch.setattr(httpx.Client, "build_request", noted)
    clock = HandClock()
    around = Surroundings(clock, lambda: 0.5, clock.pause)
    with answering(lambda _: OK) as server:
        opened = Http(server.url, token=HandToken(), user_agent="colony/test", around=around)
        opened.get("/x")
        opened.send("POST", "/x", {})
    assert len(given) == 2
    assert all((each["connect"], each["read"]) == (10.0, 30.0) for each in given)


def test_who_takes_a_request_and_never_answers_is_left_when_the_time_is_up() -> None:
    patience = Patience(connect_s=9.0, read_s=0.2, tries_s=0.0)
    with answering(lambda _: None) as server:
        line = told(NoAnswer, lambda: client_to(server.url, patience=patience).get("/x"))
        place = server.url
    assert line == f"GET /x: no whole answer of {place} (it took too long)"


# --- the address ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "ftp://a",
        "http://",
        "http://a:b@host",
        "http://h/?q",
        "http://h/#f",
        "http://h:x",
        "http://h:99999999",
        "http://\x00",
    ],
)
def test_an_address_that_cannot_be_used_is_refused(url: str) -> None:
    line = told(UsageProblem, lambda: client_to(url))
    assert "b@" not in line


def test_a_proxy_of_the_environment_never_gets_what_is_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with answering(lambda _: OK) as proxy, answering(lambda _: OK) as server:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        client_to(server.url).get("/x")
        assert (len(server.asked), len(proxy.asked)) == (1, 0)
        client_to("http://tracker.example").get("/x")
        assert [each.target for each in proxy.asked] == ["http://tracker.example/x"]


def test_a_proxy_that_cannot_be_used_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "gopher://nowhere")
    assert "proxy" in told(UsageProblem, lambda: client_to("http://tracker.example"))
