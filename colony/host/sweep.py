"""The sweep: what still carries a session's name in its environment is ended."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from colony.host.clock import Clock
from colony.host.ending import GRACE_S, Ended, end_processes
from colony.host.identity import (
    ProcessId,
    ancestors_of,
    command_of,
    identify,
    is_alive,
    pids,
    session_of,
    user_of,
)

ROUNDS: Final = 10
"""Looks at the process table: what is ended may have started something in between."""


@dataclass(frozen=True, slots=True)
class Swept:
    """A process that was ended (or `survived`), with its command line."""

    process: ProcessId
    command: str
    ended: Ended


def sweep(
    session: str, clock: Clock, keep: Collection[int] = (), grace_s: float = GRACE_S
) -> tuple[Swept, ...]:
    """End every process of this user that has `COLONY_SESSION=<session>` in its environment.

    SIGTERM, `grace_s` seconds, SIGKILL. Never this process or one it descends from, nor the pids
    in `keep`. Before a part and after it, where no part of the session runs.
    """
    spared = ancestors_of(os.getpid()) | set(keep)
    swept: dict[ProcessId, Swept] = {}
    for _ in range(ROUNDS):
        found = {
            process: command
            for process, command in _carriers(session, spared).items()
            if process not in swept
        }
        if not found:
            break
        ended = end_processes(tuple(found), clock, grace_s)
        for (process, command), how in zip(found.items(), ended, strict=True):
            swept[process] = Swept(process, command, how)
    return tuple(swept.values())


def _carriers(session: str, spared: Collection[int]) -> dict[ProcessId, str]:
    if not session:
        raise ValueError("a sweep needs a session")
    found: dict[ProcessId, str] = {}
    for pid in pids():
        if pid in spared or user_of(pid) != os.geteuid():
            continue
        process = identify(pid)
        command = command_of(pid)
        # Looked at last, and the process is still the same: it was read from this very one.
        if process and session_of(pid) == session and is_alive(process):
            found[process] = command
    return found
