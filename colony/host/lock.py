"""Locks that the kernel holds: they end with their holder, whatever ended it.

A lock file stays where it is; only the lock on it counts. A dev folder is locked itself, because
a file inside it could be removed by whoever works there.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

from colony.errors import Busy, Refused
from colony.host.files import PRIVATE_FILE, folder_at, write_problem
from colony.host.identity import command_of


class Lock:
    """A lock that is held until `release`, the end of the `with` block or of this process."""

    def __init__(self, path: Path, release: Callable[[], object]) -> None:
        self._release: Callable[[], object] | None = release
        self.path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.release()

    def release(self) -> None:
        release, self._release = self._release, None
        if release is not None:
            release()


def lock_file(path: Path, what: str, wait_s: float = 0.0) -> Lock:
    """Lock a file, made 0600 where it is missing, waiting for at most `wait_s` seconds.

    `Busy`: held by another process, which the message names. `what` says in a person's words what
    the lock stands for (`run folder s-…`).
    """
    lock = FileLock(path, timeout=wait_s, mode=PRIVATE_FILE, thread_local=False)
    try:
        lock.acquire(poll_interval=0.02)
    except Timeout:
        raise _busy(what, path) from None
    except OSError as problem:
        raise write_problem(problem, str(path)) from None
    return Lock(path, lock.release)


def lock_found(path: Path, what: str) -> Lock:
    """Lock a lock file that is there; one that is missing is held by nobody, and is not made.

    `Busy`: held by another process, or no file that could be asked (a link, a socket).
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    with contextlib.ExitStack() as stack:
        try:
            fd = os.open(path, flags)
            stack.callback(os.close, fd)
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            pass
        except BlockingIOError:
            raise _busy(what, path) from None
        except OSError as problem:
            raise Busy(f"{what}: cannot be locked: {problem.strerror} ({path})") from None
        return Lock(path, stack.pop_all().close)


def lock_folder(path: Path, what: str) -> Lock:
    """Lock a folder itself. `Busy`: held by another process; `Refused`: there is no such folder."""
    with contextlib.ExitStack() as stack:
        try:
            fd = stack.enter_context(folder_at(os.path.realpath(path, strict=True)))
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _busy(what, path) from None
        except OSError as problem:
            raise Refused(f"{path}: cannot be locked: {problem.strerror}") from None
        return Lock(path, stack.pop_all().close)


def is_locked(path: Path) -> bool:
    """Somebody holds the lock on this file or folder now. A missing one is held by nobody.

    What cannot be asked (a link, a socket, a folder closed to this user) counts as held: nobody
    may work there, and it stops nothing else.
    It asks by taking a shared lock for an instant: whoever takes the lock at that very moment
    should wait a little (`wait_s`).
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def holder_of(path: Path) -> int | None:
    """The pid that holds the lock, where the kernel tells it; not one that only asks for it."""
    try:
        found = path.stat()
        locks = Path("/proc/locks").read_text(encoding="ascii")
    except OSError:
        return None
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}"
    for line in locks.splitlines():
        # 1: FLOCK ADVISORY WRITE 4711 08:01:131 0 EOF; a waiter's line has an arrow in front
        words = line.split()
        if words[1:4] == ["FLOCK", "ADVISORY", "WRITE"] and words[5] == f"{device}:{found.st_ino}":
            pid = int(words[4])
            return pid if pid > 0 else None
    return None


def _busy(what: str, path: Path) -> Busy:
    pid = holder_of(path)
    by = f" by process {pid} ({command_of(pid)})" if pid else ""
    return Busy(f"{what}: held{by} ({path})")
