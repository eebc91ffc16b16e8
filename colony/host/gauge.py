"""How much memory and disk this machine has and holds, read anew at every call."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from colony.core.admission import Bound, Disk, Memory, Reading, Unknown
from colony.core.held import held_by_machine
from colony.host.cgroups import (
    MOUNTED,
    Group,
    Unreadable,
    groups_of,
    numbers_in,
    pressure_in,
)


class Gauge(Protocol):
    def read(self, folders: Mapping[str, Path]) -> Reading | None:
        """`folders`: whose disks count, by what each holds in a person's words. None: this is not
        Linux, and there is nothing to read."""
        ...


@dataclass(frozen=True, slots=True)
class SystemGauge:
    """The gauge of this machine: what is mounted in these two folders tells it."""

    proc: Path = Path("/proc")
    cgroup: Path = Path(MOUNTED)

    def read(self, folders: Mapping[str, Path]) -> Reading | None:
        if sys.platform != "linux":
            return None
        disks = tuple(_disks(folders))
        try:
            groups = groups_of(self.proc, self.cgroup)
            memory = self._memory(groups)
        except Unreadable as problem:
            return Reading(Unknown(problem.line), disks)
        return Reading(memory, disks, self._pressure(groups), self._kills(groups))

    def _memory(self, groups: tuple[Group, ...]) -> Memory:
        info = numbers_in(self.proc / "meminfo")
        total = info.get("MemTotal", 0)
        if not total:
            raise Unreadable("/proc/meminfo does not tell how much memory there is")
        machine = Bound("/proc/meminfo", total, held_by_machine(info), "the machine")
        return Memory(machine, tuple(_own(group.bound, total) for group in groups))

    def _pressure(self, groups: tuple[Group, ...]) -> float | None:
        own = [group.pressure for group in groups if group.pressure is not None]
        return own[-1] if own else pressure_in(self.proc / "pressure" / "memory")

    def _kills(self, groups: tuple[Group, ...]) -> int | None:
        own = [group.kills for group in groups if group.kills is not None]
        if own:
            return max(own)
        try:
            return numbers_in(self.proc / "vmstat").get("oom_kill")
        except Unreadable:
            return None


def _own(bound: Bound, total: int) -> Bound:
    """A limit above all memory of the machine is none."""
    return bound if bound.limit is None or bound.limit < total else replace(bound, limit=None)


def _disks(folders: Mapping[str, Path]) -> Iterable[Disk | Unknown]:
    """Each file system once, named by the first that lies on it."""
    seen = set()
    for holds, folder in folders.items():
        try:
            place = _standing(folder)
            device = place.stat().st_dev
            found = os.statvfs(place)
        except OSError as problem:
            yield Unknown(f"the disk of the {holds} cannot be read: {problem.strerror}")
            continue
        if device not in seen:
            seen.add(device)
            block = found.f_frsize
            free, total = found.f_bavail * block, found.f_blocks * block
            yield Disk(holds, free, total, found.f_favail, found.f_files)


def _standing(folder: Path) -> Path:
    """The folder itself, or the nearest above it that is there: it will be made in it."""
    return next(each for each in (folder, *folder.parents) if each.exists())


SYSTEM: Final = SystemGauge()
