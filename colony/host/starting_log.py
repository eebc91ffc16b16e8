"""The log of a session that begins: it exists before the run folder does, and moves into it.

A loop cannot write into a folder that is not there yet. It opens `runs/.starting/<session>.log` for
the process that it starts; when that makes the run folder, the file becomes its `work.log`. A start
that was refused leaves the file where it was, with the reason in its last line.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import IO, Final, Self

from colony.host.files import PRIVATE_FOLDER, write_problem

FOLDER: Final = ".starting"
LOG: Final = "work.log"
"""What it is called in the run folder."""
TAIL: Final = 8192


def starting_log(runs: Path, session: str) -> Path:
    """Where the log of this session lies until its run folder is made; its folder is made."""
    folder = runs / FOLDER
    try:
        folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
    except OSError as problem:
        raise write_problem(problem, str(folder)) from None
    return folder / f"{session}.log"


def move_in(runs: Path, session: str) -> None:
    """The run folder is made: the log belongs into it. Whoever writes it does not notice."""
    with contextlib.suppress(OSError):
        (runs / FOLDER / f"{session}.log").rename(runs / session / LOG)


class Said:
    """What a process says into its log, read wherever the file is by now, removed or not."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    @classmethod
    def of(cls, log: Path) -> Self | None:
        """None: there is no such file any more, or it is none."""
        try:
            opened = os.open(log, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        if stat.S_ISREG(os.fstat(opened).st_mode):
            return cls(os.fdopen(opened, "rb"))
        os.close(opened)
        return None

    def last_line(self) -> str:
        """The last line that is not empty; empty where there is none to be had."""
        try:
            size = self._file.seek(0, os.SEEK_END)
            self._file.seek(max(0, size - TAIL))
            lines = self._file.read().decode("utf-8", "replace").split("\n")
        except OSError:
            return ""
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def close(self) -> None:
        self._file.close()


def remove_log(log: Path) -> None:
    with contextlib.suppress(OSError):
        log.unlink()
