"""Processes of sessions: started apart from their parent, held by pidfd, found again by their lock.

A session outlives the loop that started it: it has a session of its own, its output goes to a file,
and nothing ties it to its parent. So a loop that begins anew finds the process that holds a run
folder's lock, and watches it like one of its own.
"""

from __future__ import annotations

import contextlib
import os
import signal
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from colony.core.endings import Exit
from colony.errors import Refused
from colony.host.ending import send
from colony.host.files import PRIVATE_FILE, CannotWrite, kind_of, write_problem
from colony.host.identity import has_ended, identify, open_process
from colony.host.inherited import inherited
from colony.host.lock import holder_of, is_locked
from colony.host.notify import without_service


class Child(Protocol):
    """A process, held until `close`."""

    @property
    def pidfd(self) -> int:
        """Can be read, for a poll, once it has ended."""
        ...

    def ended(self) -> bool: ...

    def signal(self, number: signal.Signals) -> None:
        """To that very process; one that has ended is left alone."""
        ...

    def reap(self) -> Exit | None:
        """How it ended; None: it is not ours to ask, or it runs. Called once, when it has ended."""
        ...

    def close(self) -> None: ...


class Children(Protocol):
    def start(self, argv: Sequence[str], env: Mapping[str, str], log: Path) -> Child:
        """As the function below."""
        ...

    def adopt(self, lock: Path) -> Child | None:
        """As the function below."""
        ...


@dataclass(frozen=True, slots=True)
class Process:
    """A process of this machine. `own`: started by this process, to be reaped."""

    pid: int
    pidfd: int
    own: bool

    def ended(self) -> bool:
        return has_ended(self.pidfd, 0)

    def signal(self, number: signal.Signals) -> None:
        send(self.pidfd, number)

    def reap(self) -> Exit | None:
        if not self.own:
            return None
        with contextlib.suppress(ChildProcessError):
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                return Exit(code=code) if code >= 0 else Exit(signal=-code)
        return None

    def close(self) -> None:
        os.close(self.pidfd)


def start(argv: Sequence[str], env: Mapping[str, str], log: Path) -> Process:
    """Start a program in a session of its own, its output appended to `log` (made 0600).

    `Refused`, `CannotWrite`: the log cannot be opened, or there is no such program.
    """
    out = _log_at(log)
    try:
        pid = os.posix_spawn(
            argv[0],
            list(argv),
            without_service(env),
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, out, 1),
                (os.POSIX_SPAWN_DUP2, out, 2),
                *((os.POSIX_SPAWN_CLOSE, fd) for fd in inherited()),
            ],
            setsid=True,
            setsigmask=(),
            setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
        )
    except OSError as problem:
        raise Refused(f"{argv[0]}: not started: {(problem.strerror or '').lower()}") from None
    finally:
        os.close(out)
    return Process(pid, os.pidfd_open(pid), own=True)


def adopt(lock: Path) -> Process | None:
    """The process that holds this lock; None: nobody does, or the kernel does not tell who."""
    pid = holder_of(lock)
    process = identify(pid) if pid is not None else None
    pidfd = open_process(process) if process is not None else None
    if pidfd is None:
        return None
    if holder_of(lock) == pid and is_locked(lock):
        return Process(process.pid if process else 0, pidfd, own=False)
    os.close(pidfd)
    return None


def _log_at(log: Path) -> int:
    """A descriptor to append to it. A FIFO in its place is not waited for, and not written to."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        out = os.open(log, flags, PRIVATE_FILE)
    except OSError as problem:
        raise write_problem(problem, str(log)) from None
    found = os.fstat(out).st_mode
    if stat.S_ISREG(found):
        os.set_blocking(out, True)
        return out
    os.close(out)
    raise CannotWrite(f"{log}: is {kind_of(found)}, not a file")


class SystemChildren:
    """Processes of this machine."""

    def start(self, argv: Sequence[str], env: Mapping[str, str], log: Path) -> Child:
        return start(argv, env, log)

    def adopt(self, lock: Path) -> Child | None:
        return adopt(lock)


SYSTEM: Final = SystemChildren()
