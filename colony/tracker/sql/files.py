"""A database file's life: made whole or not at all, brought up to date, never replaced."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from colony.errors import Damaged, Unreachable
from colony.tracker.sql import dialect
from colony.tracker.sql.connection import FileEngine, MemoryEngine, transaction
from colony.tracker.sql.statements import Step, steps

PRIVATE: Final = 0o600
"""The mode of a database: its owner alone reads it."""


def open_file(path: Path, *, create: bool, timeout_s: float, follows: bool = True) -> FileEngine:
    """The database at `path`, at this program's schema. `create` makes one where there is none.
    `follows`: whatever file lies at `path` later is the database then.

    Unreachable: there is none, or it cannot be used. Damaged: it is broken, another program's,
    or newer than this one. Busy: somebody holds it for longer than the time-out.
    """
    try:
        if not path.exists():
            if not create:
                raise Unreachable(
                    f"there is no tracker at {path} yet: "
                    "`colony init` or `colony ticket new` makes one"
                )
            make_file(path)
        if not path.is_file():
            raise Damaged(f"{path} is not a file")
    except OSError as error:
        raise Unreachable(f"cannot use the tracker at {path}: {error.strerror}") from error
    engine = FileEngine(
        path,
        timeout_s,
        lambda connection: upgrade(connection, path, steps()),
        follows=follows,
    )
    try:
        engine.connection()
    except BaseException:
        engine.close()
        raise
    return engine


def open_memory() -> MemoryEngine:
    engine = MemoryEngine()
    with transaction(engine.connection(), dialect.ALONE, "memory"):
        _take_steps(engine.connection(), steps())
    return engine


def make_file(path: Path) -> None:
    """A new database, readable by its owner only. Another process may have made it meanwhile.

    It is built under another name and linked into place: whatever is found under `path` later
    was whole once, so that an empty or cut file is known as damage.
    """
    new = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.new")
    try:
        new.unlink(missing_ok=True)
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))
        try:
            _fill(new)
            os.link(new, path)
        finally:
            new.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except FileExistsError:
        return


def upgrade(connection: sqlite3.Connection, path: Path, wanted: Sequence[Step]) -> None:
    """Take the steps that are missing, all or none, while nobody else reads or writes."""
    where, newest = str(path), wanted[-1].number
    with transaction(connection, dialect.READ, where):
        version = _version(connection, where, newest)
        dialect.check_length(connection, path)
    if version == newest:
        return
    with transaction(connection, dialect.ALONE, where):
        version = _version(connection, where, newest)
        if version < newest:
            dialect.check_whole(connection, where)
            _take_steps(connection, [step for step in wanted if step.number > version])


def _version(connection: sqlite3.Connection, where: str, newest: int) -> int:
    version = dialect.schema_version(connection, where)
    if version > newest:
        raise Damaged(
            f"{where} was written by a newer Colony (schema {version}, this one knows {newest}): "
            "update Colony; `colony tracker backup` of the newer one makes a copy"
        )
    return version


def _fill(path: Path) -> None:
    connection = dialect.connect(f"{path.absolute().as_uri()}?mode=rw", str(path), 0)
    try:
        with transaction(connection, dialect.ALONE, str(path)):
            _take_steps(connection, steps())
    finally:
        connection.close()


def _take_steps(connection: sqlite3.Connection, wanted: Sequence[Step]) -> None:
    for step in wanted:
        for statement in step.statements:
            connection.execute(statement)
        dialect.set_schema_version(connection, step.number)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
