"""Wake the process that holds a lock, so that it looks at once at what lies there for it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from colony.host.children import adopt


def wake_holder(lock: Path) -> int | None:
    """SIGTERM to whoever holds the lock: its pid. None: nobody could be told."""
    holder = adopt(lock)
    if holder is None:
        return None
    try:
        if holder.pid == os.getpid():
            return None
        holder.signal(signal.SIGTERM)
        return holder.pid
    finally:
        holder.close()
