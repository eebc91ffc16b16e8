"""A file that is not there yet: it gets its name when it is whole, and never replaces another."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from colony.errors import Refused
from colony.host.files import create_private, sync_folder, write_problem


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """A file of mode 0600 to write to; it appears as `path` at the end of the block, on the disk.

    `Refused`: there is something of that name, seen before the block and again after it. `NoSpace`,
    `CannotWrite`: it could not be written. Whatever goes wrong, nothing is left behind.
    """
    if os.path.lexists(path):
        raise taken(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        part.unlink(missing_ok=True)
        opened = create_private(part)
    except OSError as problem:
        raise write_problem(problem, str(path)) from None
    try:
        with os.fdopen(opened, "wb") as file:
            yield file
            file.flush()
            os.fsync(opened)
        os.link(part, path)
        sync_folder(path.parent)
    except FileExistsError:
        raise taken(path) from None
    except OSError as problem:
        raise write_problem(problem, str(path)) from None
    finally:
        part.unlink(missing_ok=True)


def taken(path: Path) -> Refused:
    return Refused(f"{path} exists: nothing is written over it")
