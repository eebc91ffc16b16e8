"""The databases that an export is taken from and read into."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import IO

from colony.errors import Refused, Unreachable
from colony.tracker.ledger import Derive
from colony.tracker.moving.arrival import take
from colony.tracker.places import TIMEOUT_S, path_of
from colony.tracker.sql import copies, files
from colony.tracker.sql.engine import Engine


@contextmanager
def snapshot(url: str, folder: Path | None = None) -> Iterator[Engine]:
    """The database of `url` as it is now, which nobody waits for and nobody changes.

    A copy in `folder` (beside the database, or, where nothing can be written there, in a private
    folder among the temporary ones), without a name once it is open: a reader of the database
    itself would keep others from writing for as long as the lines take to be written.
    """
    path = path_of(url)
    with ExitStack() as stack:
        place = folder or _place_for(path, stack)
        engine = _unnamed_copy(path, place / f"{path.name}.{os.getpid()}.export")
        stack.enter_context(closing(engine))
        yield engine


def _place_for(path: Path, stack: ExitStack) -> Path:
    if os.access(path.parent, os.W_OK | os.X_OK):
        return path.parent
    try:
        made = tempfile.TemporaryDirectory(prefix="colony-export-")
    except OSError as error:
        raise Unreachable(
            f"there is no place for a copy of {path}, neither beside it nor among the temporary"
            f" files: {error.strerror}"
        ) from error
    return Path(stack.enter_context(made))


def _unnamed_copy(path: Path, copy: Path) -> Engine:
    try:
        try:
            copy.unlink(missing_ok=True)
            copies.copy(path, copy, TIMEOUT_S)
            return files.open_file(copy, create=False, timeout_s=TIMEOUT_S, follows=False)
        finally:
            copy.unlink(missing_ok=True)
    except OSError as error:
        raise Unreachable(
            f"there is no place for a copy of {path} in {copy.parent}: {error.strerror}"
        ) from error


def read_into(url: str, file: IO[bytes], derive: Derive) -> dict[str, int]:
    """Read an export into the empty tracker of `url`, made where there is none; rows by name.

    A new database gets its name when everything is in it.
    """
    path = path_of(url)
    if path.exists():
        return _filled(path, file, derive)
    new = path.with_name(f"{path.name}.{os.getpid()}.import")
    try:
        new.unlink(missing_ok=True)
        files.make_file(new)
        counts = _filled(new, file, derive)
        os.link(new, path)
    except FileExistsError:
        raise Refused(f"{path} was made meanwhile; nothing was read") from None
    except OSError as error:
        raise Unreachable(f"cannot make the tracker at {path}: {error.strerror}") from error
    finally:
        new.unlink(missing_ok=True)
    return counts


def _filled(path: Path, file: IO[bytes], derive: Derive) -> dict[str, int]:
    engine = files.open_file(path, create=False, timeout_s=TIMEOUT_S)
    try:
        return take(engine, file, derive)
    finally:
        engine.close()
