"""Who is let in, for whom the server takes them, and what each may do."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest

from tests.serve.conftest import Api, Serve

ONE = "/api/tickets/shop/1"
READS = [
    "/api/tickets",
    ONE,
    "/api/events",
    "/api/projects",
    "/api/projects/shop",
    "/api/sessions",
    "/api/sessions/s-1/tail",
    "/api/hosts",
    "/metrics",
]
WRITES: list[tuple[str, str]] = [
    ("POST", "/api/tickets"),
    ("POST", f"{ONE}/comments"),
    ("POST", f"{ONE}/state"),
    ("PATCH", ONE),
    ("POST", f"{ONE}/blocked-by"),
    ("DELETE", f"{ONE}/blocked-by"),
    ("POST", f"{ONE}/parent"),
    ("DELETE", f"{ONE}/parent"),
    ("POST", "/api/projects"),
    ("POST", "/api/projects/shop/members"),
    ("DELETE", "/api/projects/shop/members/anna"),
    ("PUT", "/api/sessions/s-1"),
    ("PUT", "/api/sessions/s-1/tail"),
    ("PUT", "/api/hosts/here"),
]
BAD = [
    "Bearer",
    "Bearer tkt_" + "a" * 43,
    "Bearer tkt_short",
    "Basic YTpi",
    "tkt_" + "a" * 43,
    "",
]


def unknown(answer: httpx.Response) -> None:
    assert answer.status_code == 401
    assert answer.json()["code"] == "unauthorized"
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_without_a_token_nothing_is_read_or_written(api: Api, shop: httpx.Client) -> None:
    before = api.store.service.changes(0)
    nobody = api.client(None)
    for path in [*READS, "/api/me"]:
        unknown(nobody.get(path))
    for method, path in WRITES:
        # Not even what it says is looked at.
        unknown(nobody.request(method, path, content=b"{"))
    assert api.store.service.changes(0) == before


@pytest.mark.parametrize("given", BAD)
@pytest.mark.parametrize("public", [False, True])
def test_a_wrong_token_is_worse_than_none(serve: Serve, given: str, public: bool) -> None:
    api = serve(public_read=public)
    nobody = api.client(None)
    unknown(nobody.get("/api/tickets", headers={"authorization": given}))


def test_with_public_reading_everything_is_read_but_nothing_written(serve: Serve) -> None:
    api = serve(public_read=True)
    api.client("anna").post("/api/tickets", json={"project": "shop", "subject": "x"})
    nobody = api.client(None)
    for path in READS:
        assert nobody.get(path).status_code == 200, path
        assert nobody.head(path).status_code == 200, path
    unknown(nobody.get("/api/me"))
    for method, path in WRITES:
        unknown(nobody.request(method, path, json={}))


def test_health_and_the_description_need_no_token(api: Api) -> None:
    nobody = api.client(None)
    told = nobody.get("/api/health").json()
    assert told == {"ok": True, "version": told["version"], "schema": api.store.service.schema()}
    for path in ("/openapi.json", "/docs", "/docs/assets/swagger-ui-bundle.js"):
        assert nobody.get(path).status_code == 200


def test_a_token_is_good_until_it_expires_or_is_revoked(api: Api) -> None:
    clock: Any = api.store.clock
    soon = api.store.token("bob", expires_ms=clock.ms + 1000)
    later = api.store.token("bob")
    client = api.client(None)

    def status(secret: str) -> int:
        return client.get("/api/me", headers={"authorization": f"bearer {secret}"}).status_code

    assert (status(soon), status(later)) == (200, 200)
    clock.ms += 1000
    assert (status(soon), status(later)) == (401, 200)
    api.store.tokens.revoke("t2")
    assert status(later) == 401


def test_me_is_looked_up_at_each_request(api: Api, shop: httpx.Client) -> None:
    bob = api.client("bob")
    told = bob.get("/api/me").json()
    assert (told["user"], told["machine"], told["owner"]) == ("bob", False, False)
    assert told["roles"] == {}
    shop.post("/api/projects/shop/members", json={"user": "bob", "role": "edit"})
    assert bob.get("/api/me").json()["roles"] == {"shop": "edit"}
    api.store.user("bob", owner=True)
    assert bob.get("/api/me").json() == {
        "user": "bob",
        "userId": told["userId"],
        "machine": False,
        "owner": True,
        "roles": {"shop": "admin"},
    }


def test_a_machine_is_one_in_everything_it_writes(
    api: Api, shop: httpx.Client, colony: httpx.Client
) -> None:
    told = colony.get("/api/me").json()
    assert (told["machine"], told["owner"], told["roles"]) == (True, False, {"shop": "edit"})
    assert colony.post(f"{ONE}/comments", json={"text": "x"}).json()["machine"] is True
    assert shop.post(f"{ONE}/comments", json={"text": "x"}).json()["machine"] is False
    source = {"project": "shop", "subject": "x", "source": "colony:issue:1"}
    assert colony.post("/api/tickets", json=source).status_code == 201


@pytest.mark.parametrize(
    ("role", "may"),
    [
        (None, {"open", "comment"}),
        ("use", {"open", "comment", "review"}),
        ("edit", {"open", "comment", "review", "progress", "edit", "block", "parent"}),
        (
            "admin",
            {"open", "comment", "review", "progress", "edit", "block", "parent", "done", "member"},
        ),
    ],
)
def test_roles_hold_over_http(
    api: Api, shop: httpx.Client, role: str | None, may: set[str]
) -> None:
    if role:
        shop.post("/api/projects/shop/members", json={"user": "bob", "role": role})
    bob = api.client("bob")
    other = {"project": "shop", "number": 2}
    asked = {
        "open": ("POST", "/api/tickets", {"project": "shop", "subject": "x"}),
        "comment": ("POST", f"{ONE}/comments", {"text": "x"}),
        "review": ("POST", f"{ONE}/state", {"state": "review"}),
        "progress": ("POST", f"{ONE}/state", {"state": "progress"}),
        "edit": ("PATCH", ONE, {"subject": "y"}),
        "block": ("POST", f"{ONE}/blocked-by", other),
        "parent": ("POST", f"{ONE}/parent", other),
        "done": ("POST", f"{ONE}/state", {"state": "done"}),
        "member": ("POST", "/api/projects/shop/members", {"user": "eve", "role": "use"}),
    }
    found = set()
    for name, (method, path, body) in asked.items():
        answer = bob.request(method, path, json=body)
        if answer.status_code < 300:
            found.add(name)
        else:
            assert answer.status_code == 403, answer.text
            assert answer.json()["code"] == "forbidden"
    assert found == may


def test_records_are_told_by_machines_only(shop: httpx.Client) -> None:
    session = {"project": "shop", "number": 1, "host": "here", "phase": "working"}
    for path, body in (
        ("/api/sessions/s-1", session),
        ("/api/sessions/s-1/tail", {"text": "x"}),
        ("/api/hosts/here", {"slots": 1, "running": 0}),
    ):
        assert shop.put(path, json=body).status_code == 403


def test_a_machine_accepts_on_behalf_of_a_creators_comment(
    shop: httpx.Client, colony: httpx.Client
) -> None:
    shop.post(f"{ONE}/state", json={"state": "review"})
    done = {"state": "done"}
    assert colony.post(f"{ONE}/state", json=done).status_code == 403
    plain = shop.post(f"{ONE}/comments", json={"text": "nice"}).json()["id"]
    refused = colony.post(f"{ONE}/state", json=done | {"onBehalf": plain})
    assert refused.status_code == 403
    assert refused.json()["error"] == f"onBehalf: event {plain} does not ask for done"
    word = shop.post(f"{ONE}/comments", json={"text": "/confirm"}).json()["id"]
    assert colony.post(f"{ONE}/state", json=done | {"onBehalf": word}).json()["to"] == "done"


def test_members_come_and_go(shop: httpx.Client) -> None:
    given = shop.post("/api/projects/shop/members", json={"user": "b/o b?", "role": "use"})
    assert [each["user"] for each in given.json()["members"]] == ["anna", "b/o b?"]
    assert shop.get("/api/projects/shop").json() == given.json()
    gone = shop.delete("/api/projects/shop/members/b%2Fo%20b%3F")
    assert [each["user"] for each in gone.json()["members"]] == ["anna"]
    assert shop.delete("/api/projects/shop/members/nobody").status_code == 404


def test_projects_are_listed_with_what_the_server_can_do(api: Api, shop: httpx.Client) -> None:
    assert shop.post("/api/projects", json={"name": "bank"}).json()["name"] == "bank"
    shop.post("/api/projects", json={"name": "bank"})
    shop.post("/api/tickets/shop/2/state", json={"state": "review"})
    told = shop.get("/api/projects").json()
    assert told["projects"] == [
        {"name": "bank", "tickets": {}},
        {"name": "shop", "tickets": {"open": 1, "review": 1}},
    ]
    assert set(told["features"]) == set(api.store.service.features)
    assert told["states"][0] == "open"


class Hand:
    """Seconds that move by hand."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_writes_above_the_limit_of_a_token_are_429(serve: Serve) -> None:
    hand = Hand()
    api = serve(write_limit=3, boot_s=hand)
    anna, bob = api.client("anna"), api.client("bob")
    anna.post("/api/tickets", json={"project": "shop", "subject": "x"})

    def comment(client: httpx.Client) -> int:
        return client.post(f"{ONE}/comments", json={"text": "x"}).status_code

    assert [comment(anna), comment(anna), comment(anna)] == [201, 201, 429]
    refused = anna.post(f"{ONE}/comments", json={"text": "x"})
    assert refused.headers["retry-after"] == "1"
    assert refused.json()["code"] == "too_many"
    assert comment(bob) == 201
    assert anna.get("/api/tickets").status_code == 200
    second = api.store.token("anna")
    other = anna.post(
        f"{ONE}/comments", json={"text": "x"}, headers={"authorization": f"Bearer {second}"}
    )
    assert other.status_code == 201
    hand.now_s += 0.4
    assert [comment(anna), comment(anna)] == [201, 429]
    hand.now_s += 60
    assert [comment(anna) for _ in range(4)] == [201, 201, 201, 429]


