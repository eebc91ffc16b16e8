"""The feed: all events in order, 304, and waiting for the next one."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

from colony.tracker.copies import backup
from colony.tracker.wire import read
from tests.fakes.served import in_memory, on_file
from tests.serve.conftest import Api, Serve

ONE = "/api/tickets/shop/1"
ROOT = Path(__file__).resolve().parents[2]
WAIT = {"wait": "30"}


def test_the_feed_is_that_of_the_store(api: Api, shop: httpx.Client) -> None:
    shop.post(f"{ONE}/comments", json={"text": "hello"})
    told = shop.get("/api/events").json()
    changes = api.store.service.changes(0)
    assert told["last"] == changes.last
    events = read.objects(told["events"], "events", read.feed_event)
    assert events == changes.events
    assert told["events"][0]["number"] is None
    part = shop.get("/api/events", params={"after": 1, "limit": 2}).json()
    assert [each["id"] for each in part["events"]] == [2, 3]
    assert part["last"] == 3


def test_nothing_new_is_304_for_whoever_knows_it(shop: httpx.Client) -> None:
    first = shop.get("/api/events")
    last, etag = first.json()["last"], first.headers["etag"]
    assert etag == f'"{last}"'
    asked = {"after": last}
    same = shop.get("/api/events", params=asked, headers={"if-none-match": etag})
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", etag)
    unconditional = shop.get("/api/events", params=asked)
    assert unconditional.json() == {"events": [], "last": last}
    # Who knows the number but asks for the events themselves gets them.
    whole = shop.get("/api/events", headers={"if-none-match": etag})
    assert len(whole.json()["events"]) == last
    shop.post(f"{ONE}/comments", json={"text": "x"})
    news = shop.get("/api/events", params=asked, headers={"if-none-match": etag})
    assert [each["id"] for each in news.json()["events"]] == [last + 1]


def test_a_store_put_back_from_an_older_copy_says_a_smaller_last(
    serve: Serve, tmp_path: Path
) -> None:
    api = serve()
    anna = api.client("anna")
    anna.post("/api/tickets", json={"project": "shop", "subject": "x"})
    older = anna.get("/api/events").json()["last"]
    copy = tmp_path / "copy"
    copy.mkdir()
    backup(f"sqlite:///{tmp_path / 'colony.db'}", copy / "colony.db")
    anna.post(f"{ONE}/comments", json={"text": "x"})
    newer = anna.get("/api/events").json()["last"]
    restored = on_file(copy)
    client = serve(restored).client(None)
    headers = {"authorization": anna.headers["authorization"], "if-none-match": f'"{newer}"'}
    told = client.get("/api/events", params={"after": newer} | WAIT, headers=headers)
    assert (told.status_code, told.json()) == (200, {"events": [], "last": older})
    restored.close()


def last_of(client: httpx.Client) -> int:
    last: int = client.get("/api/events").json()["last"]
    return last


def waiting(api: Api, **params: Any) -> httpx.Response:
    return api.client("anna").get("/api/events", params={**WAIT, **params}, timeout=60)


def test_waiting_ends_with_the_next_event_of_this_server(api: Api, shop: httpx.Client) -> None:
    last = last_of(shop)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(waiting, api, after=last)
        api.until_waiting(1)
        shop.post(f"{ONE}/comments", json={"text": "wake up"})
        told = answer.result(20).json()
    assert [each["text"] for each in told["events"]] == ["wake up"]


def test_a_write_of_this_server_wakes_without_a_look_at_the_database(serve: Serve) -> None:
    """A database in memory has no other writers to look for."""
    store = in_memory()
    api = serve(store)
    anna = api.client("anna")
    anna.post("/api/tickets", json={"project": "shop", "subject": "x"})
    for method, path, body in (
        ("POST", f"{ONE}/comments", {"text": "x"}),
        ("PATCH", ONE, {"subject": "y"}),
        ("DELETE", "/api/projects/shop/members/bob", None),
    ):
        anna.post("/api/projects/shop/members", json={"user": "bob", "role": "use"})
        last = last_of(anna)
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(waiting, api, after=last)
            api.until_waiting(1)
            anna.request(method, path, json=body)
            assert answer.result(20).json()["last"] == last + 1
    store.close()


def test_waiting_ends_with_the_next_event_of_another_process(
    api: Api, shop: httpx.Client, tmp_path: Path
) -> None:
    last = last_of(shop)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(waiting, api, after=last)
        api.until_waiting(1)
        subprocess.run(
            [sys.executable, "-m", "colony", "ticket", "comment", "shop", "1", "from elsewhere"],
            cwd=tmp_path, check=True, capture_output=True,
            env={
                "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(ROOT),
                "COLONY_HOME": str(tmp_path), "COLONY_PERSON": "anna",
            },
        )  # fmt: skip
        told = answer.result(20).json()
    assert [each["text"] for each in told["events"]] == ["from elsewhere"]


def test_waiting_ends_after_its_time(shop: httpx.Client) -> None:
    last = last_of(shop)
    asked = {"after": last, "wait": 1}
    assert shop.get("/api/events", params=asked).json() == {"events": [], "last": last}
    known = {"if-none-match": f'"{last}"'}
    assert shop.get("/api/events", params=asked, headers=known).status_code == 304


def test_what_is_there_is_not_waited_for(shop: httpx.Client) -> None:
    assert shop.get("/api/events", params=WAIT | {"after": 1}, timeout=5).json()["events"]


def test_those_who_wait_hold_no_thread_and_no_connection(api: Api, shop: httpx.Client) -> None:
    """There are 40 threads: were one held by each, nobody else would be answered."""
    last = last_of(shop)
    with ThreadPoolExecutor(50) as pool:
        answers = [pool.submit(waiting, api, after=last) for _ in range(50)]
        api.until_waiting(50)
        assert api.busy_threads() == 0
        assert shop.get("/api/tickets", timeout=10).status_code == 200
        open_ = api.store.service._engine._all  # type: ignore[attr-defined]
        alive = {thread for thread, _ in open_ if thread.is_alive()}
        assert len(alive) <= 41
        shop.post(f"{ONE}/comments", json={"text": "all of you"})
        for answer in answers:
            assert [each["text"] for each in answer.result(30).json()["events"]] == ["all of you"]
    assert threading.active_count() < 100


def test_nobody_looks_at_the_database_while_nobody_waits(api: Api, shop: httpx.Client) -> None:
    last = last_of(shop)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(waiting, api, after=last)
        api.until_waiting(1)
        assert api.desk.bell.looks
        shop.post(f"{ONE}/comments", json={"text": "x"})
        answer.result(20)
    api.until(lambda: not api.desk.bell.looks)
