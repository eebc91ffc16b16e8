"""Copies of a database: taken while others read and write, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from colony.errors import Damaged, Refused, Unreachable
from colony.tracker.sql import dialect
from colony.tracker.sql.files import PRIVATE, open_file
from colony.tracker.sql.moving import renew_store


def copy(path: Path, target: Path, timeout_s: float) -> int:
    """Write a copy of the database at `path` to the new file `target` (0600); its bytes.

    `Refused`: the target exists. The copy is checked before it gets its name. It is a store of its
    own: what is written to it later is not taken for what the first one wrote meanwhile.
    """
    if target.exists() or target.is_symlink():
        raise Refused(f"{target} exists: a copy never replaces a file")
    engine = open_file(path, create=False, timeout_s=timeout_s)
    new = target.with_name(f"{target.name}.{os.getpid()}.new")
    try:
        with dialect.told(str(path)):
            engine.connection().execute("VACUUM INTO ?", (str(new),))
        new.chmod(PRIVATE)
        copied = open_file(new, create=False, timeout_s=timeout_s)
        try:
            with copied.writing() as db:
                renew_store(db)
        finally:
            copied.close()
        os.link(new, target)
        return target.stat().st_size
    except FileExistsError:
        raise Refused(f"{target} exists: a copy never replaces a file") from None
    except OSError as error:
        raise Unreachable(f"cannot write {target}: {error.strerror}") from error
    finally:
        engine.close()
        new.unlink(missing_ok=True)


def prepare(new: Path) -> None:
    """Make a copy ready to be the tracker: whole, of this program's schema, a store of its own."""
    engine = open_file(new, create=False, timeout_s=0)
    try:
        dialect.check_whole(engine.connection(), str(new))
        with engine.writing() as db:
            renew_store(db)
    finally:
        engine.close()


def put_in_place(new: Path, path: Path, kept: Path | None, timeout_s: float) -> None:
    """`new` is the database at `path` from now on; the one before it goes on as `kept`.

    Without `kept` there must be none (`Refused`). At any moment the old or the new one is there.
    Busy: somebody reads or writes it for longer than the time-out. A damaged one is not asked.
    """
    if kept is None:
        try:
            os.link(new, path)
        except FileExistsError:
            raise Refused(f"{path} was made meanwhile; nothing was put back") from None
        return
    with _alone(path, timeout_s):
        os.link(path, kept)
        # What a killed writer left to be undone belongs to the old one, never to the new.
        for end in _BESIDE:
            beside = path.with_name(path.name + end)
            if beside.exists():
                beside.replace(kept.with_name(kept.name + end))
        new.replace(path)


_BESIDE: Final = ("-journal", "-wal", "-shm")


@contextmanager
def _alone(path: Path, timeout_s: float) -> Iterator[None]:
    connection = None
    try:
        uri = f"{path.absolute().as_uri()}?mode=rw"
        connection = dialect.connect(uri, str(path), timeout_s)
        with dialect.told(str(path)):
            connection.execute(dialect.ALONE)
    except Damaged:
        pass
    try:
        yield
    finally:
        if connection is not None:
            connection.close()
