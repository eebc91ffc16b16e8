"""Routes of tickets: what each answers, and that the answers are those of the store."""

from __future__ import annotations

import httpx
import pytest

from colony.core.markdown import ticket_markdown
from colony.core.ticket import Ref
from colony.tracker.protocol import Conflict, Written
from colony.tracker.wire import read
from tests.serve.conftest import Api, Serve

ONE = "/api/tickets/shop/1"


def test_a_new_ticket_is_answered_as_the_store_holds_it(api: Api, anna: httpx.Client) -> None:
    body = {"project": "shop", "subject": "A cart", "summary": "# Why", "source": "mail 7"}
    made = anna.post("/api/tickets", json=body)
    assert made.status_code == 201
    held = api.store.service.ticket(Ref("shop", 1)).ticket
    told = read.ticket(read.fields(made.json(), "row"))
    assert told.url == "https://tracker.example/t/shop/1"
    assert (told.subject, told.summary, told.source) == ("A cart", "# Why", "mail 7")
    assert told.last_event == held.last_event
    assert (told.author, told.machine) == ("anna", False)


def test_the_same_source_again_is_answered_with_the_first_ticket(anna: httpx.Client) -> None:
    body = {"project": "shop", "subject": "A cart", "source": "mail 7"}
    first = anna.post("/api/tickets", json=body)
    again = anna.post("/api/tickets", json=body | {"subject": "Other words"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()


def test_a_ticket_is_made_with_parent_and_state(shop: httpx.Client) -> None:
    body = {
        "project": "shop",
        "subject": "Which till?",
        "state": "pending",
        "parent": {"project": "shop", "number": 1},
    }
    made = shop.post("/api/tickets", json=body).json()
    assert made["state"] == "pending"
    assert made["parent"]["number"] == 1
    assert [each["number"] for each in shop.get(ONE).json()["children"]] == [3]


WRITES = [
    ("POST", f"{ONE}/comments", {"text": "hello"}, {"kind": "comment", "text": "hello"}),
    (
        "POST",
        f"{ONE}/state",
        {"state": "review", "text": "look"},
        {"kind": "state", "from": "open", "to": "review", "text": "look"},
    ),
    (
        "PATCH",
        ONE,
        {"subject": "A basket", "summary": "New"},
        {"kind": "edit", "from": "A cart", "to": "A basket", "text": "New"},
    ),
    (
        "POST",
        f"{ONE}/blocked-by",
        {"project": "shop", "number": 2},
        {"kind": "link", "to": "blocked-by shop#2"},
    ),
    (
        "POST",
        f"{ONE}/parent",
        {"project": "shop", "number": 2},
        {"kind": "link", "to": "parent shop#2"},
    ),
]


@pytest.mark.parametrize(("method", "path", "body", "event"), WRITES)
def test_a_write_answers_the_event_that_it_made(
    api: Api, shop: httpx.Client, method: str, path: str, body: object, event: dict[str, object]
) -> None:
    first = shop.request(method, path, json=body, headers={"idempotency-key": "k"})
    assert first.status_code == (201 if path.endswith("comments") else 200)
    told = first.json()
    assert {name: told[name] for name in event} == event
    assert (told["project"], told["number"], told["author"]) == ("shop", 1, "anna")
    assert told["id"] == told["lastEvent"] == api.store.service.changes(0).last
    assert read.written(read.fields(told, "answer")) == Written(told["id"], told["lastEvent"])
    shop.post(f"{ONE}/comments", json={"text": "meanwhile"})
    again = shop.request(method, path, json=body, headers={"idempotency-key": "k"})
    assert (again.status_code, again.json()) == (first.status_code, told)


def test_relations_are_taken_away_again(shop: httpx.Client) -> None:
    other = {"project": "shop", "number": 2}
    shop.post(f"{ONE}/blocked-by", json=other)
    shop.post(f"{ONE}/parent", json=other)
    dropped = shop.request("DELETE", f"{ONE}/blocked-by", json=other)
    assert dropped.json()["from"] == "blocked-by shop#2"
    assert shop.delete(f"{ONE}/parent").json()["from"] == "parent shop#2"
    row = shop.get(ONE).json()
    assert (row["parent"], row["blockedBy"]) == (None, [])


def test_what_changes_nothing_says_so(shop: httpx.Client) -> None:
    before = shop.get(ONE).json()["lastEvent"]
    for method, path, body in (
        ("POST", f"{ONE}/state", {"state": "open"}),
        ("PATCH", ONE, {"subject": "A cart"}),
        ("DELETE", f"{ONE}/blocked-by", {"project": "shop", "number": 2}),
        ("DELETE", f"{ONE}/parent", {}),
    ):
        told = shop.request(method, path, json=body).json()
        assert (told["id"], told["kind"], told["lastEvent"]) == (0, None, before)


def test_a_circle_is_refused(shop: httpx.Client) -> None:
    shop.post(f"{ONE}/blocked-by", json={"project": "shop", "number": 2})
    back = {"project": "shop", "number": 1}
    circle = shop.post("/api/tickets/shop/2/blocked-by", json=back)
    assert circle.status_code == 422
    assert circle.json()["error"].startswith("blocked-by: shop#1 waits for shop#2")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", f"{ONE}/comments", {"text": "x"}),
        ("POST", f"{ONE}/state", {"state": "review"}),
        ("PATCH", ONE, {"subject": "x"}),
        ("POST", f"{ONE}/blocked-by", {"project": "shop", "number": 2}),
        ("DELETE", f"{ONE}/blocked-by", {"project": "shop", "number": 2}),
        ("POST", f"{ONE}/parent", {"project": "shop", "number": 2}),
        ("DELETE", f"{ONE}/parent", {}),
    ],
)
@pytest.mark.parametrize("condition", [{"expect": "review"}, {"expectEvent": 1}])
def test_a_condition_that_no_longer_holds_is_409(
    api: Api,
    shop: httpx.Client,
    method: str,
    path: str,
    body: dict[str, object],
    condition: dict[str, object],
) -> None:
    before = api.store.service.changes(0)
    found = shop.request(method, path, json=body | condition)
    assert found.status_code == 409
    told = found.json()
    last = shop.get(ONE).json()["lastEvent"]
    assert (told["code"], told["state"], told["lastEvent"]) == ("conflict", "open", last)
    assert read.conflict(read.fields(told, "answer")) == Conflict("open", last, None)
    assert api.store.service.changes(0) == before
    now = {"expect": "open", "expectEvent": last}
    assert shop.request(method, path, json=body | now).status_code < 300


