"""Whatever cannot be is answered in one line that names what and where, and nothing is written."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.serve.api_routes import (
    NAME,
    ONE,
    SESSION,
    TWO,
    WITH_BODY,
    WRITES,
    Raw,
    Route,
    Site,
    furnish,
    head,
    held,
    raw,
    site,
)

ROOT = Path(__file__).resolve().parents[2]
MARK = "c4n4ry"
"""Stands in what is sent: no answer may send it on."""


@pytest.fixture(scope="module")
def furnished() -> Iterator[Site]:
    with site() as served:
        furnish(served.store)
        for name in ("anna", "colony", "nora"):
            served.token(name)
        yield served


@pytest.fixture
def shop(furnished: Site) -> Iterator[Site]:
    """A furnished tracker; whatever a test asks, it is the same afterwards, and no bug is told."""
    before = held(furnished.store)
    yield furnished
    assert held(furnished.store) == before
    assert furnished.store.bugs == []


@pytest.fixture
def yard() -> Iterator[Site]:
    """A furnished tracker to write to."""
    with site() as served:
        furnish(served.store)
        yield served
        assert served.store.bugs == []


def who(route: Route) -> str:
    return "colony" if "owner" not in route.may else "anna"


def refused(answer: httpx.Response | Raw | None, *statuses: int) -> str:
    """The line of an answer in the one form of every error."""
    assert answer is not None, "no answer"
    status = answer.status_code if isinstance(answer, httpx.Response) else answer.status
    body = answer.content if isinstance(answer, httpx.Response) else answer.body
    assert status in statuses, (status, body[:300])
    assert answer.headers["content-type"].startswith("application/json")
    told = json.loads(body)
    assert {"error", "code"} <= set(told) <= {"error", "code", "state", "lastEvent", "lease"}
    line, code = told["error"], told["code"]
    assert re.fullmatch(r"[a-z_]{2,40}", code), code
    assert 0 < len(line) <= 400
    assert line.isprintable(), line
    said = body.decode()
    for never in ("Traceback", 'File "', "site-packages", ".py", str(ROOT), "/tmp", "sqlite",
                  "pydantic", "SELECT", MARK, "tkt_"):  # fmt: skip
        assert never not in said.replace("Bearer tkt_…", ""), never
    return str(line)


def send(
    shop: Site, route: Route, content: bytes, kind: str = "application/json"
) -> httpx.Response:
    answer = shop.client(who(route)).request(
        route.method, route.path, content=content, headers={"content-type": kind}
    )
    assert answer.status_code in shop.documented(route), (str(route), answer.status_code)
    return answer


# --- bodies that are no JSON ---------------------------------------------------------------

NO_JSON: dict[str, bytes] = {
    "nothing": b"",
    "blanks": b" \n\t ",
    "half an object": b'{"text": "x"',
    "half a text": b'{"text": "x',
    "two values": b'{"text": "x"} {"text": "y"}',
    "a word": b"hello",
    "single quotes": b"{'text': 'x'}",
    "a trailing comma": b'{"text": "x",}',
    "a comment": b'{"text": "x" /* y */}',
    "HTML": b"<!doctype html><title>x</title>",
    "a form": b"text=x&state=done",
    "zeros": b"\0\0\0\0",
    "a NUL in a text": b'{"text": "a\0b"}',
    "a line break in a text": b'{"text": "a\nb"}',
    "no UTF-8": b'{"text": "\xff\xfe"}',
    "overlong UTF-8": b'{"text": "\xc0\xaf"}',
    "a surrogate as UTF-8": b'{"text": "\xed\xa0\x80"}',
    "UTF-16": '{"text": "x"}'.encode("utf-16"),
    "zipped": gzip.compress(b'{"text": "x"}'),
    "NaN": b'{"text": "x", "expectEvent": NaN}',
    "endless": b'{"text": "x", "expectEvent": Infinity}',
    "minus endless": b'{"text": "x", "expectEvent": -Infinity}',
    "a number that grows endless": b'{"text": "x", "expectEvent": 1e999}',
    "too many digits": b'{"text": "x", "expectEvent": ' + b"9" * 5000 + b"}",
    "a leading zero": b'{"text": "x", "expectEvent": 01}',
    "a key twice": b'{"text": "x", "text": "y"}',
    "a key twice, spelled twice": b'{"text": "x", "te\\u0078t": "y"}',
    "a key twice, further in": b'{"text": "x", "a": [{"b": 1, "b": 1}]}',
    "half a character": b'{"text": "a\\ud800b"}',
    "the other half": b'{"text": "\\udfff"}',
    "halves in the wrong order": b'{"text": "\\udc00\\ud800"}',
    "half a character as a key": b'{"text": "x", "\\ud800": 1}',
    "lists without end": b"[" * 200_000,
    "deep lists": b'{"text": ' + b"[" * 5000 + b"]" * 5000 + b"}",
    "deep objects": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "33 levels": b'{"report": ' + b"[" * 33 + b"]" * 33 + b"}",
}


@pytest.mark.parametrize("content", NO_JSON.values(), ids=NO_JSON)
def test_what_is_no_json_is_refused(shop: Site, content: bytes) -> None:
    """By every route that takes a body: before anything looks at what it says."""
    for route in WITH_BODY:
        line = refused(send(shop, route, content), 400)
        assert re.match(r"[^ ].*: [a-zNI-]", line), line


def test_a_body_named_something_else_is_refused(shop: Site) -> None:
    for route in WITH_BODY:
        content = json.dumps(route.body).encode()
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
                     "application/jsonp", "text/json", "application", "/", "json",
                     "application/json-patch+json", "x" * 5000):  # fmt: skip
            assert "Content-Type" in refused(send(shop, route, content, kind), 415, 400)
        request = httpx.Request(route.method, f"{shop.url}{route.path}", content=content)
        request.headers.pop("content-type", None)
        answer = shop.client(who(route)).send(request)
        refused(answer, 415, 400, 401)


def test_a_zipped_body_is_not_unpacked(shop: Site) -> None:
    content = gzip.compress(b'{"text": "' + b"x" * 1000 + b'"}')
    answer = shop.client().post(
        f"{ONE}/comments",
        content=content,
        headers={"content-type": "application/json", "content-encoding": "gzip"},
    )
    refused(answer, 400, 415)


# --- shapes --------------------------------------------------------------------------------

NO_OBJECT = (b"[]", b'"x"', b"1", b"true", b"null", b'[{"text": "x"}]')


@pytest.mark.parametrize("content", NO_OBJECT, ids=lambda each: each.decode())
def test_a_body_is_an_object(shop: Site, content: bytes) -> None:
    for route in WITH_BODY:
        assert "body" in refused(send(shop, route, content), 422, 400)


@pytest.mark.parametrize("route", WITH_BODY, ids=str)
def test_each_key_that_is_missing_is_named(shop: Site, route: Route) -> None:
    assert route.body is not None
    for key in route.required:
        rest = {name: value for name, value in route.body.items() if name != key}
        line = refused(send(shop, route, json.dumps(rest).encode()), 422)
        assert line.startswith(f"{key}:"), line
    if route.required:
        line = refused(send(shop, route, b"{}"), 422)
        assert line.startswith(tuple(f"{key}:" for key in route.required))


@pytest.mark.parametrize("route", WITH_BODY, ids=str)
def test_a_key_that_nobody_knows_is_named(shop: Site, route: Route) -> None:
    for key in ("colour", "Text", "expect_event", "machine", "userId", "on_behalf"):
        body = json.dumps({**(route.body or {}), key: "x"}).encode()
        assert refused(send(shop, route, body), 422).startswith(f"{key}:")
    for key in ("", "\n\u202e\x1b[31m", "a.b[0]", "x" * 5000, "__proto__"):
        body = json.dumps({**(route.body or {}), key: "x"}).encode()
        refused(send(shop, route, body), 422)


WRONG: dict[str, list[Any]] = {
    "text": [1, 1.5, True, None, [], {}, ["x"]],
    "number": ["1", 1.5, True, [], {}, 10**17, -(10**17)],
}
NUMBERS = ("number", "slots", "running", "expectEvent", "onBehalf", "token", "startedMs", "endedMs")
TAKEN_NULL = ("expect", "expectEvent", "onBehalf", "token", "startedMs", "endedMs")


@pytest.mark.parametrize("route", WITH_BODY, ids=str)
def test_each_key_of_a_wrong_kind_is_named(shop: Site, route: Route) -> None:
    assert route.body is not None
    for key in route.body:
        for value in WRONG["number" if key in NUMBERS else "text"]:
            if value is None and route.method == "PATCH":
                continue
            body = json.dumps({**route.body, key: value}).encode()
            line = refused(send(shop, route, body), 422)
            assert line.startswith(f"{key}:"), (key, value, line)


CONDITIONS: tuple[tuple[str, Any], ...] = (
    ("expect", "closed"),
    ("expect", ""),
    ("expect", "OPEN"),
    ("expect", 1),
    ("expect", ["open"]),
    ("expectEvent", "1"),
    ("expectEvent", 1.0),
    ("expectEvent", 0.5),
    ("expectEvent", True),
    ("expectEvent", 2**53),
    ("expectEvent", -(2**59)),
)


@pytest.mark.parametrize(("key", "value"), CONDITIONS)
def test_conditions_that_cannot_be_are_named(shop: Site, key: str, value: object) -> None:
    for route in WITH_BODY:
        if route.template.startswith("/api/tickets/"):
            body = json.dumps({**(route.body or {}), key: value}).encode()
            assert refused(send(shop, route, body), 422).startswith(f"{key}:")


@pytest.mark.parametrize(
    ("state", "more"),
    [
        ("closed", {}), ("", {}), ("OPEN", {}), ("open ", {}), ("in progress", {}),
        ("done", {"onBehalf": "1"}), ("done", {"onBehalf": True}), ("done", {"onBehalf": 2**53}),
    ],
)  # fmt: skip
def test_states_that_cannot_be(shop: Site, state: str, more: dict[str, Any]) -> None:
    body = {"state": state} | more
    line = refused(shop.client("colony").post(f"{ONE}/state", json=body), 422)
    assert line.startswith("onBehalf:" if more else "state:")


@pytest.mark.parametrize("number", [0, -1, 2**53 - 1, -(2**53 - 1), 99])
def test_numbers_that_nobody_has(shop: Site, number: int) -> None:
    """In a path 404; in a body the place is named; no event of that number asks for anything."""
    anna, other = shop.client(), {"project": "shop", "number": number}
    refused(anna.get(f"/api/tickets/shop/{number}"), 404)
    refused(anna.post(f"/api/tickets/shop/{number}/comments", json={"text": "x"}), 404)
    assert refused(anna.post(f"{ONE}/blocked-by", json=other), 422).startswith("blocked-by")
    assert refused(anna.post(f"{ONE}/parent", json=other), 422).startswith("parent")
    new = {"project": "shop", "subject": "x", "parent": other}
    assert refused(anna.post("/api/tickets", json=new), 422).startswith("parent")
    behalf = {"state": "done", "onBehalf": number}
    refused(shop.client("colony").post(f"{ONE}/state", json=behalf), 403)
    wait = {"text": "x", "expectEvent": number}
    refused(anna.post(f"{ONE}/comments", json=wait), 409)
    session = SESSION | {"number": number}
    refused(shop.client("colony").put(f"/api/sessions/{NAME}", json=session), 404)


RECORDS: dict[str, dict[str, Any]] = {
    "costUsd": {"costUsd": -1},
    "costUsd ": {"costUsd": "1"},
    "costUsd  ": {"costUsd": True},
    "token": {"token": 2**53},
    "startedMs": {"startedMs": 1.5},
    "endedMs": {"endedMs": "now"},
    "report": {"report": "x" * 600_000},
    "id": {"id": "another"},
}


@pytest.mark.parametrize("place", RECORDS)
def test_records_that_cannot_be(shop: Site, place: str) -> None:
    body = SESSION | RECORDS[place]
    answer = shop.client("colony").put(f"/api/sessions/{NAME}", json=body)
    assert refused(answer, 422, 413).startswith(f"{place.strip()}:")


@pytest.mark.parametrize("key", ["slots", "running"])
@pytest.mark.parametrize("value", [-1, 10**10, "1", 1.5, True, None])
def test_hosts_that_cannot_be(shop: Site, key: str, value: object) -> None:
    body = {"slots": 1, "running": 0, key: value}
    answer = shop.client("colony").put("/api/hosts/h1", json=body)
    assert refused(answer, 422).startswith(f"{key}:")


# --- sizes ---------------------------------------------------------------------------------

MIB = 1024 * 1024
TEXT_MAX = 256 * 1024


def test_a_body_too_large_is_refused_however_it_is_sent(shop: Site) -> None:
    content = b'{"text": "' + b"x" * 3 * MIB + b'"}'

    def pieces() -> Iterator[bytes]:
        for at in range(0, len(content), 65536):
            yield content[at : at + 65536]

    for route in WITH_BODY:
        assert "body" in refused(send(shop, route, content), 413)
        answer = shop.client(who(route)).request(
            route.method,
            route.path,
            content=pieces(),
            headers={"content-type": "application/json"},
        )
        assert "body" in refused(answer, 413)


def test_a_body_of_just_a_mebibyte_is_read(shop: Site) -> None:
    """One byte more is not; what was read is then refused for what it says."""
    room = MIB - len(b'{"text": ""}')
    fits, more = (b'{"text": "' + b"x" * size + b'"}' for size in (room, room + 1))
    route = WRITES[1]
    assert refused(send(shop, route, fits), 413).startswith("text:")
    assert "body" in refused(send(shop, route, more), 413)


TOO_LONG: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("text", "POST", f"{ONE}/comments", {"text": "x" * (TEXT_MAX + 1)}),
    ("text", "POST", f"{ONE}/comments", {"text": "€" * (TEXT_MAX // 3 + 1)}),
    ("text", "POST", f"{ONE}/state", {"state": "review", "text": "x" * (TEXT_MAX + 1)}),
    ("summary", "PATCH", ONE, {"summary": "x" * (TEXT_MAX + 1)}),
    ("subject", "PATCH", ONE, {"subject": "x" * 301}),
    ("summary", "POST", "/api/tickets",
     {"project": "shop", "subject": "x", "summary": "x" * (TEXT_MAX + 1)}),
    ("subject", "POST", "/api/tickets", {"project": "shop", "subject": "ä" * 301}),
    ("source", "POST", "/api/tickets", {"project": "shop", "subject": "x", "source": "s" * 301}),
    ("user", "POST", "/api/projects/shop/members", {"user": "u" * 101, "role": "use"}),
)  # fmt: skip


@pytest.mark.parametrize(("place", "method", "path", "body"), TOO_LONG)
def test_a_text_too_long_is_named(
    shop: Site, place: str, method: str, path: str, body: dict[str, Any]
) -> None:
    line = refused(shop.client().request(method, path, json=body), 413)
    assert line.startswith(f"{place}:")
    assert re.search(r"at most [0-9]+", line), line


def test_what_is_just_small_enough_is_kept(yard: Site) -> None:
    anna = yard.client()
    for content in ("x" * TEXT_MAX, "é" * (TEXT_MAX // 2)):
        assert anna.post(f"{ONE}/comments", json={"text": content}).status_code == 201
        assert anna.get(ONE).json()["events"][-1]["text"] == content
    assert anna.patch(ONE, json={"subject": "ä" * 300}).status_code == 200
    answer = anna.post(
        f"{ONE}/comments", json={"text": "y"}, headers={"idempotency-key": "k" * 255}
    )
    assert answer.status_code == 201


# --- names ---------------------------------------------------------------------------------

PROJECTS = ("..", ".", "../shop", "a/b", "a\\b", "shop\n", "a\0b", "a\u202eb", "Shop", "sh op",
            "-x", "x" * 65, "", "é", "a%2fb", "ｓｈｏｐ", "shop#1", "<b>")  # fmt: skip


@pytest.mark.parametrize("name", PROJECTS)
def test_projects_that_cannot_be(shop: Site, name: str) -> None:
    anna = shop.client()
    new = {"project": name, "subject": "x"}
    assert refused(anna.post("/api/tickets", json=new), 422).startswith("project:")
    assert refused(anna.post("/api/projects", json={"name": name}), 422)
    other = {"project": name, "number": 1}
    assert refused(anna.post(f"{ONE}/parent", json=other), 422).startswith("parent")
    refused(shop.client("colony").put(f"/api/sessions/{NAME}", json=SESSION | other), 404, 422)


USERS = (
    "",
    " ",
    ".",
    "..",
    "...",
    "a\nb",
    "a\0b",
    "a\u202eb",
    "\x1b[31m",
    "a\u2028b",
    "\ufeff",
    "a\x7fb",
)


@pytest.mark.parametrize("name", USERS)
def test_users_that_cannot_be(shop: Site, name: str) -> None:
    answer = shop.client().post("/api/projects/shop/members", json={"user": name, "role": "use"})
    assert refused(answer, 422).startswith("user:")


@pytest.mark.parametrize("source", ["a\nb", "a\0b", "a\u202eb", "colony:question:1", "colony"])
def test_sources_that_cannot_be(shop: Site, source: str) -> None:
    new = {"project": "shop", "subject": "x", "source": source}
    assert refused(shop.client().post("/api/tickets", json=new), 422).startswith("source:")


@pytest.mark.parametrize("role", ["owner", "", "ADMIN", "machine", "admin "])
def test_roles_that_cannot_be(shop: Site, role: str) -> None:
    answer = shop.client().post("/api/projects/shop/members", json={"user": "mia", "role": role})
    assert refused(answer, 422).startswith("role:")


@pytest.mark.parametrize("subject", ["", " ", "\n\n", "\u2028"])
def test_subjects_that_cannot_be(shop: Site, subject: str) -> None:
    anna = shop.client()
    new = {"project": "shop", "subject": subject}
    assert refused(anna.post("/api/tickets", json=new), 422).startswith("subject:")
    assert refused(anna.patch(ONE, json={"subject": subject}), 422).startswith("subject:")
    assert refused(anna.post(f"{ONE}/comments", json={"text": subject}), 422).startswith("text:")


ODD_NAMES = ("%2e%2e", "%2e", "..%2f..%2fetc%2fpasswd", "a%0Ab", "a%00b", "a%E2%80%AEb",
             "a%ED%A0%80", "%ff", "x" * 301, "%2F", "a%5Cb%5C..%5C", "%0d%0aX-Evil:%201",
             "%20")  # fmt: skip


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_in_paths_that_cannot_be(shop: Site, name: str) -> None:
    """Nothing is found under them, and nothing can be put there."""
    token, machine = shop.token("anna"), shop.token("colony")
    for path in (f"/api/tickets/{name}/1", f"/api/projects/{name}", f"/api/sessions/{name}"):
        refused(raw(shop.url, head("GET", path, token)), 404, 400, 422)
    content = json.dumps(SESSION).encode()
    host = json.dumps({"slots": 1, "running": 0}).encode()
    for path, body in ((f"/api/sessions/{name}", content), (f"/api/hosts/{name}", host)):
        answer = raw(shop.url, putting(path, machine, body))
        assert answer is not None
        if answer.status != 200:
            refused(answer, 404, 400, 422, 405)
    for known in shop.store.service.sessions():
        assert known.id == NAME, "kept under a name that cannot be"
    assert shop.store.service.hosts() == (), "kept under a name that cannot be"


def putting(path: str, token: str, body: bytes) -> bytes:
    return head("PUT", path, token, "Content-Type: application/json",
                f"Content-Length: {len(body)}") + body  # fmt: skip


# --- numbers in paths and queries ----------------------------------------------------------

ODD_NUMBERS = ("1e3", "NaN", "Infinity", "-Infinity", "1.5", "1.0", "%2B1", "0x1", "1_0", "%201",
               "1%20", "%EF%BC%91", "%D9%A1", "", "one", "1,2", "1%00", "9" * 20, "9" * 5000,
               f"-{'9' * 30}", "true", "null", "--1", "1;2")  # fmt: skip


@pytest.mark.parametrize("number", ODD_NUMBERS)
def test_numbers_that_cannot_be(shop: Site, number: str) -> None:
    token = shop.token("anna")
    refused(raw(shop.url, head("GET", f"/api/tickets/shop/{number}", token)), 404, 422)
    path = f"/api/tickets/shop/{number}/comments"
    request = head("POST", path, token, "Content-Type: application/json", "Content-Length: 13")
    refused(raw(shop.url, request + b'{"text": "x"}'), 404, 422)
    for path, name in (
        ("/api/tickets?limit=", "limit"),
        ("/api/tickets?since=", "since"),
        ("/api/events?after=", "after"),
        ("/api/events?limit=", "limit"),
        ("/api/events?wait=", "wait"),
        ("/api/sessions?number=", "number"),
    ):
        answer = raw(shop.url, head("GET", f"{path}{number}&mark={MARK}", token))
        assert name in refused(answer, 422)


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("tickets?limit=0", "limit"),
        ("tickets?limit=-1", "limit"),
        ("tickets?limit=1000000000", "limit"),
        ("events?limit=0", "limit"),
        ("events?limit=-5", "limit"),
        ("events?wait=-1", "wait"),
        ("events?wait=100000", "wait"),
        ("tickets?state=closed", "state"),
        ("tickets?state=", "state"),
        ("tickets?state=open,", "state"),
        ("tickets?state=open%00", "state"),
        ("tickets?state=open%0A", "state"),
        ("tickets?events=perhaps", "events"),
        ("sessions?open=perhaps", "open"),
        ("tickets?cursor=", "cursor"),
        ("tickets?cursor=../../etc", "cursor"),
        ("tickets?cursor=1.1.SHOP", "cursor"),
        ("tickets?cursor=" + "9" * 30 + ".1.shop", "cursor"),
        ("tickets?cursor=1.1.shop%0A", "cursor"),
        ("tickets?cursor=1.1.shop%00", "cursor"),
        ("tickets?cursor=%ff", "cursor"),
    ],
)
def test_queries_that_cannot_be(shop: Site, query: str, name: str) -> None:
    answer = shop.client().get(f"/api/{query}&mark={MARK}")
    assert name in refused(answer, 422)


@pytest.mark.parametrize("project", ["nope", "..", "%00", "%0A", "SHOP", "%ff", "a%2Fb", "%25", ""])
def test_a_project_that_is_not_there_is_not_found(shop: Site, project: str) -> None:
    anna = shop.client()
    refused(anna.get(f"/api/tickets?project={project}"), 404, 422)
    answer = anna.get(f"/api/sessions?project={project}")
    assert answer.json().get("sessions") == [] or answer.status_code in (404, 422)


# --- headers -------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["k" * 256, "k" * 5000, "", "a\tb", "\u202e", "\x85"])
def test_keys_that_cannot_be(shop: Site, key: str) -> None:
    anna = shop.client()
    for route in WITH_BODY:
        if route.method == "PUT":
            continue
        headers = [(b"content-type", b"application/json"), (b"idempotency-key", key.encode())]
        answer = anna.request(
            route.method, route.path, content=json.dumps(route.body), headers=headers
        )
        assert refused(answer, 422, 413, 400).startswith("Idempotency-Key:"), key


def test_a_key_used_for_something_else_is_refused(yard: Site) -> None:
    anna = yard.client()
    headers = {"idempotency-key": "k"}
    assert anna.post(f"{ONE}/comments", json={"text": "x"}, headers=headers).status_code == 201
    before = held(yard.store)
    again = anna.post(f"{ONE}/comments", json={"text": "y"}, headers=headers)
    assert "Idempotency-Key" in refused(again, 422)
    assert held(yard.store) == before


def test_two_tokens_are_one_too_many(shop: Site) -> None:
    """Whoever stands in between may have looked at the other one."""
    good, other = shop.token("anna"), shop.token("colony")
    body = b'{"text": "x"}'
    for first, second in ((good, other), (other, good), (good, good), ("wrong", good)):
        more = (f"Authorization: Bearer {first}", "Content-Type: application/json",
                f"Content-Length: {len(body)}")  # fmt: skip
        request = head("POST", f"{ONE}/comments", second, *more) + body
        refused(raw(shop.url, request), 401, 400)
        more = (f"Authorization: Bearer {first}",)
        refused(raw(shop.url, head("GET", "/api/me", second, *more)), 401, 400)


def test_two_idempotency_keys_are_one_too_many(shop: Site) -> None:
    body = b'{"text": "x"}'
    for second in ("k", "l"):
        more = ("Idempotency-Key: k", f"Idempotency-Key: {second}",
                "Content-Type: application/json", f"Content-Length: {len(body)}")  # fmt: skip
        request = head("POST", f"{ONE}/comments", shop.token("anna"), *more) + body
        refused(raw(shop.url, request), 422)


def test_a_head_without_end_is_refused(shop: Site) -> None:
    token = shop.token("anna")
    many = "\r\n".join(f"X-{at}: {'y' * 100}" for at in range(10_000))
    for path, more in (
        ("/api/tickets", f"X-Long: {'x' * 1_000_000}"),
        ("/api/tickets", many),
        ("/api/tickets?x=" + "y" * 1_000_000, "X-A: b"),
    ):
        answer = raw(shop.url, head("GET", path, token, more))
        if answer is not None:
            refused(answer, 400, 414, 431)
    assert shop.client().get("/api/health").status_code == 200


@pytest.mark.parametrize(
    "tag", ["", "x", '"', 'W/"', "W/", '"a', "*,*", "," * 1000, '"' + "x" * 9000 + '"', "é", "\x01"]
)
def test_an_odd_entity_tag_matches_nothing(shop: Site, tag: str) -> None:
    anna = shop.client()
    for path in ("/api/tickets", "/api/events", "/api/events?after=10000000"):
        plain = anna.get(path)
        answer = anna.get(path, headers=[(b"if-none-match", tag.encode("latin-1"))])
        if answer.status_code == 400:
            refused(answer, 400)
            continue
        assert answer.status_code == 200
        assert answer.json() == plain.json()


@pytest.mark.parametrize(
    "accept",
    ["", "x", "*/*", "image/png", "text/markdown;q=0", ";", "a/b;;;=,,,",
     "text/markdown;q=0.1, application/json", "text/html", "," * 2000, "é",
     "application/json, text/markdown;q=0.9"],
)  # fmt: skip
def test_an_odd_wish_gets_json(shop: Site, accept: str) -> None:
    answer = shop.client().get(ONE, headers=[(b"accept", accept.encode())])
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/json")


@pytest.mark.parametrize("accept", ["text/markdown", "TEXT/Markdown", "text/markdown;q=zzz"])
def test_who_wants_markdown_gets_it(shop: Site, accept: str) -> None:
    answer = shop.client().get(ONE, headers={"accept": accept})
    assert answer.headers["content-type"].startswith("text/markdown")


def test_nobody_tells_the_server_who_it_is(shop: Site) -> None:
    """Not by Host, nor by a proxy's headers: addresses come from its settings alone."""
    for more in ("X-Forwarded-Host: evil.example", "X-Forwarded-For: 1.2.3.4",
                 "X-HTTP-Method-Override: DELETE", "X-Original-URL: /metrics",
                 "Forwarded: host=evil.example"):  # fmt: skip
        answer = raw(shop.url, head("GET", ONE, shop.token("anna"), more))
        assert answer is not None
        assert answer.status == 200
        assert answer.json()["url"] == "https://tracker.example/t/shop/1"
        assert b"evil" not in answer.body


