"""Memory that the kernel cannot give back, from the numbers that it tells of a group or a machine.

File pages that were read can be dropped at once, whichever list they stand in; pages that still
have to be written, shared memory (tmpfs too) and what the kernel itself needs cannot. Keys that an
older kernel does not tell count as 0. All numbers are bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

FIXED_V2: Final = (
    "anon",
    "shmem",
    "kernel_stack",
    "pagetables",
    "percpu",
    "sock",
    "slab_unreclaimable",
)
"""Keys of `memory.stat` in a v2 group that name what stays."""
APART_PERCENT: Final = 10
"""Two ways to count that differ by more: the larger one holds."""


def held_v2(current: int, stat: Mapping[str, int]) -> int:
    """Of a v2 group: `memory.current` and `memory.stat`.

    Summed up from what stays, and again as all but what can go: a kernel that leaves keys out, or
    counts something new, shows in the second. The files are not read at one moment, so that more
    may be named as droppable than there is.
    """
    unwritten = stat.get("file_dirty", 0) + stat.get("file_writeback", 0)
    summed = sum(stat.get(key, 0) for key in FIXED_V2) + unwritten
    lists = ("inactive_file", "active_file", "slab_reclaimable")
    rest = max(0, current - sum(stat.get(key, 0) for key in lists)) + unwritten
    larger = max(summed, rest)
    return larger if abs(summed - rest) * 100 > larger * APART_PERCENT else summed


def held_v1(usage: int, stat: Mapping[str, int]) -> int:
    """Of a v1 group, with all below it: `memory.usage_in_bytes` and `memory.stat`.

    What of the kernel's own memory could go is not told here, so that all of it stays.
    """
    lists = stat.get("total_inactive_file", 0) + stat.get("total_active_file", 0)
    unwritten = stat.get("total_dirty", 0) + stat.get("total_writeback", 0)
    return max(0, usage - lists) + unwritten


def held_by_machine(info: Mapping[str, int]) -> int:
    """Of a machine: `/proc/meminfo`, where a kernel without `MemAvailable` only tells what is free.
    Containers that make the file up may call more available than there is."""
    total = info.get("MemTotal", 0)
    return max(0, total - info.get("MemAvailable", info.get("MemFree", 0)))
