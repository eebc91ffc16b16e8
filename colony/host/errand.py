"""A short program that runs beside its caller, watched by a pidfd, and ended whole at its time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from colony.core.endings import Exit
from colony.errors import Unreachable
from colony.host.call import LIMIT_BYTES, REAPER, CallResult, end
from colony.host.clock import Clock
from colony.host.identity import has_ended

FOLDER: Final = "/"
"""Where it runs: in no project."""


class Errand:
    """Its outputs go to files in memory: it never waits for its caller, nor its caller for it.

    What it leaves running is killed with it, whatever session it moved to; so is all of it when
    the caller dies.
    """

    def __init__(
        self, argv: Sequence[str], env: Mapping[str, str], clock: Clock, timeout_s: float
    ) -> None:
        """Starts it, with exactly `env` and nothing on its input. `Unreachable`: there is no such
        program."""
        if shutil.which(argv[0], path=env.get("PATH", os.defpath)) is None:
            raise Unreachable(f"{argv[0]}: no such program")
        self._clock = clock
        self.due_s = clock.boot_s() + timeout_s
        """When it is ended, on the boot clock."""
        self._out, self._err = (os.memfd_create(name, os.MFD_CLOEXEC) for name in ("out", "err"))
        self._process = subprocess.Popen(
            (sys.executable, *REAPER, str(os.getpid()), FOLDER, *argv),
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
            start_new_session=True,
        )
        self.pidfd = os.pidfd_open(self._process.pid)
        """Can be read once it has ended."""

    def result(self) -> CallResult | None:
        """How it went, once it has ended or its time is over, to be asked once; None: it runs."""
        late = self._clock.boot_s() >= self.due_s
        if not late and not has_ended(self.pidfd, 0):
            return None
        late = late and not has_ended(self.pidfd, 0)
        code = self._end()
        exit_ = Exit(code=code) if code >= 0 else Exit(signal=-code)
        out, err = self._taken(self._out), self._taken(self._err)
        cut = max(len(out), len(err)) > LIMIT_BYTES
        self._close()
        return CallResult(exit_, out[:LIMIT_BYTES], err[:LIMIT_BYTES], late, cut)

    def drop(self) -> None:
        """End it; nobody wants to know how it went."""
        self._end()
        self._close()

    def _end(self) -> int:
        end(self._process)
        return self._process.wait()

    def _taken(self, fd: int) -> bytes:
        return os.pread(fd, LIMIT_BYTES + 1, 0)

    def _close(self) -> None:
        for fd in (self.pidfd, self._out, self._err):
            os.close(fd)
