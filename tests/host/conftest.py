"""Real processes: how the tests start them, and the proof that none is left."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from colony.host.box import WHOLE_MACHINE, Containment, Namespaces, detect
from colony.host.clock import SystemClock
from colony.host.identity import pids
from colony.host.launch import Command
from colony.host.process import Running, spawn

CLOCK = SystemClock()
MARK = f"{71_000_000 + os.getpid()}"
"""Seconds that only processes of this test process sleep: so they can be found."""
SLEEP = f"sleep {MARK}"
PATIENCE_S = 20.0


def marked() -> list[int]:
    """Processes that hold the mark."""
    mark = MARK.encode()
    return [pid for pid in pids() if pid != os.getpid() and mark in command_line(pid)]


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def until(happened: Callable[[], object], seconds: float = PATIENCE_S) -> None:
    """Look again and again until it happened; fail when it does not."""
    deadline = CLOCK.boot_s() + seconds
    while not happened():
        assert CLOCK.boot_s() < deadline, "it did not happen in time"
        select.select([], [], [], 0.005)


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    yield
    until(lambda: not marked(), 5)


def without_bwrap() -> str:
    return "" if shutil.which("bwrap") else "bubblewrap is not installed"


def skip_or_fail(reason: str) -> None:
    """A missing part is a reason to skip on somebody's machine, and a failure in CI."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(params=["namespaces", "subreaper"])
def containment(request: pytest.FixtureRequest) -> Containment:
    """Each tier that this machine can have."""
    if request.param == "subreaper":
        return detect("off", CLOCK, search="/nonexistent")
    return namespaces()


def namespaces() -> Containment:
    if without_bwrap():
        skip_or_fail(without_bwrap())
    box = detect("on", CLOCK)
    assert isinstance(box, Namespaces)
    return replace(box, mounts=WHOLE_MACHINE)


@dataclass
class Parts:
    """Starts parts in a folder of their own, and ends them when the test is over."""

    folder: Path
    containment: Containment
    running: list[Running] = field(default_factory=list)

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def err(self) -> Path:
        return self.folder / "err"

    def command(
        self,
        script: str,
        *arguments: str,
        env: dict[str, str] | None = None,
        stdin: str = "/dev/null",
    ) -> Command:
        return Command(
            argv=("/bin/sh", "-c", script, "agent", *arguments),
            env={"PATH": "/usr/bin:/bin", "COLONY_SESSION": f"test-{MARK}"} if env is None else env,
            cwd=self.folder,
            stdin=Path(stdin),
            stdout=self.out,
            stderr=self.err,
        )

    def spawn(self, command: Command) -> Running:
        self.running.append(spawn(command, self.containment))
        return self.running[-1]

    def start(self, script: str, *arguments: str) -> Running:
        running = self.spawn(self.command(script, *arguments))
        running.go()
        return running

    def says(self, text: str) -> None:
        """Wait until the agent has written the text."""
        until(lambda: self.out.exists() and text in self.out.read_text())


@pytest.fixture
def parts(tmp_path: Path, containment: Containment) -> Iterator[Parts]:
    made = Parts(tmp_path, containment)
    yield made
    for running in made.running:
        running.kill()


def names(folder: Path) -> list[str]:
    """What is in a folder."""
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def plain_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder of a user without privileges, and this process as that user."""
    if os.geteuid() != 0:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory() as name:
        os.chown(name, 65534, 65534)
        os.seteuid(65534)
        try:
            yield Path(name)
        finally:
            os.seteuid(0)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs root and the right to mount")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)