def test_records_are_not_counted_by_the_write_limit(serve: Serve) -> None:
    api = serve(write_limit=1, boot_s=Hand())
    api.token("anna")
    machine = api.client("colony")
    for _ in range(3):
        told = machine.put("/api/hosts/here", json={"slots": 1, "running": 0})
        assert told.status_code == 200


def test_no_limit_is_no_limit(api: Api, shop: httpx.Client) -> None:
    answers = [shop.post(f"{ONE}/comments", json={"text": "x"}) for _ in range(60)]
    assert {answer.status_code for answer in answers} == {201}


def test_many_write_at_once(api: Api, shop: httpx.Client) -> None:
    """Threads of the server's pool write to one file: each write is there, once."""
    failed: list[int] = []

    def write(name: str) -> None:
        client = api.client(name)
        for at in range(10):
            answer = client.post(f"{ONE}/comments", json={"text": f"{name} {at}"})
            if answer.status_code != 201:
                failed.append(answer.status_code)

    names = [f"user{at}" for at in range(6)]
    for name in names:
        api.token(name)
    threads = [threading.Thread(target=write, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    texts = [each["text"] for each in shop.get(ONE).json()["events"][1:]]
    assert sorted(texts) == sorted(f"{name} {at}" for name in names for at in range(10))
