"""What is SQLite's alone: how a connection is set up, begins, knows its schema and fails."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from colony.errors import Busy, ColonyError, Damaged, Unreachable

READ: Final = "BEGIN"
WRITE: Final = "BEGIN IMMEDIATE"
ALONE: Final = "BEGIN EXCLUSIVE"

APPLICATION_ID: Final = 0x436F6C6F
"""Bytes 68 to 71 of the file: which program's database it is."""


def connect(database: str, where: str, timeout_s: float) -> sqlite3.Connection:
    """A connection in autocommit, with the settings that several processes on one file need.

    The rollback journal, because WAL before SQLite 3.51.3 can corrupt a file that several
    processes write: a file found in WAL is converted (Busy while somebody else has it open).
    The time-out comes first: without it even the settings fail on a busy file.
    """
    with told(where):
        connection = sqlite3.connect(
            database,
            uri=True,
            timeout=timeout_s,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
    try:
        with told(where):
            if _pragma(connection, "journal_mode") == "wal":
                _leave_wal(connection, where)
            connection.execute("PRAGMA synchronous = EXTRA")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA cell_size_check = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def data_version(connection: sqlite3.Connection, where: str) -> int:
    """Another number than before where another connection has changed the file since."""
    with told(where):
        version = _pragma(connection, "data_version")
    assert isinstance(version, int)
    return version


def schema_version(connection: sqlite3.Connection, where: str) -> int:
    """The schema's number. Damaged where the file is another program's, or empty."""
    with told(where):
        if _pragma(connection, "application_id") != APPLICATION_ID:
            raise Damaged(f"{where} is no Colony database, and is left as it is")
        version = _pragma(connection, "user_version")
    assert isinstance(version, int)
    if version < 1:
        raise damaged(where, f"it says that its schema is {version}")
    return version


def set_schema_version(connection: sqlite3.Connection, version: int) -> None:
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {version:d}")


def check_length(connection: sqlite3.Connection, path: Path) -> None:
    """Damaged where the last page is cut: SQLite itself takes the missing part for zeros.

    Within a transaction, so that no other process is writing the page just now.
    """
    page_size = _pragma(connection, "page_size")
    assert isinstance(page_size, int)
    if path.stat().st_size % page_size:
        raise damaged(str(path), "it was cut short")


def check_whole(connection: sqlite3.Connection, where: str) -> None:
    """Read every page. Damaged where one is not in order."""
    with told(where):
        said = [str(line) for (line,) in connection.execute("PRAGMA quick_check(1)")]
        broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    if said != ["ok"] or broken:
        raise damaged(where, said[0] if said != ["ok"] else "a row points nowhere")


def damaged(where: str, why: str) -> Damaged:
    return Damaged(
        f"{where} is damaged ({why}) and is left as it is: put back a file that "
        "`colony tracker backup` made"
    )


@contextmanager
def told(where: str) -> Iterator[None]:
    """What SQLite raises becomes the error a person is told. Our own mistakes stay as they are."""
    try:
        yield
    except sqlite3.Error as error:
        failure = _failure(error, where)
        if failure is None:
            raise
        raise failure from error
    except UnicodeDecodeError as error:
        # SQLite names a broken part of the schema byte for byte.
        raise damaged(where, "its schema cannot be read") from error


def _failure(error: sqlite3.Error, where: str) -> ColonyError | None:
    extended = getattr(error, "sqlite_errorcode", 0)
    if extended == sqlite3.SQLITE_READONLY_DBMOVED:
        return Unreachable(f"the database at {where} was moved or deleted while it was open")
    # The low byte is the primary code; the rest only refines it.
    code = extended & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Busy(f"{where} is busy: another process is writing it; try again")
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT):
        return damaged(where, str(error))
    # Without codes of their own. Every statement fits an undamaged schema: that is tested.
    if "decode to UTF-8" in str(error):
        return damaged(where, "a text in it is not UTF-8")
    if str(error).startswith(("no such table", "no such column", "unsupported file format")):
        return damaged(where, str(error))
    if code == sqlite3.SQLITE_FULL:
        return Busy(f"no room left to write {where}; nothing was written: make room, try again")
    if code == sqlite3.SQLITE_READONLY:
        return Unreachable(f"{where} cannot be written: it is read-only for this user")
    if code in (
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_AUTH,
        sqlite3.SQLITE_NOLFS,
    ):
        return Unreachable(f"{where} cannot be used: {error}")
    return None


def _leave_wal(connection: sqlite3.Connection, where: str) -> None:
    if connection.execute("PRAGMA journal_mode = DELETE").fetchall() != [("delete",)]:
        raise Busy(f"{where} is in WAL mode and open in another program; close that first")


def _pragma(connection: sqlite3.Connection, name: str) -> object:
    return connection.execute(f"PRAGMA {name}").fetchall()[0][0]
