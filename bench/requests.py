"""Requests per second of a server: plain sockets, so that the client costs next to nothing."""

from __future__ import annotations

import itertools
import json
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Load:
    """What is asked for again and again. `body` makes that of each request."""

    url: str
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)
    body: Callable[[int], bytes] | None = None
    status: int = 200

    def request(self, number: int) -> bytes:
        parts = urlsplit(self.url)
        content = b"" if self.body is None else self.body(number)
        headers = {"Host": parts.netloc, **self.headers}
        if self.body is not None:
            headers |= {
                "Content-Type": "application/json", "Content-Length": str(len(content)),
                "Idempotency-Key": f"bench:{time.time_ns()}:{number}",
            }  # fmt: skip
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f"{self.method} {parts.path} HTTP/1.1\r\n{head}\r\n".encode() + content


def a_comment(number: int) -> bytes:
    return json.dumps({"text": f"A comment of the usual length, number {number}."}).encode()


def per_second(load: Load, clients: int, seconds: float) -> float:
    """Answers a second to so many clients, each on a connection of its own."""
    numbers, counts = itertools.count(), [0] * clients
    begun = threading.Barrier(clients + 1)
    until = [0.0]

    def ask(at: int) -> None:
        with Connection(load) as connection:
            connection.ask(next(numbers))
            begun.wait()
            begun.wait()
            while time.perf_counter() < until[0]:
                connection.ask(next(numbers))
                counts[at] += 1

    threads = [threading.Thread(target=ask, args=(at,)) for at in range(clients)]
    for each in threads:
        each.start()
    begun.wait()
    start = time.perf_counter()
    until[0] = start + seconds
    begun.wait()
    for each in threads:
        each.join()
    return sum(counts) / (time.perf_counter() - start)


class Connection:
    """One that is kept."""

    def __init__(self, load: Load) -> None:
        parts = urlsplit(load.url)
        self._load = load
        self._socket = socket.create_connection((parts.hostname, parts.port), timeout=60)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._read = self._socket.makefile("rb", 1 << 20)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self._read.close()
        self._socket.close()

    def ask(self, number: int) -> dict[str, str]:
        """The headers of the answer; its status is the expected one."""
        self._socket.sendall(self._load.request(number))
        status = int(self._read.readline().split()[1])
        headers = {}
        while line := self._read.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        body = self._read.read(int(headers.get("content-length", 0)))
        assert status == self._load.status, (status, body[:200])
        return headers
