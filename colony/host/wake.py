"""Wake the process that holds a lock, so that it looks at once at what lies there for it."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from colony.host.identity import identify, open_process
from colony.host.lock import holder_of


def wake_holder(lock: Path) -> int | None:
    """SIGTERM to whoever holds the lock: its pid. None: nobody could be told.

    It is opened first, and sent the signal only while it still holds the lock.
    """
    pid = holder_of(lock)
    process = identify(pid) if pid is not None and pid != os.getpid() else None
    pidfd = open_process(process) if process is not None else None
    if pidfd is None:
        return None
    try:
        if holder_of(lock) == pid:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(pidfd, signal.SIGTERM)
                return pid
    finally:
        os.close(pidfd)
    return None
