"""The real `colony run` as the tests drive it: started, listened to, signalled, seen to its end."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from colony.core.ticket import Ref
from colony.host.clock import SystemClock
from colony.host.identity import pids
from tests.cli.conftest import Done
from tests.cli.stage import CART, Stage, answer, make_stage

PATIENCE_S = 40.0
CLOCK = SystemClock()
WAITS = {"run": "touch began-{name}; until [ -e go ]; do sleep 0.02; done"}
"""A worker says that it is there, and waits in its dev folder until it may go on."""


def until(happened: Callable[[], object], seconds: float = PATIENCE_S, why: object = "") -> None:
    """Look again and again until it happened; fail when it does not."""
    deadline = CLOCK.boot_s() + seconds
    while not happened():
        assert CLOCK.boot_s() < deadline, why() if callable(why) else why
        select.select([], [], [], 0.01)


@dataclass
class Loop:
    """One process of `colony run`. Its output goes to files, so that nobody has to read it."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path

    @property
    def lines(self) -> list[str]:
        return self.out.read_text().splitlines()

    def all(self) -> str:
        return self.out.read_text() + self.err.read_text()

    def says(self, *texts: str, seconds: float = PATIENCE_S) -> None:
        for text in texts:
            until(lambda text=text: text in self.out.read_text(), seconds, self.all)  # type: ignore[misc]

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def ends(self, seconds: float = PATIENCE_S) -> int:
        until(lambda: self.process.poll() is not None, seconds, self.all)
        return self.process.wait()

    def done(self) -> Done:
        return Done(self.ends(), self.out.read_text(), self.err.read_text())


@dataclass
class Scene:
    """A home whose loops and sessions are all ended with the test."""

    stage: Stage
    loops: list[Loop] = field(default_factory=list)

    def run(self, *words: str, **environ: str) -> Loop:
        """A loop that looks once a second."""
        number = len(self.loops)
        out, err = (self.stage.cwd / f"{name}-{number}" for name in ("out", "err"))
        with out.open("wb") as to_out, err.open("wb") as to_err:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "colony", "run", "--interval", "1", *words],
                cwd=self.stage.cwd, env=self.stage.environ | environ,
                stdin=subprocess.DEVNULL, stdout=to_out, stderr=to_err,
            )  # fmt: skip
        self.loops.append(Loop(process, out, err))
        return self.loops[-1]

    def once(self, *words: str, **environ: str) -> Done:
        return self.run("--once", *words, **environ).done()

    def dev(self, project: str = "shop") -> Path:
        return self.stage.cwd / f"dev-{project}"

    def began(self, ref: Ref = CART) -> Path:
        return self.dev(ref.project) / f"began-{ref.project}-{ref.number}"

    def waits_for(self, ref: Ref = CART) -> None:
        """Until the ticket's worker runs."""
        until(self.began(ref).exists, why=self._all)

    def go(self, project: str = "shop") -> None:
        (self.dev(project) / "go").touch()

    def in_review(self, *refs: Ref) -> None:
        for ref in refs:
            until(lambda ref=ref: self.stage.row(ref).state == "review", why=self._all)  # type: ignore[misc]

    def _all(self) -> str:
        logs = [path.read_text() for path in self.stage.home.glob("runs/*/work.log")]
        return "\n".join([*(loop.all() for loop in self.loops), *logs])

    def processes(self) -> list[int]:
        """Whatever runs for this home: loops, sessions, agents."""
        marks = (str(self.stage.home).encode(), str(self.stage.cwd).encode())
        return [pid for pid in pids() if pid != os.getpid() and _speaks_of(pid, marks)]

    def kill_all(self) -> None:
        """The machine goes down: one that dies of another's death is gone already."""
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def end(self) -> None:
        for loop in self.loops:
            if loop.process.poll() is None:
                loop.process.kill()
                loop.process.wait()
        self.kill_all()
        until(lambda: not self.processes(), 10, "a process is left")


def _speaks_of(pid: int, marks: tuple[bytes, ...]) -> bool:
    try:
        said = Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return any(mark in said for mark in marks)


@contextmanager
def scene(folder: Path) -> Iterator[Scene]:
    made = Scene(make_stage(folder))
    made.stage.register("shop")
    made.stage.script(work=[WAITS, answer()], resume=[answer()])
    with made.stage.tracker():
        pass
    try:
        yield made
    finally:
        made.end()
