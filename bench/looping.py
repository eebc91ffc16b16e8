"""The loop over many sessions: what it holds in memory after the first ten, and at the end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from colony.core.ticket import Me, NewTicket
from colony.flow.wiring.trackers import DERIVE
from colony.tracker.embedded import open_tracker

PROJECTS = ("alpha", "beta", "gamma", "delta")
FIRST = 10
"""Sessions after which a loop has loaded what it needs."""


@dataclass(frozen=True)
class Memory:
    """Resident KiB of the loop's process."""

    first: int
    last: int
    peak: int


def home_with_work(home: Path, count: int) -> None:
    """`count` open tickets, dealt out to projects with a folder each."""
    (home / "projects").mkdir(parents=True)
    tracker = open_tracker(
        f"sqlite:///{home / 'colony.db'}",
        me=Me("owner", "", machine=False, owner=True),
        clock=iter(range(1_790_000_000_000, 1_800_000_000_000)).__next__,
        derive=DERIVE,
        create=True,
    )
    for name in PROJECTS:
        folder = home / name
        folder.mkdir()
        (folder / "CONCEPT.md").write_text("# A project\n")
        entry = {"name": name, "dev": {"folder": str(folder)}, "concept": "CONCEPT.md"}
        (home / "projects" / f"{name}.json").write_text(json.dumps(entry))
    for at in range(count):
        new = NewTicket(PROJECTS[at % len(PROJECTS)], f"Ticket {at}", "As said.")
        tracker.create(new, key=f"make:{at}")
    tracker.close()


def memory_over(home: Path, sessions: int, env: dict[str, str]) -> Memory:
    """A loop works so many sessions, four at once; what it holds as they end."""
    words = ["run", "--json", "--interval", "1", "--parallel", str(len(PROJECTS))]
    options = ["--agent", "stand-in", "--sandbox", "off"]
    argv = [sys.executable, "-m", "colony", "--home", str(home), *words, *options]
    with subprocess.Popen(
        argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as loop:
        held = list(_held(loop, sessions))
        loop.terminate()
        assert loop.stdout is not None
        loop.stdout.read()
    return Memory(held[FIRST - 1], held[-1], max(held))


def _held(loop: subprocess.Popen[str], sessions: int) -> Iterator[int]:
    """KiB at each session's end."""
    assert loop.stdout is not None
    for line in loop.stdout:
        if json.loads(line)["kind"] == "session.end":
            yield _resident_kib(loop.pid)
            sessions -= 1
            if not sessions:
                return


def _resident_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")))
