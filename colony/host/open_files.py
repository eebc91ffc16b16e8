"""Who has a file open now, as far as this user may see."""

from __future__ import annotations

import os
from pathlib import Path


def holders(path: Path) -> tuple[int, ...]:
    """Pids of the other processes that have the file open. Those of other users may be hidden."""
    try:
        found = path.stat()
    except OSError:
        return ()
    wanted = (found.st_dev, found.st_ino)
    pids = (int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal())
    return tuple(pid for pid in sorted(pids) if pid != os.getpid() and _has_open(pid, wanted))


def _has_open(pid: int, wanted: tuple[int, int]) -> bool:
    try:
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            try:
                found = handle.stat()
            except OSError:
                continue
            if (found.st_dev, found.st_ino) == wanted:
                return True
    except OSError:
        return False
    return False