# --- methods and paths ---------------------------------------------------------------------


@pytest.mark.parametrize("method", ["PUT", "TRACE", "OPTIONS", "CONNECT", "BREW", "get", "X" * 200])
@pytest.mark.parametrize("path", ["/api/tickets", ONE, "/api/events", "/api/me", "/api/health"])
def test_other_methods_are_refused(shop: Site, method: str, path: str) -> None:
    body = b'{"text": "x"}'
    more = ("Content-Type: application/json", f"Content-Length: {len(body)}")
    answer = raw(shop.url, head(method, path, shop.token("anna"), *more) + body)
    refused(answer, 405, 404, 400)
    assert answer is not None
    if answer.status == 405:
        assert "GET" in answer.headers["allow"]


@pytest.mark.parametrize("path", ["/api/tickets", ONE, "/api/events", "/api/me", "/api/health"])
def test_head_is_get_without_its_body(shop: Site, path: str) -> None:
    token = shop.token("anna")
    whole = raw(shop.url, head("GET", path, token))
    only = raw(shop.url, head("HEAD", path, token))
    assert whole is not None
    assert only is not None
    assert only.body == b""
    assert only.status == whole.status == 200
    assert only.headers == whole.headers


TRICKS = (
    "//api/tickets",
    "/api//tickets",
    "/api/tickets/",
    "/api/tickets//1",
    "/API/tickets",
    "/api/tickets/../me",
    "/api/./me",
    "/api/%2e%2e/api/me",
    "/api/%2e/me",
    "/api/tickets;x=1",
    "/api/tickets/shop/1/",
    "/api/tickets/shop/1/state/",
    "/api/tickets/shop/1%00",
    "/api/tickets%00",
    "/api",
    "/",
    "/../../../../etc/passwd",
    "/..%2f..%2f..%2fetc/passwd",
    "/docs/assets/../../../../../../etc/passwd",
    "/docs/assets/..%2f..%2f..%2f..%2fetc%2fpasswd",
    "/docs/assets/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "/docs/assets//etc/passwd",
    "/docs/assets/",
    "/docs/assets/%00",
    "/static/",
    "/.env",
    "/colony.db",
    "/metrics/..",
    "/openapi.json/",
    "*",
)


