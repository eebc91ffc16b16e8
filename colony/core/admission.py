"""Does one more session fit on this machine? Memory is judged before disk, and one cause is told.

The rule, number for number, is that of seed 000. Sizes are bytes, and are shown in decimal GB.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from colony.core.guard import Guard
from colony.core.lines import clip
from colony.core.session import Facts

GB: Final = 1_000_000_000

MEMORY_KEPT_MAX: Final = 8 * GB
"""However large the machine is, no more memory than this is kept free."""
DISK_KEPT_MAX: Final = 10 * GB
SESSION_INODES: Final = 10_000
"""Files that a session is expected to make: a disk that is full of names is full, too."""
TEXT_MAX: Final = 199

NO_ROOM: Final = "no room: "
"""How each refusal begins."""

Cause = Literal["memory", "disk", "unknown"]
CAUSES: Final[tuple[Cause, ...]] = ("memory", "disk", "unknown")


# --- what was read ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unknown:
    """What could not be read, and why: that is no room."""

    why: str


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit and what is held below it, both read at the same place."""

    files: Literal["cgroup v2", "cgroup v1", "/proc/meminfo"]
    limit: int | None
    """None: this group has none of its own."""
    held: int
    """What the kernel cannot give back (`core.held`)."""
    by: str = "cgroup"
    """Whose limit it is, in a word or two."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The machine, and every group above this process, the nearest first."""

    machine: Bound
    groups: tuple[Bound, ...] = ()


@dataclass(frozen=True, slots=True)
class Disk:
    """A file system, by what of Colony lies on it."""

    holds: str
    free: int
    """For somebody without special rights."""
    total: int
    free_inodes: int = 0
    inodes: int = 0
    """0: this file system does not count them."""


@dataclass(frozen=True, slots=True)
class Reading:
    memory: Memory | Unknown
    disks: tuple[Disk | Unknown, ...]
    pressure: float | None = None
    """Percent of the last ten seconds in which something waited for memory; judges nothing."""
    kills: int | None = None
    """Processes killed for want of memory so far; judges nothing."""


# --- who is expected to grow -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Live:
    """A session with a process."""

    since_ms: int
    memory: int


@dataclass(frozen=True, slots=True)
class Reserved:
    count: int = 0
    memory: int = 0


def life_of(facts: Facts) -> Live:
    """A session is as old as its last admission: one that is taken up begins with nothing again."""
    return Live(max(facts.started_ms, facts.admitted_ms), facts.setup.memory_expected)


def reserved(live: Iterable[Live], now_ms: int, warmup_ms: int) -> Reserved:
    """What sessions are to hold that are younger than the warm-up. A clock that was set back makes
    sessions of the future: they are young."""
    young = [one for one in live if now_ms - one.since_ms < warmup_ms]
    return Reserved(len(young), sum(one.memory for one in young))


# --- the rule --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Full:
    """One more does not fit. `label` is for whoever may see little, `text` has every number."""

    cause: Cause
    numbers: str

    @classmethod
    def of(cls, text: str) -> Full | None:
        """What another process said as `text`; None: it said something else."""
        label, _, numbers = text.partition(" — ")
        found = [each for each in CAUSES if label == f"{NO_ROOM}{each}"]
        return cls(found[0], numbers) if found else None

    @property
    def label(self) -> str:
        return f"{NO_ROOM}{self.cause}"

    @property
    def text(self) -> str:
        return clip(f"{self.label} — {self.numbers}", TEXT_MAX)


def judge(reading: Reading | None, guard: Guard, before: Reserved, need: int) -> Full | None:
    """None: it fits. `reading` None: not Linux, where no container could be asked. `need`: memory
    that the session is expected to hold; `before`: what those that just began are."""
    if reading is None or not guard.on:
        return None
    if isinstance(reading.memory, Unknown):
        return Full("unknown", reading.memory.why)
    bounds = bounds_of(reading.memory, guard)
    if isinstance(bounds, Unknown):
        return Full("unknown", bounds.why)
    return _memory(bounds, guard, before, need) or _disks(reading.disks, guard)


def bounds_of(memory: Memory, guard: Guard) -> tuple[Bound, ...] | Unknown:
    """Every limit that holds, the machine's last. The stated one lies upon all groups that can be
    seen, so that the container, the outermost of them, decides. `/proc/meminfo` may tell of a whole
    host, which it says nothing of."""
    groups = memory.groups
    if guard.memory_limit is not None:
        if not groups:
            return Unknown(
                "COLONY_MEMORY_LIMIT_MB is set, and only /proc/meminfo could be read: it tells what"
                " the whole machine holds, not what is held below that limit"
            )
        groups = tuple(_lowered(each, guard.memory_limit) for each in groups)
    return (*(one for one in groups if one.limit is not None), memory.machine)


