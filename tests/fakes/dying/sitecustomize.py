"""Death at an instant: the n-th durable effect of the program, counted over all its processes.

Python runs this file at its start where its folder comes first on the path. It does nothing unless
`DYING_COUNT` names a file. Then it counts, in that file, what outlives a process: a file put in its
place, a commit, a request or an answer, a process started, the word that lets an agent run. Right
after the `DYING_AT`-th it kills: `self`, the process that made it; `all`, every process of the home
(the machine); `loop`, the loop alone. Agents never get here: their environment is a list.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import signal
import socket
import sqlite3
import sys
from typing import Any

COUNT = os.environ.get("DYING_COUNT", "")
AT = int(os.environ.get("DYING_AT", "0"))
WHOM = os.environ.get("DYING_WHOM", "self")

_open, _write, _read, _close = os.open, os.write, os.read, os.close


def counted() -> int:
    """One more; how many there are now."""
    fd = _open(COUNT, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        number = int(_read(fd, 20) or b"0") + 1
        os.lseek(fd, 0, os.SEEK_SET)
        _write(fd, str(number).encode())
        return number
    finally:
        _close(fd)


def instant(what: str) -> None:
    number = counted()
    if os.environ.get("DYING_TRACE"):
        fd = _open(COUNT + ".trace", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        _write(fd, f"{number} {os.getpid()} {sys.argv[1:2]} {what}\n".encode())
        _close(fd)
    if number == AT:
        kill()


def kill() -> None:
    for pid in processes():
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    if WHOM != "loop":
        os.kill(os.getpid(), signal.SIGKILL)


def processes() -> list[int]:
    """Who dies beside, or in place of, the one that is here: by the environment they share."""
    if WHOM == "self":
        return []
    found = []
    for process in pathlib.Path("/proc").iterdir():
        if not process.name.isdecimal() or int(process.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            ours = f"DYING_COUNT={COUNT}".encode() in process.joinpath("environ").read_bytes()
            looping = b"run" in process.joinpath("cmdline").read_bytes().split(b"\0")
            if ours and (looping or WHOM == "all"):
                found.append(int(process.name))
    return found


def after(function: Any, what: str) -> Any:
    def called(*args: Any, **more: Any) -> Any:
        result = function(*args, **more)
        instant(f"{what} {args[-1] if args else ''}"[:120])
        return result

    return called


def write(fd: int, data: bytes) -> int:
    written = _write(fd, data)
    if bytes(data) == b"go\n":
        instant("go")
    return written


class Connection(sqlite3.Connection):
    """Counts commits that change something: a look ends in one, too."""

    changed = 0

    def execute(self, sql: str, *args: Any) -> Any:
        result = super().execute(sql, *args)
        if sql == "COMMIT" and self.total_changes != self.changed:
            self.changed = self.total_changes
            instant("commit")
        return result


def connect(*args: Any, **more: Any) -> Any:
    return _connect(*args, **{"factory": Connection} | more)


def send(self: socket.socket, data: Any, *args: Any) -> int:
    """A write is asked for; whether it is answered is the next instant."""
    number = _send(self, data, *args)
    if bytes(data[:5]) in (b"POST ", b"PATCH", b"PUT /"):
        asked.add(self.fileno())
        instant("asked")
    return number


def recv(self: socket.socket, *args: Any) -> bytes:
    data = _recv(self, *args)
    if self.fileno() in asked:
        asked.discard(self.fileno())
        instant("answered")
    return data


asked: set[int] = set()
"""Descriptors on which a write waits for its answer."""

if COUNT:
    _connect = sqlite3.connect
    sqlite3.connect = connect  # type: ignore[assignment]
    os.replace = after(os.replace, "replace")
    os.rename = after(os.rename, "rename")
    os.posix_spawn = after(os.posix_spawn, "spawn")
    os.write = write  # type: ignore[assignment]
    _send, _recv = socket.socket.send, socket.socket.recv
    socket.socket.send = send  # type: ignore[method-assign,assignment]
    socket.socket.recv = recv  # type: ignore[method-assign,assignment]