@pytest.mark.parametrize("path", TRICKS)
def test_no_path_leads_around_the_routes(shop: Site, path: str) -> None:
    answer = raw(shop.url, head("GET", path, shop.token("anna")))
    assert answer is not None
    assert b"root:" not in answer.body
    refused(answer, 404, 400, 405, 422)


def test_an_encoded_slash_is_a_slash(shop: Site) -> None:
    """So that no proxy's rule about a path is walked around: both are the same address here."""
    token = shop.token("nora")
    for path in ("/api/tickets%2Fshop%2F1", "/api%2Fme", "/api/projects%2fshop"):
        answer = raw(shop.url, head("GET", path, token))
        plain = raw(shop.url, head("GET", path.replace("%2F", "/").replace("%2f", "/"), token))
        assert answer == plain


def test_an_absolute_address_is_not_followed(shop: Site) -> None:
    token = shop.token("anna")
    for place in ("http://evil.example/api/health", "https://evil.example:1/api/me"):
        answer = raw(shop.url, head("GET", place, token))
        assert answer is not None
        assert answer.status in (200, 400, 404)
        assert b"evil" not in answer.body


NO_HTTP: dict[str, bytes] = {
    "nothing that is HTTP": b"hello\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 40,
    "HTTP/2, as it is sent": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\nConnection: close\r\n\r\n",
    "HTTP/9": b"GET /api/health HTTP/9.9\r\nHost: x\r\nConnection: close\r\n\r\n",
    "no host": b"GET /api/health HTTP/1.1\r\nConnection: close\r\n\r\n",
    "two hosts": b"GET /api/health HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n",
    "a NUL in a header": b"GET /api/health HTTP/1.1\r\nHost: x\r\nX-A: a\0b\r\n\r\n",
    "a folded header": b"GET /api/health HTTP/1.1\r\nHost: x\r\nX-A: a\r\n b\r\n"
    b"Connection: close\r\n\r\n",
    "a blank in a header's name": b"GET /api/health HTTP/1.1\r\nHost: x\r\nX A: a\r\n\r\n",
    "a length below nothing": b"POST /api/tickets HTTP/1.1\r\nHost: x\r\n"
    b"Content-Length: -5\r\n\r\n",
    "two lengths": b"POST /api/tickets HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
    b"Content-Length: 3\r\n\r\n{}}",
    "a length of words": b"POST /api/tickets HTTP/1.1\r\nHost: x\r\nContent-Length: two\r\n\r\n",
    "chunks of words": b"POST /api/tickets HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
    b"\r\nzz\r\n",
    "an unknown transfer": b"POST /api/tickets HTTP/1.1\r\nHost: x\r\n"
    b"Transfer-Encoding: gzip\r\n\r\n",
}


