"""What a part left listening on its session's ports: told, and stopped when it is ours."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import psutil

from colony.core.ports import Range
from colony.host.clock import Clock
from colony.host.ending import GRACE_S, Ended, end_processes
from colony.host.identity import (
    ProcessId,
    ancestors_of,
    command_of,
    identify,
    session_of,
    user_of,
)

AFTER_S: Final = 0.05
"""A listener is the part's when it started later than this after the part began."""
_LISTEN: Final = "0A"
"""The state of a listening socket in /proc/net/tcp."""


@dataclass(frozen=True, slots=True)
class Listener:
    """A process that listens on a port of the range. `pid` None: another user's."""

    port: int
    pid: int | None
    started_ms: int | None
    command: str
    outcome: Ended | Literal["skipped", "seen"]
    reason: str = ""
    """skipped: why it was left alone."""


@dataclass(frozen=True, slots=True)
class _Found:
    port: int
    process: ProcessId | None
    command: str
    spared: str


def stop_listeners(
    ports: Range, since_s: float, session: str, clock: Clock, grace_s: float = GRACE_S
) -> tuple[Listener, ...]:
    """Stop what listens (TCP) on `ports` and started after `since_s`, on the clock of `boot_s`.

    SIGTERM, `grace_s` seconds, SIGKILL. Left alone and told as skipped: what is older, another
    user's, ours or one that we descend from, or carries another `COLONY_SESSION`.
    """
    found = [_look(port, pid, since_s, session) for port, pid in _listening(ports)]
    # Looked at twice: a pid that is still there and still listens was ours to judge all along.
    confirmed = set(_listening(ports)) if found else set()
    ours = tuple(
        dict.fromkeys(
            each.process
            for each in found
            if each.process and not each.spared and (each.port, each.process.pid) in confirmed
        )
    )
    ended = dict(zip(ours, end_processes(ours, clock, grace_s), strict=True))
    now_ms, now_s = clock.wall_ms(), clock.boot_s()
    return tuple(
        Listener(
            port=each.port,
            pid=each.process.pid if each.process else None,
            started_ms=now_ms - round((now_s - each.process.started_s) * 1000)
            if each.process
            else None,
            command=each.command,
            outcome="skipped"
            if each.spared or not each.process
            else ended.get(each.process, "gone"),
            reason=each.spared,
        )
        for each in found
    )


def seen_listeners(ports: Range, since_s: float, session: str) -> tuple[Listener, ...]:
    """What listens on `ports` now and is the part's; nothing is stopped.

    Cheap where nothing listens: it is asked once a second while a part runs, because what a box
    held is gone with it and could not be told afterwards.
    """
    if not _anything_listens(ports):
        return ()
    found = (_look(port, pid, since_s, session) for port, pid in _listening(ports))
    return tuple(
        Listener(each.port, each.process.pid, None, each.command, "seen")
        for each in found
        if each.process and not each.spared
    )


def _anything_listens(ports: Range) -> bool:
    """By the kernel's own tables, without asking whose they are."""
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        try:
            lines = table.read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            _, local, _, state, *_ = line.split()
            if state == _LISTEN and ports[0] <= int(local.rpartition(":")[2], 16) <= ports[1]:
                return True
    return False


def _listening(ports: Range) -> list[tuple[int, int | None]]:
    """Port and pid of every listener on the range, each pair once, by port."""
    first, last = ports
    pairs = {
        (connection.laddr.port, connection.pid)
        for connection in psutil.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
        and connection.laddr
        and first <= connection.laddr.port <= last
    }
    return sorted(pairs, key=lambda pair: (pair[0], pair[1] or 0))


def _look(port: int, pid: int | None, since_s: float, session: str) -> _Found:
    process = None if pid is None else identify(pid)
    if process is None:
        return _Found(port, None, "", "another user's process")
    return _Found(port, process, command_of(process.pid), _spared(process, since_s, session))


def _spared(process: ProcessId, since_s: float, session: str) -> str:
    """Why the process is left alone; empty: it is the part's."""
    carried = session_of(process.pid)
    if process.pid in ancestors_of(os.getpid()):
        return "Colony runs under it"
    if user_of(process.pid) != os.geteuid():
        return "another user's process"
    if carried is not None and carried != session:
        return f"belongs to session {carried}"
    if process.started_s <= since_s + AFTER_S:
        return "was there before the part"
    return ""
