"""Records of sessions and hosts over HTTP, and the figures that are made of them."""

from __future__ import annotations

from typing import Any

import httpx

from colony.core.records import TAIL_MAX
from colony.core.ticket import Ref
from colony.tracker.wire import read
from tests.serve.conftest import Api

SESSION: dict[str, Any] = {
    "project": "shop",
    "number": 1,
    "host": "here",
    "account": "one",
    "token": 7,
    "phase": "working",
    "step": "worker",
    "startedMs": 1_700_000_000_000,
    "endedMs": None,
    "costUsd": 0.25,
    "lastTool": "Bash",
    "outcome": "",
    "report": {"summary": ["deep", {"er": None}]},
    "verdict": None,
}


def test_a_session_is_kept_as_it_was_told(
    api: Api, shop: httpx.Client, colony: httpx.Client
) -> None:
    told = colony.put("/api/sessions/s-1", json=SESSION)
    now = api.store.service.now_ms()
    assert told.json() == {"id": "s-1", **SESSION, "updatedMs": now}
    assert shop.get("/api/sessions/s-1").json() == told.json()
    held = api.store.service.session("s-1")
    assert read.session(read.fields(told.json(), "answer")) == held
    assert held.ref == Ref("shop", 1)
    # What was read can be told again as it is.
    again = colony.put("/api/sessions/s-1", json=told.json() | {"phase": "ended", "endedMs": now})
    assert again.json()["phase"] == "ended"
    bare = {"project": "shop", "number": 1, "host": "here", "phase": "new", "costUsd": 1}
    assert colony.put("/api/sessions/s-2", json=bare).json()["costUsd"] == 1.0


def test_sessions_are_found_by_ticket_and_by_whether_they_run(
    shop: httpx.Client, colony: httpx.Client
) -> None:
    for name, number, ended in (("a", 1, 5), ("b", 1, None), ("c", 2, None)):
        body = SESSION | {"number": number, "endedMs": ended}
        colony.put(f"/api/sessions/{name}", json=body)

    def names(query: str) -> list[str]:
        found = shop.get(f"/api/sessions{query}").json()["sessions"]
        return [each["id"] for each in found]

    assert names("") == ["a", "b", "c"]
    assert names("?open=1") == ["b", "c"]
    assert names("?project=shop&number=1") == ["a", "b"]
    assert names("?project=shop&number=1&open=true") == ["b"]
    assert names("?project=none") == []


def test_a_tail_keeps_its_end(shop: httpx.Client, colony: httpx.Client) -> None:
    gone = colony.put("/api/sessions/s-1/tail", json={"text": "x"})
    assert gone.status_code == 404
    colony.put("/api/sessions/s-1", json=SESSION)
    assert shop.get("/api/sessions/s-1/tail").json() == {"id": "s-1", "text": ""}
    told = colony.put("/api/sessions/s-1/tail", json={"text": "a" + "ü" * TAIL_MAX})
    assert told.json()["text"] == "ü" * (TAIL_MAX // 2)
    assert shop.get("/api/sessions/s-1/tail").json() == told.json()


def test_a_session_of_no_ticket_is_not_kept(shop: httpx.Client, colony: httpx.Client) -> None:
    assert colony.put("/api/sessions/s-1", json=SESSION | {"number": 9}).status_code == 404
    other = colony.put("/api/sessions/s-1", json=SESSION | {"id": "s-2"})
    assert other.json()["error"] == "id: is not the name in the address"
    huge = colony.put("/api/sessions/s-1", json=SESSION | {"report": "x" * (600 * 1024)})
    assert huge.status_code == 413
    assert shop.get("/api/sessions").json() == {"sessions": []}


def test_hosts_tell_of_themselves(api: Api, shop: httpx.Client, colony: httpx.Client) -> None:
    body = {"slots": 3, "running": 1, "quota": {"five": 0.5}, "memory": 1, "disk": None}
    told = colony.put("/api/hosts/here", json=body)
    row = {"host": "here", **body, "iteration": None, "seenMs": api.store.service.now_ms()}
    assert told.json() == row
    assert shop.get("/api/hosts").json() == {"hosts": [row]}
    assert read.host(read.fields(row, "row")) == api.store.service.hosts()[0]
    assert colony.put("/api/hosts/here", json=row | {"running": 2}).json()["running"] == 2


def figures(client: httpx.Client) -> dict[str, float]:
    answer = client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = [line.rpartition(" ") for line in answer.text.splitlines() if line[0] != "#"]
    return {name: float(value) for name, _, value in lines}


def test_figures_tell_what_the_tracker_holds(
    api: Api, shop: httpx.Client, colony: httpx.Client
) -> None:
    colony.put("/api/sessions/s-1", json=SESSION)
    shop.post("/api/tickets/shop/2/state", json={"state": "review"})
    found = figures(shop)
    assert found['colony_tickets{state="open"}'] == 1
    assert found['colony_tickets{state="review"}'] == 1
    assert found['colony_tickets{state="done"}'] == 0
    assert found["colony_last_event"] == api.store.service.changes(0).last
    assert found["colony_sessions_running"] == 1
    assert found["colony_requests_waiting"] == 0


def test_figures_count_requests_by_route_not_by_address(shop: httpx.Client) -> None:
    for path in ("/api/tickets/shop/1", "/api/tickets/shop/2", "/api/tickets/shop/9", "/no/1"):
        shop.get(path)
    shop.request("BREW", "/api/tickets")
    found = figures(shop)
    one = 'colony_requests_total{method="GET",route="/api/tickets/{project}/{number}",status="%d"}'
    assert (found[one % 200], found[one % 404]) == (2, 1)
    assert found['colony_requests_total{method="GET",route="other",status="404"}'] == 1
    assert found['colony_requests_total{method="other",route="other",status="405"}'] == 1
    assert found['colony_requests_total{method="POST",route="/api/tickets",status="201"}'] == 2
    name = 'colony_request_seconds_count{route="/api/tickets/{project}/{number}"}'
    assert found[name] == 3
    assert not [each for each in found if "python_" in each or "process_" in each]
