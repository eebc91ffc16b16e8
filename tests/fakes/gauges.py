"""Gauges by hand: what a machine holds is an argument."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.core.admission import GB, Bound, Disk, Memory, Reading


@dataclass(eq=False)
class HandGauge:
    """A machine as a test has it, until the test changes it."""

    reading: Reading | None
    looks: int = 0

    def read(self, folders: Mapping[str, Path]) -> Reading | None:
        self.looks += 1
        return self.reading


def machine(limit: float, held: float, free: float = 500, total: float = 500) -> Reading:
    """A container in a large machine; sizes are GB."""
    group = Bound("cgroup v2", round(limit * GB), round(held * GB))
    whole = Bound("/proc/meminfo", 1000 * GB, round(held * GB), "the machine")
    disk = Disk("work folder", round(free * GB), round(total * GB))
    return Reading(Memory(whole, (group,)), (disk,))


PLENTY: Final = HandGauge(machine(900, 1))
