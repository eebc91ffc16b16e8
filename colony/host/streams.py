"""An agent's stream as lines, read once from front to back, however long it is."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from colony.host.files import Unsafe, folder_at

STREAM: Final = "stream.jsonl"
"""What the file is called in the folder of a part."""
LINE_MAX: Final = 16 * 1024 * 1024
"""Bytes of one line that are read; the rest of a longer one is passed over."""
CHUNK: Final = 1024 * 1024
"""Bytes of a growing stream that are read at once."""


def stream_lines(path: Path) -> Iterator[str]:
    """The file's lines as text; what is not UTF-8 is replaced. Nothing where there is no file.

    `Unsafe`: it is a link or no regular file.
    """
    with _opened(path) as file:
        while file is not None and (line := file.readline(LINE_MAX)):
            whole = line.endswith(b"\n") or len(line) < LINE_MAX
            yield line.decode("utf-8", "replace")
            while not whole and (rest := file.readline(LINE_MAX)):
                whole = rest.endswith(b"\n")


def new_lines(path: Path, since: int) -> tuple[tuple[str, ...], int]:
    """The whole lines after byte `since`, and where they end: for following a stream that grows.

    At most `CHUNK` bytes a call; a line that is longer is passed over.
    """
    with _opened(path) as file:
        if file is None:
            return (), since
        file.seek(since)
        data = file.read(CHUNK)
    end = data.rfind(b"\n") + 1
    if not end:
        return (), since + (CHUNK if len(data) == CHUNK else 0)
    # JSON may hold other characters that Python takes for the end of a line.
    return tuple(data[: end - 1].decode("utf-8", "replace").split("\n")), since + end


def size_of(path: Path) -> int:
    """Bytes of a stream so far; 0 where there is none. No link is followed."""
    try:
        return path.lstat().st_size
    except OSError:
        return 0


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[IO[bytes] | None]:
    try:
        with folder_at(path.parent) as parent:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            opened = os.open(path.name, flags, dir_fd=parent)
    except FileNotFoundError:
        yield None
        return
    except OSError as problem:
        raise Unsafe(f"{path}: {(problem.strerror or '').lower()}") from None
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise Unsafe(f"{path}: is not a file")
        yield file
