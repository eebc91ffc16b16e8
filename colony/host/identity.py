"""Which process: a pid, when it started and in which boot, so that a reused pid is seen.

Nothing is ever signalled by its pid alone. A process is opened as a pidfd first and compared
after that: the descriptor then means that very process, for as long as it is open.
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.core.lines import clip
from colony.host.clock import boot_id

_PF_KTHREAD: Final = 0x00200000
LOOKS: Final = 1000
"""How often a process in the middle of an exec is looked at again."""
TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class ProcessId:
    """`start_ticks` is field 22 of /proc/<pid>/stat: clock ticks after the start of the machine."""

    pid: int
    start_ticks: int
    boot_id: str

    @property
    def started_s(self) -> float:
        """When it started, on the clock of `Clock.boot_s`; at most one tick early."""
        return self.start_ticks / TICKS_PER_S


@dataclass(frozen=True, slots=True)
class Stat:
    """What /proc/<pid>/stat says."""

    state: str
    parent: int
    start_ticks: int
    kernel: bool = False
    """A thread of the kernel: it has no program."""

    @property
    def running(self) -> bool:
        """False: it has ended, and only its parent has not looked yet."""
        return self.state not in "ZX"


def stat_of(pid: int) -> Stat | None:
    """None: there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name in brackets may hold anything, brackets included; what follows is numbers.
    fields = text[text.rindex(b")") + 2 :].split()
    kernel = bool(int(fields[6]) & _PF_KTHREAD)
    return Stat(fields[0].decode("ascii"), int(fields[1]), int(fields[19]), kernel)


def identify(pid: int) -> ProcessId | None:
    """The running process that has this pid now."""
    stat = stat_of(pid)
    return ProcessId(pid, stat.start_ticks, boot_id()) if stat and stat.running else None


def is_alive(process: ProcessId) -> bool:
    """That very process runs: same pid, same start, same boot, and not a zombie."""
    return identify(process.pid) == process


def open_process(process: ProcessId) -> int | None:
    """A pidfd of that very process, to be closed by the caller; None where it has ended."""
    try:
        pidfd = os.pidfd_open(process.pid)
    except (OSError, OverflowError):
        return None
    if is_alive(process):
        return pidfd
    os.close(pidfd)
    return None


def has_ended(pidfd: int, seconds: float) -> bool:
    """Wait until the process has ended, for `seconds` at most."""
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(max(0.0, seconds) * 1000))


def pids() -> Iterator[int]:
    """Every process of this PID namespace."""
    with os.scandir("/proc") as entries:
        yield from [int(entry.name) for entry in entries if entry.name.isdecimal()]


def children_of(parent: int) -> tuple[ProcessId, ...]:
    """The direct children that run."""
    boot = boot_id()
    return tuple(
        ProcessId(pid, stat.start_ticks, boot)
        for pid in pids()
        if (stat := stat_of(pid)) and stat.parent == parent and stat.running
    )


def ancestors_of(pid: int) -> frozenset[int]:
    """The process itself, its parent, and so on up to the first one."""
    line: set[int] = set()
    while pid and pid not in line:
        line.add(pid)
        stat = stat_of(pid)
        pid = stat.parent if stat else 0
    return frozenset(line)


def user_of(pid: int) -> int | None:
    """The user whose rights the process has."""
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None


def environment_of(pid: int) -> tuple[bytes, ...]:
    """`NAME=value` as it was when the program started; empty where it cannot be read."""
    try:
        environ = Path(f"/proc/{pid}/environ")
        data = environ.read_bytes()
        looks = 0 if data else LOOKS
        while looks and _is_becoming(pid):
            looks -= 1
            os.sched_yield()
        return tuple((data or environ.read_bytes()).split(b"\0"))
    except OSError:
        return ()


def _is_becoming(pid: int) -> bool:
    """In the middle of an exec: it has neither a command line nor an environment for an instant."""
    stat = stat_of(pid)
    if stat is None or not stat.running or stat.kernel:
        return False
    return not Path(f"/proc/{pid}/cmdline").read_bytes()


def session_of(pid: int) -> str | None:
    """The `COLONY_SESSION` that the process carries."""
    for entry in environment_of(pid):
        name, _, value = entry.partition(b"=")
        if name == b"COLONY_SESSION":
            return os.fsdecode(value)
    return None


def command_of(pid: int) -> str:
    """The command line as one printable line of at most 200 characters."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        words = []
    return clip(" ".join(word.decode("utf-8", "replace") for word in words), 200)
