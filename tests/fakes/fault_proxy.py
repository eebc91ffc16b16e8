"""A proxy in front of a real server that does to its traffic what networks and proxies do."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.fakes.raw_server import Asked, RawServer


@dataclass(frozen=True, slots=True)
class Drop:
    """The connection ends before the request reaches the server."""


@dataclass(frozen=True, slots=True)
class Lose:
    """The server does it; nobody is told."""


@dataclass(frozen=True, slots=True)
class Delay:
    """The server is asked that much later."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Twice:
    """The server gets the request two times; the second answer goes back."""


@dataclass(frozen=True, slots=True)
class Truncate:
    """Of the answer, head and body, that many bytes come back."""

    at: int


@dataclass(frozen=True, slots=True)
class Say:
    """The client is told this instead; `done`: the server did it all the same."""

    answer: bytes
    done: bool = False


@dataclass(frozen=True, slots=True)
class Silent:
    """Half-open: the connection stands, and nothing is ever said. `done` as above."""

    done: bool = False


Fault = Drop | Lose | Delay | Twice | Truncate | Say | Silent
Fate = Callable[[Asked], Fault | None]


class FaultProxy:
    """Each request meets the fate that is set at that moment; None: it passes."""

    def __init__(self, upstream: str) -> None:
        parts = urlsplit(upstream)
        self._to = (parts.hostname or "", parts.port or 80)
        self._server = RawServer(self._reply)
        self.fate: Fate = lambda _: None
        self.passed: list[Asked] = []
        """What reached the server, in order."""

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def asked(self) -> list[Asked]:
        """What the client sent, in order."""
        return self._server.asked

    def close(self) -> None:
        self._server.close()

    def _reply(self, asked: Asked) -> bytes | None:
        match self.fate(asked):
            case None:
                return self._forward(asked)
            case Drop():
                return b""
            case Lose():
                self._forward(asked)
                return b""
            case Delay(seconds):
                threading.Event().wait(seconds)
                return self._forward(asked)
            case Twice():
                self._forward(asked)
                return self._forward(asked)
            case Truncate(at):
                return self._forward(asked)[:at]
            case Say(answer, done):
                if done:
                    self._forward(asked)
                return answer
            case Silent(done):
                if done:
                    self._forward(asked)
                return None

    def _forward(self, asked: Asked) -> bytes:
        """The server's answer, byte by byte."""
        self.passed.append(asked)
        headers = {**asked.headers, "connection": "close"}
        lines = [f"{asked.method} {asked.target} HTTP/1.1"]
        lines += [f"{name}: {text}" for name, text in headers.items()]
        with socket.create_connection(self._to, timeout=30) as connection:
            connection.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + asked.body)
            parts = []
            while part := connection.recv(65536):
                parts.append(part)
        return b"".join(parts)


@contextlib.contextmanager
def faulty(upstream: str) -> Iterator[FaultProxy]:
    proxy = FaultProxy(upstream)
    try:
        yield proxy
    finally:
        proxy.close()
