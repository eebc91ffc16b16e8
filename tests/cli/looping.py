"""A loop in a process of its own, and agents that wait for a sign."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from colony.host.identity import pids, session_of
from tests.cli.stage import Stage, answer

PATIENCE_S: Final = 40.0


def until(holds: Callable[[], object], within_s: float = PATIENCE_S, what: str = "") -> None:
    """Look until it holds. What is waited for happens elsewhere; the time is only a limit."""
    end = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < end, what or "it did not come"
        time.sleep(0.02)


class Loop:
    """`colony run` as somebody sees it who reads its lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said: list[dict[str, Any]] = []
        self._queue: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._queue.put(json.loads(line))
        self._queue.put(None)

    def until(self, kind: str, told: str = "", **facts: Any) -> dict[str, Any]:
        """The next line of this kind with these facts that tells this."""
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                line = self._queue.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {kind} {facts} in {self.said}") from None
            assert line is not None, f"it ended before {kind} {facts}: {self.said}"
            self.said.append(line)
            if line["kind"] == kind and facts.items() <= line.items() and told in line["text"]:
                return line

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def ends(self) -> int:
        """Its exit status; every line has been read."""
        code = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        while not self._queue.empty():
            line = self._queue.get()
            if line is not None:
                self.said.append(line)
        return code

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.said if line["kind"] == kind]

    @property
    def pid(self) -> int:
        return self.process.pid


@contextlib.contextmanager
def loop(stage: Stage, *words: str, interval: int = 1, **environ: str) -> Iterator[Loop]:
    """A loop for as long as the block lasts; sessions that it leaves are ended as well."""
    process = stage.start("run", "--json", "--interval", str(interval), *words, **environ)
    running = Loop(process)
    try:
        yield running
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        assert process.stderr is not None
        running._reader.join(PATIENCE_S)
        process.stdout.close()
        process.stderr.close()
        end_sessions(stage)


def end_sessions(stage: Stage) -> None:
    for pid in session_processes(stage):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    until(lambda: not session_processes(stage) and not carriers(stage), 15, "sessions live on")


def session_processes(stage: Stage) -> list[int]:
    """Processes of `colony work` in this home."""
    found = []
    for pid in pids():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"work" in words and str(stage.home).encode() in words:
            found.append(pid)
    return found


def carriers(stage: Stage) -> list[int]:
    """Processes of agents of this home's sessions."""
    names = {run.name for run in stage.runs}
    return [pid for pid in pids() if session_of(pid) in names]


class Gate:
    """An agent's command that says it has begun and waits for a sign to go on."""

    def __init__(self, folder: Path) -> None:
        self.begun = folder / "begun"
        self.open_ = folder / "open"
        self.starts = folder / "starts"

    @property
    def wait(self) -> dict[str, str]:
        log = f"echo $COLONY_SESSION $COLONY_PORTS >> {self.starts}"
        loop = f"while [ ! -e {self.open_} ]; do sleep 0.05; done"
        return {"run": f"{log}; touch {self.begun}; {loop}"}

    def open(self) -> None:
        self.open_.touch()

    def reached(self) -> None:
        until(self.begun.exists, what="the agent did not begin")

    @property
    def count(self) -> int:
        """How often an agent came here."""
        return len(self.starts.read_text().splitlines()) if self.starts.exists() else 0

    def script(self, stage: Stage, **more: Any) -> None:
        stage.script(work=[self.wait, answer()], resume=[self.wait, answer()], **more)