@pytest.mark.parametrize("request_", NO_HTTP.values(), ids=NO_HTTP)
def test_what_is_no_request_is_told_so_or_answered(shop: Site, request_: bytes) -> None:
    answer = raw(shop.url, request_)
    # Behind an answer to the first part may stand another one to the rest.
    if answer is not None and answer.status != 200 and answer.body.count(b"HTTP/1.1") == 0:
        refused(answer, 400, 401, 404, 431, 501, 505)
    assert shop.client().get("/api/health").status_code == 200


def test_a_length_and_chunks_at_once_hide_no_second_request(shop: Site) -> None:
    token = shop.token("anna")
    hidden = head("POST", f"{ONE}/comments", token, "Content-Type: application/json",
                  "Content-Length: 13") + b'{"text": "x"}'  # fmt: skip
    request = head("POST", f"{ONE}/comments", "wrong", "Content-Type: application/json",
                   f"Content-Length: {len(hidden) + 5}", "Transfer-Encoding: chunked")  # fmt: skip
    raw(shop.url, request + b"0\r\n\r\n" + hidden)
    assert len(shop.store.service.tickets()) == 3


# --- clients that go away ------------------------------------------------------------------


@pytest.mark.parametrize("sent", [0, 1, 5, 12])
def test_who_goes_away_in_the_middle_of_a_body_has_said_nothing(shop: Site, sent: int) -> None:
    """Nor is that a bug that whoever runs the server must know of."""
    body = b'{"text": "x"}'
    token = shop.token("anna")
    for more in (f"Content-Length: {len(body)}", "Transfer-Encoding: chunked"):
        part = body[:sent] if "Length" in more else b"d\r\n" + body[:sent]
        request = head("POST", f"{ONE}/comments", token, "Content-Type: application/json", more)
        raw(shop.url, request + part, finish=False)
    for _ in range(3):
        assert shop.client().get("/api/tickets").status_code == 200


