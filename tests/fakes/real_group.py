"""A control group of this machine with a memory limit, where one can be made."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class RealGroup:
    folder: Path

    def joined(self, argv: Sequence[str]) -> tuple[str, ...]:
        """The command, as a member of the group from its first moment on."""
        script = f'echo $$ > {self.folder}/cgroup.procs && exec "$@"'
        return ("/bin/sh", "-c", script, "sh", *argv)


@contextlib.contextmanager
def real_group(limit: int) -> Iterator[RealGroup]:
    """Skips where this machine gives none: no group v1 or v2 for memory that may be written."""
    parent, file = _parent()
    folder = parent / f"colony-test-{os.getpid()}-{time.monotonic_ns()}"
    try:
        folder.mkdir()
        (folder / file).write_text(str(limit))
    except OSError as problem:
        with contextlib.suppress(OSError):
            folder.rmdir()
        pytest.skip(f"no control group with a memory limit can be made here: {problem}")
    try:
        yield RealGroup(folder)
    finally:
        _gone(folder)


def _parent() -> tuple[Path, str]:
    top = Path("/sys/fs/cgroup")
    for line in Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return top / "memory" / path.lstrip("/"), "memory.limit_in_bytes"
    return top, "memory.max"


def _gone(folder: Path) -> None:
    """A group can be removed when the last of its processes is gone for good."""
    end = time.monotonic() + 20
    while True:
        try:
            folder.rmdir()
        except OSError:
            assert time.monotonic() < end, (folder / "cgroup.procs").read_text()
            time.sleep(0.05)
        else:
            return
