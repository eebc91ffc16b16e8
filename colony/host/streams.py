"""An agent's stream as lines, read once from front to back, however long it is."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from colony.host.files import Unsafe, folder_at

LINE_MAX: Final = 16 * 1024 * 1024
"""Bytes of one line that are read; the rest of a longer one is passed over."""


def stream_lines(path: Path) -> Iterator[str]:
    """The file's lines as text; what is not UTF-8 is replaced. Nothing where there is no file.

    `Unsafe`: it is a link or no regular file.
    """
    try:
        with folder_at(path.parent) as parent:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            opened = os.open(path.name, flags, dir_fd=parent)
    except FileNotFoundError:
        return
    except OSError as problem:
        raise Unsafe(f"{path}: {(problem.strerror or '').lower()}") from None
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise Unsafe(f"{path}: is not a file")
        while line := file.readline(LINE_MAX):
            whole = line.endswith(b"\n") or len(line) < LINE_MAX
            yield line.decode("utf-8", "replace")
            while not whole and (rest := file.readline(LINE_MAX)):
                whole = rest.endswith(b"\n")
