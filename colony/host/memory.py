"""Memory of a process tree, as /proc tells it: cheap, and an upper bound."""

from __future__ import annotations

import contextlib
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from colony.host.identity import pids, stat_of

PAGE: Final = os.sysconf("SC_PAGE_SIZE")
SCORE: Final = 500
"""Of 1000: what `oom_score_adj` of a session's processes is above Colony's own."""
SCORE_MAX: Final = 1000


def tree_bytes(root: int) -> int:
    """Resident memory of a process and all below it. What several share counts for each."""
    return sum(_resident_bytes(pid) for pid in _tree(root))


def shared_out_bytes(root: int) -> int:
    """The same, with what several share divided among them (`Pss`): slow, and what they really
    take. Of a process that does not tell it all that is resident counts."""
    return sum(_own_bytes(pid) for pid in _tree(root))


def take_first(pid: int) -> None:
    """Want of memory takes this process, and all that it will start, before this one: its score is
    `SCORE` above ours. Who may not say so of it leaves it as it is."""
    with contextlib.suppress(OSError, ValueError):
        own = int(Path("/proc/self/oom_score_adj").read_text(encoding="ascii"))
        score = min(SCORE_MAX, own + SCORE)
        Path(f"/proc/{pid}/oom_score_adj").write_text(str(score), encoding="ascii")


def _tree(root: int) -> Iterator[int]:
    """The process and all below it."""
    children: dict[int, list[int]] = defaultdict(list)
    for pid in pids():
        stat = stat_of(pid)
        if stat:
            children[stat.parent].append(pid)
    left = [root]
    while left:
        pid = left.pop()
        yield pid
        left.extend(children.pop(pid, ()))


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


def _own_bytes(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return _resident_bytes(pid)
    found = re.search(r"^Pss: +([0-9]+) kB$", text, re.MULTILINE)
    return int(found[1]) * 1024 if found else _resident_bytes(pid)
