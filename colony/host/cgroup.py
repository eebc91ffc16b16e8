"""A control group for each session: what it may hold, what it held, and its end as a whole.

Two tiers are tried, the better one first. *v2*: a group that this process may divide; it moves into
a leaf of its own, since a group that is divided holds no processes, and sessions get groups beside
that leaf. *v1*: a group for each session below our own, in the hierarchies of memory and of
processes. Where neither can be had there is none, and what is done about memory is done by looking.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.core.held import held_v1, held_v2
from colony.core.lines import clip
from colony.host.cgroups import MOUNTED, Unreadable, folders_of, number_in, numbers_in, text_of
from colony.host.clock import SystemClock
from colony.host.ending import send
from colony.host.identity import ProcessId, ancestors_of, command_of, identify, open_process
from colony.host.sweep import Swept

PREFIX: Final = "colony-"
LEAF: Final = "colony-own"
"""The v2 group into which Colony itself moves."""
STALE_S: Final = 60
"""An empty group that is older was left by a process that was killed: a new one is filled within
the time that a box may take to start."""
ROUNDS: Final = 250
ROUND_S: Final = 0.02
"""So often, so far apart it is looked whether a group that is to go has become empty."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What the processes of a session may come to, all together; 0: no limit."""

    memory: int = 0
    """Bytes."""
    processes: int = 0
    """Threads count, too."""


NO_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class Group:
    """The group of one session. In v2 one folder is both."""

    memory: Path
    processes: Path | None
    """None: nothing limits them."""
    v2: bool

    @property
    def folders(self) -> tuple[Path, ...]:
        pair = (self.memory, self.processes or self.memory)
        return tuple(dict.fromkeys(pair))

    @property
    def name(self) -> str:
        return "cgroup v2" if self.v2 else "cgroup v1"

    def limit(self, limits: Limits) -> None:
        """`OSError`: it cannot be limited so."""
        if limits.processes and self.processes is not None:
            _put(self.processes / "pids.max", limits.processes)
        if not limits.memory:
            return
        if self.v2:
            _put(self.memory / "memory.max", limits.memory)
            for name, value in (("memory.swap.max", 0), ("memory.oom.group", 1)):
                # Kernels without swap, and those before 4.19, have no such file.
                with contextlib.suppress(OSError):
                    _put(self.memory / name, value)
            return
        _put(self.memory / "memory.limit_in_bytes", limits.memory)
        with contextlib.suppress(OSError):
            _put(self.memory / "memory.memsw.limit_in_bytes", limits.memory)

    def take(self, pids: Iterable[int]) -> None:
        """Put these processes into it, and so all that they will start. `OSError`: one is gone, or
        may not be moved."""
        for pid in pids:
            for folder in self.folders:
                _put(folder / "cgroup.procs", pid)

    @property
    def held(self) -> int:
        """Bytes that the kernel cannot take back; 0 where it does not tell."""
        try:
            stat = numbers_in(self.memory / "memory.stat")
            if self.v2:
                return held_v2(number_in(self.memory / "memory.current") or 0, stat)
            return held_v1(number_in(self.memory / "memory.usage_in_bytes") or 0, stat)
        except Unreadable:
            return 0

    @property
    def most(self) -> int:
        """Bytes that were charged to it at its peak, what could be taken back among them; 0 where
        the kernel (before 5.19 with v2) does not tell."""
        name = "memory.peak" if self.v2 else "memory.max_usage_in_bytes"
        try:
            return number_in(self.memory / name) or 0
        except Unreadable:
            return 0

    @property
    def kills(self) -> int:
        """Its processes that the kernel killed for want of memory, be it the group's or other."""
        name = "memory.events" if self.v2 else "memory.oom_control"
        try:
            return numbers_in(self.memory / name).get("oom_kill", 0)
        except Unreadable:
            return 0

    def leave(self) -> None:
        """Remove it if it is empty; who is still in it is for `clear`."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                folder.rmdir()

    def end(self) -> tuple[Swept, ...]:
        """SIGKILL to all in it, and to all in groups below it; then it is removed. Nothing can be
        started in it meanwhile. One with a process that hangs in the kernel stays."""
        found: dict[ProcessId, str] = {}
        spared = ancestors_of(os.getpid())
        for _ in range(ROUNDS):
            for folder in self.folders:
                for each in _below(folder):
                    found |= _killed(each, spared)
                    with contextlib.suppress(OSError):
                        each.rmdir()
            if not any(folder.exists() for folder in self.folders):
                break
            select.select([], [], [], ROUND_S)
        return tuple(
            Swept(process, command, "survived" if identify(process.pid) == process else "KILL")
            for process, command in found.items()
        )


@dataclass(frozen=True, slots=True)
class Grouped:
    """A session gets its group in the nearest of these folders; it is looked for in all."""

    memory: tuple[Path, ...]
    processes: tuple[Path, ...]
    """The same with v2; empty: processes cannot be limited."""
    v2: bool

    def groups(self, session: str) -> Iterator[Group]:
        """Where a session's group is, or would be; the first is the one to make."""
        name = PREFIX + re.sub(r"[^A-Za-z0-9._-]", "_", session)
        own = self.processes[0] / name if self.processes else None
        yield Group(self.memory[0] / name, own, self.v2)
        for folder in (*self.memory[1:], *self.processes[1:]):
            yield Group(folder / name, None, self.v2)


@dataclass(frozen=True, slots=True)
class Ungrouped:
    why: str


Tier = Grouped | Ungrouped

UNGROUPED: Final = Ungrouped("none was looked for")


