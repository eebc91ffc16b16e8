"""`colony tracker serve` as a real process: start, refusals, signals."""

from __future__ import annotations

import json
import select
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from colony.serve.running import address_of, listen
from tests.cli.conftest import Colony
from tests.fakes.served import on_file, store_at


@dataclass
class Running:
    process: subprocess.Popen[bytes]
    line: str
    """The line that says it listens."""
    before: list[str]

    @property
    def url(self) -> str:
        return self.line.split()[1]


def line_of(process: subprocess.Popen[bytes]) -> str:
    """The next line on stdout, empty at its end."""
    assert process.stdout is not None
    ready, _, _ = select.select([process.stdout], [], [], 60)
    assert ready, "no line within a minute"
    return process.stdout.readline().decode().rstrip("\n")


@contextmanager
def started(colony: Colony, *options: str, **environ: str) -> Iterator[Running]:
    """A server on a port of the kernel's choice, which listens when the block begins."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "colony", "tracker", "serve", *options],
        cwd=colony.cwd, env=colony.environ | {"COLONY_LISTEN": "127.0.0.1:0"} | environ,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
    )  # fmt: skip
    try:
        before = []
        while not (line := line_of(process)).startswith(("SERVE ", '{"kind": "serve"')):
            assert line, process.stderr.read() if process.stderr else ""
            before.append(line)
        yield Running(process, line, before)
    finally:
        process.kill()
        process.communicate()


def token(colony: Colony, name: str = "anna", **kind: Any) -> dict[str, str]:
    store = store_at(f"sqlite:///{colony.home / 'colony.db'}", lambda: time.time_ns() // 10**6)
    secret = store.token(name, **kind)
    store.close()
    return {"authorization": f"Bearer {secret}"}


def ended(running: Running, within_s: float) -> int:
    began = time.monotonic()
    code = running.process.wait(60)
    assert time.monotonic() - began < within_s
    return code


def test_it_makes_the_database_and_says_when_it_listens(colony: Colony) -> None:
    with started(colony) as running:
        file = colony.home / "colony.db"
        assert running.before == [f"INIT tracker made: {file}"]
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert running.url.startswith("http://127.0.0.1:")
        assert not running.url.endswith(":0")
        health = httpx.get(f"{running.url}/api/health", trust_env=False)
        assert health.json()["ok"] is True
        offset = health.headers["date"]
        assert str(time.gmtime().tm_year) in offset
        mine = httpx.get(f"{running.url}/api/me", headers=token(colony), trust_env=False)
        assert mine.json()["owner"] is True
    with started(colony) as running:
        assert running.before == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_in_order_with_requests_waiting(colony: Colony, number: int) -> None:
    with started(colony) as running:
        headers = token(colony)
        host, port = running.url.removeprefix("http://").split(":")
        last = httpx.get(f"{running.url}/api/events", headers=headers, trust_env=False).json()
        asked = (
            f"GET /api/events?wait=60&after={last['last']} HTTP/1.1\r\nHost: x\r\n"
            f"Authorization: {headers['authorization']}\r\n\r\n"
        )
        waiting = [socket.create_connection((host, int(port)), 30) for _ in range(5)]
        for each in waiting:
            each.sendall(asked.encode())
        while waiting_at(running.url, headers) < 5:
            time.sleep(0.02)
        running.process.send_signal(number)
        assert ended(running, 4) == 0
        for each in waiting:
            said = b"".join(iter(lambda connection=each: connection.recv(4096), b""))
            assert said.startswith(b"HTTP/1.1 200 ")
            each.close()
        assert running.process.stderr is not None
        assert running.process.stderr.read() == b""


def waiting_at(url: str, headers: dict[str, str]) -> float:
    text = httpx.get(f"{url}/metrics", headers=headers, trust_env=False).text
    [line] = [each for each in text.splitlines() if each.startswith("colony_requests_waiting")]
    return float(line.split()[1])


def test_a_port_in_use_is_one_line_and_nothing_is_made(colony: Colony) -> None:
    with listen(address_of("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = colony("tracker", "serve", "--listen", f"127.0.0.1:{port}")
    assert done.code == 5
    assert done.error == f"ERROR 127.0.0.1:{port} is in use by another program"
    assert not colony.home.exists()


@pytest.mark.parametrize(
    ("listen_", "line"),
    [
        ("nowhere.invalid:8600", "ERROR nowhere.invalid: "),
        ("192.0.2.7:8600", "ERROR 192.0.2.7:8600 is reached from other machines"),
    ],
)
def test_an_address_that_is_not_here_is_one_line(colony: Colony, listen_: str, line: str) -> None:
    done = colony("tracker", "serve", "--listen", listen_)
    assert done.code in (3, 4)
    assert done.error.startswith(line)


def test_an_address_of_another_machine_cannot_be_listened_on(colony: Colony) -> None:
    colony.home.mkdir()
    token(colony, owner=True)
    done = colony("tracker", "serve", "--listen", "192.0.2.7:8600")
    assert done.code == 4
    assert done.error.startswith("ERROR cannot listen on 192.0.2.7:8600: ")


def test_other_machines_are_not_served_without_an_owners_token(colony: Colony) -> None:
    refused = "reached from other machines, and no owner has a token that is still good: "
    for prepare in (
        colony.home.mkdir,
        lambda: token(colony, "bob"),
        lambda: token(colony, "anna", owner=True, expires_ms=time.time_ns() // 10**6 + 50),
    ):
        prepare()
        time.sleep(0.06)
        done = colony("tracker", "serve", "--listen", "0.0.0.0:0")
        assert done.code == 3
        assert refused + "colony tracker token anna --owner" in done.error
    token(colony, "anna", owner=True)
    with started(colony, "--listen", "0.0.0.0:0") as running:
        assert running.url.startswith("http://0.0.0.0:")
        assert running.process.stderr is not None
        assert b"WARNING" in running.process.stderr.readline()


def test_a_trackers_own_address_cannot_be_served(colony: Colony) -> None:
    colony.environ["COLONY_TICKETS_URL"] = "https://tracker.example"
    done = colony("tracker", "serve")
    assert done.code == 3
    assert "names a server" in done.error


def test_a_damaged_database_is_refused_before_anything_is_answered(colony: Colony) -> None:
    colony.home.mkdir()
    (colony.home / "colony.db").write_bytes(b"not a database" * 100)
    done = colony("tracker", "serve", "--listen", "127.0.0.1:0")
    assert done.code == 3
    assert "left as it is" in done.error


def test_options_and_variables_reach_the_server(colony: Colony) -> None:
    colony.home.mkdir()
    headers = token(colony, owner=True)
    with started(
        colony, "--public-read", "--public-url", "https://t.example/", "--json",
        COLONY_WRITE_LIMIT="1",
    ) as running:  # fmt: skip
        told = json.loads(running.line)
        assert (told["kind"], told["publicUrl"], told["publicRead"]) == (
            "serve", "https://t.example", True,
        )  # fmt: skip
        assert told["pid"] == running.process.pid
        url = told["url"]
        body = {"project": "shop", "subject": "x"}
        made = httpx.post(f"{url}/api/tickets", json=body, headers=headers, trust_env=False)
        assert made.json()["url"] == "https://t.example/t/shop/1"
        again = httpx.post(f"{url}/api/tickets", json=body, headers=headers, trust_env=False)
        assert again.status_code == 429
        assert httpx.get(f"{url}/api/tickets", trust_env=False).status_code == 200
    with started(colony, COLONY_PUBLIC_READ="on") as running:
        assert httpx.get(f"{running.url}/api/tickets", trust_env=False).status_code == 200
    with started(colony) as running:
        assert httpx.get(f"{running.url}/api/tickets", trust_env=False).status_code == 401


def test_a_database_that_cannot_be_written_is_503(colony: Colony) -> None:
    """No byte may be written by this process: that is no bug of the server."""
    colony.home.mkdir()
    headers = token(colony, owner=True)
    script = f"ulimit -f 0; exec '{sys.executable}' -u -m colony tracker serve"
    process = subprocess.Popen(
        ["/bin/bash", "-c", script],
        cwd=colony.cwd, env=colony.environ | {"COLONY_LISTEN": "127.0.0.1:0"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
    )  # fmt: skip
    try:
        url = line_of(process).split()[1]
        body = {"project": "shop", "subject": "x"}
        made = httpx.post(f"{url}/api/tickets", json=body, headers=headers, trust_env=False)
        assert made.status_code == 503
        assert made.headers["retry-after"] == "1"
        assert str(colony.home) not in made.text
        got = httpx.get(f"{url}/api/tickets", headers=headers, trust_env=False)
        assert got.json() == {"tickets": [], "cursor": None}
    finally:
        process.kill()
        _, told = process.communicate()
    assert str(colony.home).encode() in told


def test_a_socket_names_its_protocol() -> None:
    """Else asyncio leaves Nagle's algorithm on, and every answer takes 40 ms."""
    with listen(address_of("localhost", 0)) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_addresses_know_whether_others_reach_them() -> None:
    for name, loopback in (
        ("127.0.0.1", True), ("127.9.9.9", True), ("localhost", True), ("::1", True),
        ("0.0.0.0", False), ("::", False), ("192.0.2.7", False), ("10.1.2.3", False),
    ):  # fmt: skip
        assert address_of(name, 0).is_loopback is loopback, name
    assert str(address_of("::1", 8600)) == "[::1]:8600"