def _lowered(group: Bound, stated: int) -> Bound:
    if group.limit is not None and group.limit <= stated:
        return group
    return Bound(group.files, stated, group.held, "COLONY_MEMORY_LIMIT_MB")


def kept_free(limit: int, percent: int, most: int) -> int:
    return min(limit * percent // 100, most)


def _memory(bounds: tuple[Bound, ...], guard: Guard, before: Reserved, need: int) -> Full | None:
    tightest = tightest_of(bounds, guard)
    limit = tightest.limit or 0
    kept = kept_free(limit, guard.memory_percent, MEMORY_KEPT_MAX)
    if tightest.held + before.memory + need <= limit - kept:
        return None
    numbers = (
        f"{_gb(tightest.held)} held + {_gb(before.memory)} for {before.count} just begun"
        f" + {_gb(need)} for this one > {_gb(limit)} of {_whose(tightest)} - {_gb(kept)} kept free"
    )
    return Full("memory", numbers)


def tightest_of(bounds: tuple[Bound, ...], guard: Guard) -> Bound:
    """The one that leaves least."""

    def left(one: Bound) -> int:
        limit = one.limit or 0
        return limit - kept_free(limit, guard.memory_percent, MEMORY_KEPT_MAX) - one.held

    return min(bounds, key=left)


def _disks(disks: tuple[Disk | Unknown, ...], guard: Guard) -> Full | None:
    found = (_disk(each, guard) for each in disks)
    return next((full for full in found if full is not None), None)


def _disk(disk: Disk | Unknown, guard: Guard) -> Full | None:
    match disk:
        case Unknown(why):
            return Full("unknown", why)
        case Disk():
            kept = kept_free(disk.total, guard.disk_percent, DISK_KEPT_MAX)
            if disk.free < guard.session_disk + kept:
                numbers = (
                    f"{_gb(disk.free)} of {_gb(disk.total)} free where the {disk.holds} lies"
                    f" < {_gb(guard.session_disk)} for a session + {_gb(kept)} kept free"
                )
                return Full("disk", numbers)
            if disk.inodes and disk.free_inodes < SESSION_INODES:
                numbers = (
                    f"{disk.free_inodes} of {disk.inodes} inodes free where the {disk.holds} lies"
                    f" < {SESSION_INODES} for a session"
                )
                return Full("disk", numbers)
            return None
        case _:
            assert_never(disk)


# --- how it is told --------------------------------------------------------------------------


def reads(reading: Reading | None, guard: Guard) -> str:
    """Which files and which limits are judged: the same text until one of those changes."""
    if reading is None:
        return "on: this is not Linux, so every session fits"
    disks = [
        f"{_gb(each.total)} where the {each.holds} lies"
        if isinstance(each, Disk)
        else f"unknown ({each.why})"
        for each in reading.disks
    ]
    return clip(f"on: {_read_memory(reading.memory, guard)}; disk {', '.join(disks)}", 400)


def _read_memory(memory: Memory | Unknown, guard: Guard) -> str:
    bounds = memory if isinstance(memory, Unknown) else bounds_of(memory, guard)
    if isinstance(bounds, Unknown):
        return f"memory unknown ({bounds.why})"
    lowest = min(bounds, key=lambda one: one.limit or 0)
    text = f"memory from {lowest.files}, limit {_gb(lowest.limit or 0)} from {lowest.by}"
    stated = guard.memory_limit
    if stated is not None and (lowest.limit or 0) < stated:
        text += f" (COLONY_MEMORY_LIMIT_MB says {_gb(stated)}: the lower one holds)"
    return text


def stands(reading: Reading, guard: Guard, before: Reserved) -> str:
    """The numbers of a machine with room, for a person."""
    told = []
    if isinstance(reading.memory, Memory):
        bounds = bounds_of(reading.memory, guard)
        if not isinstance(bounds, Unknown):
            one = tightest_of(bounds, guard)
            told.append(f"{_gb(one.held)} of {_gb(one.limit or 0)} memory held ({_whose(one)})")
    if before.count:
        told.append(f"{_gb(before.memory)} more for {before.count} just begun")
    known = [each for each in reading.disks if isinstance(each, Disk)]
    if known:
        least = min(known, key=lambda each: each.free)
        told.append(f"{_gb(least.free)} of {_gb(least.total)} disk free")
    return ", ".join([*told, *_beside(reading)])


def _beside(reading: Reading) -> list[str]:
    """What is shown and judges nothing."""
    told = []
    if reading.pressure is not None:
        told.append(f"memory pressure {reading.pressure:.1f} %")
    if reading.kills is not None:
        told.append(f"{reading.kills} killed for want of memory")
    return told


def _whose(bound: Bound) -> str:
    return bound.files if bound.by == "cgroup" else bound.by


def _gb(size: int) -> str:
    return f"{size / GB:.2f} GB"
