"""F51, F39: eight processes and a server's clients hammer one file; each write counts once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from typing import Any

import httpx

from colony.core.ticket import NewTicket, Ref
from tests.fakes.served import Store, on_file

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = ROOT / "tests" / "contract"
PROCESSES = 8
CLIENTS = 4
ROUNDS = 3
TRIES = 100
LATER = (429, 503)
"""What says "again, later": more writes than a token has a second, and a busy database."""


@contextmanager
def server(home: Path) -> Iterator[str]:
    """`colony tracker serve` as a process of its own; it ends at a signal, in order."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(ROOT),
        "COLONY_PERSON": "anna",
    }
    words = ["--home", str(home), "--json", "tracker", "serve", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "colony", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=home,
    )
    try:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        assert said["kind"] == "serve", said
        yield said["url"]
        process.terminate()
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (0, "")
    finally:
        process.kill()
        process.communicate()


def hammers(home: Path) -> list[subprocess.Popen[str]]:
    return [
        subprocess.Popen(
            [sys.executable, CONTRACT / "hammer.py", f"sqlite:///{home / 'colony.db'}", f"m{at}",
             str(ROUNDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": f"{CONTRACT}:{ROOT}"},
        )
        for at in range(PROCESSES)
    ]  # fmt: skip


def once(client: httpx.Client, path: str, body: dict[str, Any], key: str) -> Any:
    """The answer of a write, asked for until it is there, and then once more (F39)."""
    for _ in range(TRIES):
        answer = client.post(path, json=body, headers={"idempotency-key": key})
        if answer.status_code not in LATER:
            break
        time.sleep(int(answer.headers["retry-after"]) if answer.status_code == 429 else 0)
    assert answer.status_code in (200, 201), answer.text
    again = client.post(path, json=body, headers={"idempotency-key": key})
    assert again.status_code in (answer.status_code, *LATER)
    if again.status_code not in LATER:
        assert again.content == answer.content
    return answer.json()


def asks(url: str, token: str, name: str, start: Barrier) -> list[int]:
    """What one client of the server writes; the ids of its comments."""
    headers = {"authorization": f"Bearer {token}"}
    made = []
    with httpx.Client(base_url=url, headers=headers, timeout=120, trust_env=False) as client:
        start.wait()
        for at in range(ROUNDS):
            text = f"{name} {at}"
            told = once(client, "/api/tickets/shop/1/comments", {"text": text}, f"{name} c{at}")
            made.append(told["id"])
            new = {"project": "shop", "subject": text}
            once(client, "/api/tickets", new, f"{name} t{at}")
            once(client, "/api/tickets", {"project": "barn", "subject": text,
                                          "source": f"mail:{at}"}, f"{name} s{at}")  # fmt: skip
    return made


def test_each_write_counts_once_whoever_writes(tmp_path: Path) -> None:
    store = on_file(tmp_path)
    anna = store.user("anna", owner=True)
    token = store.token("anna")
    store.service.create(anna, NewTicket("shop", "Begin"), key="b")
    processes = hammers(tmp_path)
    start = Barrier(CLIENTS + 1, timeout=60)
    try:
        for each in processes:
            assert each.stdout is not None
            assert each.stdout.readline() == "ready\n"
        with server(tmp_path) as url, ThreadPoolExecutor(CLIENTS) as pool:
            asked = [pool.submit(asks, url, token, f"c{at}", start) for at in range(CLIENTS)]
            start.wait()
            for each in processes:
                assert each.stdin is not None
                each.stdin.write("\n")
                each.stdin.flush()
            made = [event for each in asked for event in each.result(120)]
            for each in processes:
                each.communicate(timeout=120)
        assert [each.returncode for each in processes] == [0] * PROCESSES
        check_once(store, made)
    finally:
        for each in processes:
            each.kill()
            each.communicate()
        store.close()


def check_once(store: Store, made: list[int]) -> None:
    names = [f"m{at}" for at in range(PROCESSES)] + [f"c{at}" for at in range(CLIENTS)]
    wanted = sorted(f"{name} {at}" for name in names for at in range(ROUNDS))
    service = store.service
    feed = service.changes(0, 10_000).events
    assert [each.event.id for each in feed] == list(range(1, len(feed) + 1))
    history = service.ticket(Ref("shop", 1))
    comments = {each.id: each.text for each in history.events if each.kind == "comment"}
    assert sorted(comments.values()) == wanted
    assert sorted(comments[each] for each in made) == [
        each for each in wanted if each.startswith("c")
    ]
    assert history.ticket.version == len(history.events)
    shop = [each for each in service.tickets("shop") if each.ref.number > 1]
    assert sorted(each.subject for each in shop) == wanted
    assert sorted(each.ref.number for each in shop) == list(range(2, len(wanted) + 2))
    barn = service.tickets("barn")
    assert sorted(each.source for each in barn) == [f"mail:{at}" for at in range(ROUNDS)]
