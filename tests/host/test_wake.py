"""Whoever holds a lock is woken, and nobody else."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from colony.host.lock import is_locked, lock_file
from colony.host.wake import wake_holder
from tests.host.conftest import until

HOLDER = """
import fcntl, sys
file = open(sys.argv[1])
fcntl.flock(file, fcntl.LOCK_EX if sys.argv[2] == "holds" else fcntl.LOCK_SH)
print("held", flush=True)
sys.stdin.read()
"""


def holder(path: Path, how: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), how],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_the_holder_is_woken(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    with holder(path, "holds") as process:
        assert wake_holder(path) == process.pid
        process.wait(20)
    assert process.returncode == -signal.SIGTERM
    until(lambda: not is_locked(path))
    assert wake_holder(path) is None


def test_who_only_asks_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    with holder(path, "asks") as process:
        assert wake_holder(path) is None
        process.communicate("", 20)
    assert process.returncode == 0


def test_nobody_wakes_itself(tmp_path: Path) -> None:
    with lock_file(tmp_path / "lock", "it"):
        assert wake_holder(tmp_path / "lock") is None