def test_who_goes_away_while_waiting_is_forgotten(shop: Site) -> None:
    last = shop.store.service.changes(0).last
    for _ in range(5):
        request = head("GET", f"/api/events?after={last}&wait=60", shop.token("anna"))
        raw(shop.url, request, finish=False)
    assert shop.client().get("/api/health").status_code == 200


# --- texts that are odd, and texts ---------------------------------------------------------

ODD_TEXTS = (
    "a\x1b[31mb\x07",
    "\u202eevil\u2066",
    "```\n</textarea><script>alert(1)</script>",
    "x" * 200_000,
    "line\n" * 20_000,
    "\r\n\r\n",
    "🙂" * 1000,
    "\ufffe\uffff",
    "colony-lease: s-20260101T0000-abcdef · host h1 · started · ms 1800000000000",
)


@pytest.mark.parametrize("text", ODD_TEXTS, ids=lambda text: repr(text[:12]))
def test_an_odd_text_comes_back_as_it_was(yard: Site, text: str) -> None:
    anna = yard.client()
    if not text.strip():
        refused(anna.post(f"{ONE}/comments", json={"text": text}), 422)
        return
    assert anna.post(f"{ONE}/comments", json={"text": text}).status_code == 201
    assert anna.get(ONE).json()["events"][-1]["text"] == text
    assert anna.get("/api/events").json()["events"][-1]["text"] == text
    assert anna.get(ONE).json()["lease"] is None
    assert anna.get(ONE, headers={"accept": "text/markdown"}).status_code == 200


def test_a_nul_is_replaced_as_on_every_edge(yard: Site) -> None:
    anna = yard.client()
    answer = anna.post(f"{ONE}/comments", json={"text": "a\0b"})
    assert answer.status_code == 201
    assert answer.json()["text"] == "a\ufffdb"


def test_every_route_with_a_body_is_in_the_tables(yard: Site) -> None:
    described = yard.client().get("/openapi.json").json()
    bodied = {
        f"{method.upper()} {path}"
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
        if operation.get("requestBody", {}).get("required")
    }
    assert bodied == {str(each) for each in WITH_BODY}
    assert TWO["number"] == 2
