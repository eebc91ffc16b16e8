"""A server that answers with exactly these bytes: for what no real server would say."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Reply = Callable[["Asked"], bytes | None]
"""The bytes of the answer, after which the connection is closed. None: nothing is ever said."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came. Header names are in small letters."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    number: int
    """Counts the requests of this server from 1."""

    @property
    def token(self) -> str:
        return self.headers.get("authorization", "").removeprefix("Bearer ")


def answer(
    status: int = 200,
    value: object = None,
    *,
    body: bytes | None = None,
    kind: str = "application/json",
    **headers: str,
) -> bytes:
    """An answer of HTTP/1.1; `headers` are written with underscores."""
    content = json.dumps(value).encode() if body is None else body
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(content)}", "connection: close"]
    if kind:
        lines.append(f"content-type: {kind}")
    lines += [f"{name.replace('_', '-')}: {text}" for name, text in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


@dataclass
class RawServer:
    reply: Reply
    asked: list[Asked] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._begin(self._accept)

    def close(self) -> None:
        # Closing alone does not wake a thread that waits for connections.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with self._lock:
            held = list(self._open)
        for each in held:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(10)

    def _begin(self, run: Callable[..., None], *given: object) -> None:
        thread = threading.Thread(target=run, args=given, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with self._lock:
                self._open.append(connection)
            self._begin(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            head, _, body = _until(connection, b"\r\n\r\n")
            first, *lines = head.decode("latin-1").split("\r\n")
            method, target, _ = first.split(" ")
            headers = {
                name.lower(): text.strip()
                for name, _, text in (one.partition(":") for one in lines)
            }
            while len(body) < int(headers.get("content-length", "0")):
                body += _some(connection)
            with self._lock:
                asked = Asked(method, target, headers, body, len(self.asked) + 1)
                self.asked.append(asked)
            said = self.reply(asked)
            if said is None:
                connection.recv(1)
                return
            connection.sendall(said)
            connection.shutdown(socket.SHUT_WR)
            connection.close()


@contextlib.contextmanager
def answering(reply: Reply) -> Iterator[RawServer]:
    server = RawServer(reply)
    try:
        yield server
    finally:
        server.close()


def _until(connection: socket.socket, mark: bytes) -> tuple[bytes, bytes, bytes]:
    data = b""
    while mark not in data:
        data += _some(connection)
    return data.partition(mark)


def _some(connection: socket.socket) -> bytes:
    data = connection.recv(65536)
    if not data:
        raise OSError("the client went away")
    return data
