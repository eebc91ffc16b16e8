"""The loop's own log, `logs/colony.log`: each line with its time, rotated by size."""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from colony.host.files import PRIVATE_FILE, PRIVATE_FOLDER

NAME: Final = "colony.log"
SIZE_MAX: Final = 10_000_000
KEPT: Final = 5
"""Older files: `colony.log.1` to `colony.log.5`."""


class Logbook:
    """Appends lines. A full disk, or a folder that cannot be written, loses lines and stops
    nothing; `trouble` says what it was."""

    def __init__(self, folder: Path, size_max: int = SIZE_MAX) -> None:
        self._folder = folder
        self._size_max = size_max
        self.trouble = ""

    @property
    def path(self) -> Path:
        return self._folder / NAME

    def write(self, at_ms: int, line: str) -> None:
        """One line, with the UTC time in front; opened each time, so that it may be moved away."""
        moment = datetime.fromtimestamp(at_ms / 1000, UTC)
        data = f"{moment:%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03}Z {line}\n".encode("utf-8", "replace")
        try:
            self._folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
            self._append(data)
        except OSError as problem:
            self.trouble = f"{self.path}: {(problem.strerror or str(problem)).lower()}"
        else:
            self.trouble = ""

    def _append(self, data: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(self.path, flags, PRIVATE_FILE)
        try:
            full = os.fstat(file).st_size + len(data) > self._size_max
            if not full:
                os.write(file, data)
        finally:
            os.close(file)
        if full:
            self._rotate()
            file = os.open(self.path, flags, PRIVATE_FILE)
            try:
                os.write(file, data)
            finally:
                os.close(file)

    def _rotate(self) -> None:
        for number in range(KEPT, 0, -1):
            older = self._folder / f"{NAME}.{number}"
            newer = self._folder / (f"{NAME}.{number - 1}" if number > 1 else NAME)
            with contextlib.suppress(FileNotFoundError):
                newer.replace(older)
