"""Time: the one place of the program that reads a clock."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Protocol


class Clock(Protocol):
    def wall_ms(self) -> int:
        """Milliseconds since 1970, UTC. It may jump: for what people and trackers read."""
        ...

    def boot_s(self) -> float:
        """Seconds since the machine started, time asleep included. For durations and trust."""
        ...

    def boot_id(self) -> str:
        """Names this start of the machine: `boot_s` of another one cannot be compared."""
        ...


class SystemClock:
    """The clocks of the kernel."""

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def boot_s(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def boot_id(self) -> str:
        return boot_id()


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
