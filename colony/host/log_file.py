"""A log of lines, each with a UTC time in front, in files that take turns: `.1` is the newest old.

Nothing that happens to it stops who writes: a line that finds no room is lost, and the first loss
is said.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from colony.core.lines import printable
from colony.host.files import PRIVATE_FILE, kind_of, make_folder

MAX_BYTES: Final = 10_000_000
"""A file that would grow beyond becomes the newest old one."""
KEPT: Final = 5
"""Old files."""

_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
_WHOLE_S: Final = 1000


class LogFile:
    """The log at `path`, made (0600) when its first line is written."""

    def __init__(
        self,
        path: Path,
        complain: Callable[[str], None],
        max_bytes: int = MAX_BYTES,
        kept: int = KEPT,
    ) -> None:
        self._path = path
        self._complain: Callable[[str], None] | None = complain
        self._max_bytes = max_bytes
        self._kept = kept
        self._fd = -1

    def write(self, text: str, now_ms: int) -> None:
        """Add one line, whole or not at all."""
        moment = datetime.fromtimestamp(now_ms // _WHOLE_S, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        data = f"{moment} {printable(text)}\n".encode("utf-8", "replace")
        try:
            self._open_for(len(data))
            self._add(data)
        except OSError as problem:
            self.close()
            self._lost(problem)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _add(self, data: bytes) -> None:
        before = os.fstat(self._fd).st_size
        written = 0
        try:
            while written < len(data):
                written += os.write(self._fd, data[written:])
        except OSError:
            if written:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._fd, before)
            raise

    def _open_for(self, size: int) -> None:
        """The file of this name is open, and has room for so many bytes."""
        if self._fd < 0 or not self._is_there():
            self._open()
        grown = os.fstat(self._fd).st_size
        if grown and grown + size > self._max_bytes:
            self.close()
            self._turn()
            self._open()

    def _is_there(self) -> bool:
        """Nobody moved or removed it meanwhile."""
        try:
            found = self._path.lstat()
        except FileNotFoundError:
            return False
        return os.path.samestat(found, os.fstat(self._fd))

    def _open(self) -> None:
        self.close()
        make_folder(self._path.parent)
        fd = os.open(self._path, _FLAGS | os.O_CLOEXEC, PRIVATE_FILE)
        try:
            mode = os.fstat(fd).st_mode
            if not stat.S_ISREG(mode):
                raise OSError(f"is {kind_of(mode)}, not a file")
            os.fchmod(fd, PRIVATE_FILE)
        except OSError:
            os.close(fd)
            raise
        self._fd = fd

    def _turn(self) -> None:
        for number in range(self._kept, 0, -1):
            newer = self._old(number - 1) if number > 1 else self._path
            with contextlib.suppress(FileNotFoundError):
                newer.replace(self._old(number))

    def _old(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")

    def _lost(self, problem: OSError) -> None:
        complain, self._complain = self._complain, None
        if complain is not None:
            why = (problem.strerror or str(problem)).lower()
            complain(f"{self._path} cannot be written: {why}; lines go on without it")
