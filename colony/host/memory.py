"""Memory of a process tree, as /proc tells it: cheap, and an upper bound."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import Final

from colony.host.identity import pids, stat_of

PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def tree_bytes(root: int) -> int:
    """Resident memory of a process and all below it. What several share counts for each."""
    children: dict[int, list[int]] = defaultdict(list)
    for pid in pids():
        stat = stat_of(pid)
        if stat:
            children[stat.parent].append(pid)
    total, left = 0, [root]
    while left:
        pid = left.pop()
        total += _resident_bytes(pid)
        left.extend(children.pop(pid, ()))
    return total


def oom_kills() -> int:
    """Processes that this machine's kernel has killed for want of memory since it started."""
    for line in Path("/proc/vmstat").read_text(encoding="ascii").splitlines():
        name, _, count = line.partition(" ")
        if name == "oom_kill":
            return int(count)
    return 0


def _resident_bytes(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0
