"""Folders as /proc and /sys/fs/cgroup are on many kinds of machines, made from a table.

The line of /proc/self/cgroup, the mounts and the files are what such machines tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from colony.host.gauge import SystemGauge

MB: Final = 1_000_000
GB: Final = 1000 * MB
NONE_V1: Final = 9_223_372_036_854_771_712
"""What v1 says where there is no limit."""

V2: Final = "30 23 0:26 {root} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"
V1: Final = "35 31 0:32 {root} /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory"
UNIFIED: Final = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw"


def meminfo(total: int, available: int) -> str:
    rows = {"MemTotal": total, "MemFree": available // 2, "MemAvailable": available}
    return "".join(f"{name}:{size // 1024:>16} kB\n" for name, size in rows.items())


def stat(**sizes: int) -> str:
    return "".join(f"{name} {size}\n" for name, size in sizes.items())


def v2(limit: int | str, current: int, high: int | str = "max", **sizes: int) -> dict[str, str]:
    """The files of a v2 group; without `sizes` all of it is its own memory."""
    return {
        "memory.max": f"{limit}\n",
        "memory.high": f"{high}\n",
        "memory.current": f"{current}\n",
        "memory.stat": stat(**(sizes or {"anon": current})),
        "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 3\n",
        "memory.pressure": "some avg10=1.25 avg60=0.00 avg300=0.00 total=9\nfull avg10=0.00\n",
    }


def v1(limit: int, usage: int, **sizes: int) -> dict[str, str]:
    return {
        "memory.limit_in_bytes": f"{limit}\n",
        "memory.usage_in_bytes": f"{usage}\n",
        "memory.stat": stat(**sizes),
        "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
    }


@dataclass(frozen=True)
class Machine:
    """`own`: /proc/self/cgroup; `groups`: a folder below /sys/fs/cgroup -> its files."""

    own: str | None
    mounts: tuple[str, ...]
    groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    meminfo: str | None = meminfo(64 * GB, 60 * GB)

    def built(self, folder: Path) -> SystemGauge:
        proc, cgroup = folder / "proc", folder / "cgroup"
        (proc / "self").mkdir(parents=True)
        cgroup.mkdir()
        texts = {"meminfo": self.meminfo, "self/cgroup": self.own}
        if self.mounts:
            texts["self/mountinfo"] = "".join(f"{line}\n" for line in self.mounts)
        for name, text in texts.items():
            if text is not None:
                (proc / name).write_text(text)
        for name, files in self.groups.items():
            group = cgroup / name
            group.mkdir(parents=True, exist_ok=True)
            for file, text in files.items():
                (group / file).write_text(text)
        return SystemGauge(proc, cgroup)


def on_v2(path: str, groups: Mapping[str, Mapping[str, str]], root: str = "/") -> Machine:
    return Machine(f"0::{path}\n", (V2.format(root=root),), groups)


def on_v1(path: str, groups: Mapping[str, Mapping[str, str]], root: str = "/") -> Machine:
    own = f"12:cpu,cpuacct:{path}\n4:memory:{path}\n1:name=systemd:{path}\n0::/\n"
    below = {f"memory{name}": files for name, files in groups.items()}
    return Machine(own, (V1.format(root=root), UNIFIED), below | {"unified": {"cgroup.procs": "1"}})