def test_a_second_server_may_serve_the_same_database(colony: Colony, tmp_path: Path) -> None:
    """Replicas agree in their entity tags."""
    store = on_file(tmp_path)
    store.close()
    with started(colony) as one, started(colony) as two:
        headers = token(colony, owner=True)
        tags = {
            httpx.get(f"{each.url}/api/tickets", headers=headers, trust_env=False).headers["etag"]
            for each in (one, two)
        }
        assert len(tags) == 1


def test_more_connections_than_files_are_one_warning(colony: Colony) -> None:
    """asyncio prints a stack for each; those that say nothing make room for those that ask."""
    colony.home.mkdir()
    token(colony)
    script = f"ulimit -n 24; exec '{sys.executable}' -u -m colony tracker serve"
    process = subprocess.Popen(
        ["/bin/bash", "-c", script],
        cwd=colony.cwd, env=colony.environ | {"COLONY_LISTEN": "127.0.0.1:0"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
    )  # fmt: skip
    silent = []
    try:
        url = line_of(process).split()[1]
        host, port = url.removeprefix("http://").split(":")
        silent = [socket.create_connection((host, int(port)), 10) for _ in range(60)]
        assert process.stderr is not None
        ready, _, _ = select.select([process.stderr], [], [], 30)
        assert ready
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        for each in silent:
            each.close()
        process.kill()
        _, told = process.communicate()
    [line] = told.decode().splitlines()
    assert line.startswith("WARNING a connection cannot be taken: Too many open files")