def tier_of(proc: Path = Path("/proc"), cgroup: Path = Path(MOUNTED)) -> Tier:
    """What this machine gives, found by trying. With v2 this process may be in a leaf then."""
    try:
        v2 = folders_of(proc, cgroup, "")
        if v2 and {"memory", "pids"} <= set(_words(v2[0] / "cgroup.controllers")):
            return _divided(v2)
        memory, processes = (folders_of(proc, cgroup, each) for each in ("memory", "pids"))
        if not memory:
            return Ungrouped("the kernel shows no control group for memory")
        return _below_own(memory, processes)
    except Unreadable as problem:
        return Ungrouped(problem.line)
    except OSError as problem:
        return Ungrouped(f"none can be made: {(problem.strerror or '').lower()}")


def told(tier: Tier) -> str:
    """For a person: who watches the memory of a session here."""
    if isinstance(tier, Grouped):
        name = "v2" if tier.v2 else "v1"
        rest = "" if tier.processes else "; its processes cannot be limited"
        return f"each session runs in a control group of its own (cgroup {name}){rest}"
    return (
        f"sessions have no control group ({clip(tier.why, 120)}): their memory is looked at once a"
        " second, and their processes are not limited"
    )


def made(tier: Tier, session: str, limits: Limits) -> Group | None:
    """The group of a session that begins; None: there is none here, or it cannot be made now."""
    if isinstance(tier, Ungrouped):
        return None
    group = next(tier.groups(session))
    try:
        for folder in group.folders:
            folder.mkdir()
        group.limit(limits)
    except OSError:
        group.leave()
        return None
    return group


def clear(tier: Tier, session: str) -> tuple[Swept, ...]:
    """End what is left in the group of a session that does not run, and remove the group."""
    if isinstance(tier, Ungrouped):
        return ()
    left = (each for each in tier.groups(session) if any(map(Path.exists, each.folders)))
    return tuple(swept for group in left for swept in group.end())


# --- the tiers -------------------------------------------------------------------------------


def _divided(folders: tuple[Path, ...]) -> Tier:
    """v2. Who was started by a Colony that has moved already is in its leaf."""
    own, *above = folders
    if own.name == LEAF and above:
        return _proved(Grouped(tuple(above), tuple(above), v2=True))
    leaf = own / LEAF
    leaf.mkdir(exist_ok=True)
    try:
        _put(leaf / "cgroup.procs", os.getpid())
        _put(own / "cgroup.subtree_control", "+memory +pids")
    except OSError:
        # Others are in the group, too: it is not ours to divide.
        with contextlib.suppress(OSError):
            _put(own / "cgroup.procs", os.getpid())
        with contextlib.suppress(OSError):
            leaf.rmdir()
        raise
    return _proved(Grouped(folders, folders, v2=True))


def _below_own(memory: tuple[Path, ...], processes: tuple[Path, ...]) -> Tier:
    """v1. A group whose own limit does not count what is below it would be escaped from."""
    if number_in(memory[0] / "memory.use_hierarchy") == 0:
        return Ungrouped("groups below ours would not count in it (memory.use_hierarchy is 0)")
    try:
        return _proved(Grouped(memory, processes, v2=False))
    except OSError:
        return _proved(Grouped(memory, (), v2=False))


def _proved(tier: Grouped) -> Tier:
    """The tier, once a group was made, limited and removed. `OSError`: that cannot be done."""
    group = next(tier.groups(f"proof-{os.getpid()}"))
    try:
        for folder in group.folders:
            folder.mkdir(exist_ok=True)
        group.limit(Limits(1 << 30, 64))
    finally:
        group.leave()
    _drop_stale(tier)
    return tier


def _drop_stale(tier: Grouped) -> None:
    """Remove empty groups of sessions that nobody may ever come back to. One with a process in it
    stays: the kernel removes no such group."""
    until_s = SystemClock().wall_ms() / 1000 - STALE_S
    for parent in {*tier.memory[:1], *tier.processes[:1]}:
        with contextlib.suppress(OSError):
            for each in parent.glob(f"{PREFIX}*"):
                if each.name != LEAF and each.stat().st_mtime < until_s:
                    with contextlib.suppress(OSError):
                        each.rmdir()


# --- files -----------------------------------------------------------------------------------


def _put(file: Path, value: object) -> None:
    """A kernel's file takes one value with one write; it is never made."""
    fd = os.open(file, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(fd, f"{value}\n".encode())
    finally:
        os.close(fd)


def _words(file: Path) -> list[str]:
    return (text_of(file) or "").split()


def _below(folder: Path) -> Iterator[Path]:
    """The group and all below it, the deepest first."""
    for each, _, _ in os.walk(folder, topdown=False):
        yield Path(each)


def _killed(folder: Path, spared: frozenset[int]) -> dict[ProcessId, str]:
    """SIGKILL to the processes of this one group, with their command lines."""
    with contextlib.suppress(OSError):
        _put(folder / "pids.max", 0)
    found: dict[ProcessId, str] = {}
    members = _members(folder)
    for pid in members - spared:
        process = identify(pid)
        pidfd = open_process(process) if process else None
        if process and pidfd is not None:
            found[process] = command_of(pid)
            send(pidfd, signal.SIGKILL)
            os.close(pidfd)
    if not members & spared:
        with contextlib.suppress(OSError):
            _put(folder / "cgroup.kill", 1)
    return found


def _members(folder: Path) -> frozenset[int]:
    try:
        return frozenset(map(int, _words(folder / "cgroup.procs")))
    except Unreadable:
        # It was removed in between.
        return frozenset()