def test_a_conflict_shows_the_lease(shop: httpx.Client, colony: httpx.Client) -> None:
    text = "colony-lease: s-20260131T1819-abc123 · host there · started · ms 1790000000000"
    colony.post(f"{ONE}/state", json={"state": "progress", "text": text})
    row = shop.get(ONE).json()
    told = colony.post(f"{ONE}/comments", json={"text": "x", "expect": "open"}).json()
    assert told["lease"] == row["lease"]
    assert told["lease"]["session"] == "s-20260131T1819-abc123"


def test_a_key_that_meant_something_else_is_refused(shop: httpx.Client) -> None:
    key = {"idempotency-key": "grün".encode()}
    assert shop.post(f"{ONE}/comments", json={"text": "one"}, headers=key).status_code == 201
    other = shop.post(f"{ONE}/comments", json={"text": "two"}, headers=key)
    assert other.status_code == 422
    assert "used before" in other.json()["error"]
    empty = shop.post(f"{ONE}/comments", json={"text": "x"}, headers={"idempotency-key": ""})
    assert empty.json()["error"] == "Idempotency-Key: empty"


def test_without_a_key_each_write_is_one_of_its_own(shop: httpx.Client) -> None:
    ids = {shop.post(f"{ONE}/comments", json={"text": "same"}).json()["id"] for _ in range(3)}
    assert len(ids) == 3


def test_a_ticket_is_read_with_its_history_or_as_markdown(api: Api, shop: httpx.Client) -> None:
    shop.post(f"{ONE}/comments", json={"text": "hello\n# no heading"})
    seen = api.store.service.ticket(Ref("shop", 1))
    told = shop.get(ONE)
    assert [each["kind"] for each in told.json()["events"]] == ["created", "comment"]
    text = shop.get(ONE, headers={"accept": "text/markdown"})
    assert text.headers["content-type"] == "text/markdown; charset=utf-8"
    assert text.text == ticket_markdown(seen)
    assert told.headers["vary"] == text.headers["vary"] == "Accept"


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("*/*", "application/json"),
        ("text/html", "application/json"),
        ("application/json, text/markdown;q=0.5", "application/json"),
        ("text/markdown;q=0", "application/json"),
        ("text/markdown, application/json;q=0.5", "text/markdown"),
        ("TEXT/Markdown; charset=utf-8", "text/markdown"),
    ],
)
def test_markdown_is_given_to_whoever_prefers_it(
    shop: httpx.Client, accept: str, kind: str
) -> None:
    got = shop.get(ONE, headers={"accept": accept})
    assert got.headers["content-type"].partition(";")[0] == kind


