"""Calling a short program: its output in memory, bounded in size and time, ended whole."""

from __future__ import annotations

import os
import selectors
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from colony.core.endings import Exit
from colony.errors import Unreachable
from colony.host.clock import Clock

REAPER: Final = ("-I", "-S", str(Path(__file__).with_name("reaper.py")))
"""The interpreter's arguments that run the reaper."""

LIMIT_BYTES: Final = 1 << 20
CHUNK: Final = 1 << 16
KILLING_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class CallResult:
    exit: Exit
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    cut: bool = False
    """It wrote more than the limit on one of the two, and was ended for it."""


def call(
    argv: tuple[str, ...],
    env: Mapping[str, str],
    cwd: Path,
    clock: Clock,
    *,
    timeout_s: float = 30.0,
    limit_bytes: int = LIMIT_BYTES,
    stdin: int | None = None,
) -> CallResult:
    """Run a program with exactly `env` until it ends. `stdin`: a descriptor that it reads, from
    where that stands; without one there is nothing on its input.

    What it leaves running is killed, whatever session it moved to. Past `timeout_s`, or more than
    `limit_bytes` on one output, it is killed whole. `Unreachable`: there is no such program.
    """
    if shutil.which(argv[0], path=env.get("PATH", os.defpath)) is None:
        raise Unreachable(f"{argv[0]}: no such program")
    reaper = (sys.executable, *REAPER, str(os.getpid()), str(cwd))
    with subprocess.Popen(
        (*reaper, *argv),
        env=dict(env),
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout and process.stderr
        out, err = _Output(process.stdout, limit_bytes), _Output(process.stderr, limit_bytes)
        try:
            timed_out = not _follow(process, (out, err), clock.boot_s() + timeout_s, clock)
        finally:
            end(process)
        for output in (out, err):
            output.drain()
        code = process.returncode
        exit_ = Exit(code=code) if code >= 0 else Exit(signal=-code)
        return CallResult(exit_, bytes(out.kept), bytes(err.kept), timed_out, out.cut or err.cut)


class _Output:
    """One output of the program, up to the limit."""

    def __init__(self, pipe: IO[bytes], limit: int) -> None:
        self._limit = limit
        self.fd = pipe.fileno()
        self.kept = bytearray()
        self.cut = False
        os.set_blocking(self.fd, False)

    def take(self) -> bool:
        """Read what is there. False: nothing now, or nothing more."""
        try:
            chunk = os.read(self.fd, CHUNK)
        except BlockingIOError:
            return False
        room = self._limit - len(self.kept)
        self.kept += chunk[:room]
        self.cut = self.cut or len(chunk) > room
        return bool(chunk)

    def drain(self) -> None:
        while not self.cut and self.take():
            pass


def _follow(
    process: subprocess.Popen[bytes], outputs: tuple[_Output, ...], until_s: float, clock: Clock
) -> bool:
    """Read until the program has ended or an output is full. False: the time is over."""
    with selectors.DefaultSelector() as selector:
        ended = os.pidfd_open(process.pid)
        try:
            selector.register(ended, selectors.EVENT_READ)
            for output in outputs:
                selector.register(output.fd, selectors.EVENT_READ, output)
            while (left := until_s - clock.boot_s()) > 0:
                for key, _ in selector.select(left):
                    if key.fd == ended:
                        return True
                    if not key.data.take():
                        selector.unregister(key.fd)
                    if key.data.cut:
                        return True
            return False
        finally:
            os.close(ended)


def end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM asks the reaper to kill everything; SIGKILL is for a reaper that cannot."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(KILLING_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