def test_the_list_is_whole_without_parameters_and_filtered_with_them(
    api: Api, shop: httpx.Client
) -> None:
    api.store.clock.ms += 5000  # type: ignore[attr-defined]
    shop.post("/api/tickets", json={"project": "bank", "subject": "Other"})
    shop.post("/api/tickets/shop/2/state", json={"state": "review"})

    def numbers(query: str) -> list[str]:
        rows = shop.get(f"/api/tickets{query}").json()["tickets"]
        return [f"{row['project']}#{row['number']}" for row in rows]

    assert numbers("") == ["shop#1", "shop#2", "bank#1"]
    assert numbers("?project=shop") == ["shop#1", "shop#2"]
    assert numbers("?state=review") == ["shop#2"]
    assert numbers("?state=review,done&state=open") == ["shop#1", "shop#2", "bank#1"]
    now = api.store.service.now_ms()
    assert numbers(f"?since={now}") == ["shop#2", "bank#1"]
    assert numbers(f"?since={now + 1}") == []
    assert shop.get("/api/tickets?project=none").status_code == 404


def test_a_list_with_events_is_what_each_ticket_says_alone(shop: httpx.Client) -> None:
    rows = shop.get("/api/tickets?events=1").json()["tickets"]
    alone = [shop.get(f"/api/tickets/shop/{number}").json() for number in (1, 2)]
    assert rows == alone
    assert "events" not in shop.get("/api/tickets").json()["tickets"][0]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
def test_a_list_in_parts_is_the_whole_list(api: Api, shop: httpx.Client, limit: int) -> None:
    for at in range(5):
        project = ("shop", "bank")[at % 2]
        shop.post("/api/tickets", json={"project": project, "subject": f"No. {at}"})
        api.store.clock.ms += at % 2  # type: ignore[attr-defined]
    whole = shop.get("/api/tickets").json()
    assert whole["cursor"] is None
    found, cursor, parts = [], None, 0
    while parts == 0 or cursor:
        query: dict[str, str | int] = {"limit": limit} | ({"cursor": cursor} if cursor else {})
        page = shop.get("/api/tickets", params=query).json()
        assert 0 < len(page["tickets"]) <= limit
        found += page["tickets"]
        cursor, parts = page["cursor"], parts + 1
        # What changes meanwhile keeps its place.
        shop.post(f"{ONE}/comments", json={"text": "x"})
    assert [row["number"] for row in found] == [row["number"] for row in whole["tickets"]]
    assert [row["project"] for row in found] == [row["project"] for row in whole["tickets"]]
    assert parts == -(-7 // limit)


def test_an_unchanged_list_is_304_without_a_body(api: Api, shop: httpx.Client) -> None:
    first = shop.get("/api/tickets")
    etag = first.headers["etag"]
    assert etag.startswith('"')
    for query in ("", "?project=shop&limit=1"):
        same = shop.get(f"/api/tickets{query}", headers={"if-none-match": f'"x", {etag}'})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", etag)
    shop.post("/api/projects/shop/members", json={"user": "bob", "role": "use"})
    changed = shop.get("/api/tickets", headers={"if-none-match": etag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != etag


def test_rows_that_are_written_otherwise_have_another_tag(api: Api, serve: Serve) -> None:
    """Two servers that write them alike agree."""

    def tag(public_url: str) -> str:
        other = serve(api.store, public_url=public_url)
        return other.client("anna").get("/api/tickets").headers["etag"]

    one = tag("https://one.example")
    assert tag("https://one.example") == one
    assert tag("https://two.example") != one


def test_head_is_get_without_the_body(shop: httpx.Client) -> None:
    for path in ("/api/tickets", ONE, "/api/events", "/api/health", "/metrics"):
        got, head = shop.get(path), shop.head(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"] == got.headers["content-type"]
        if path != "/metrics":
            assert head.headers["content-length"] == got.headers["content-length"]
