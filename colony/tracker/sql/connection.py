"""SQLite connections: one a thread on a file, one for all threads in memory."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from colony.errors import Busy, NoAnswer
from colony.tracker.sql import dialect
from colony.tracker.sql.engine import Transaction, Value
from colony.tracker.sql.statements import queries


class Statements:
    """Runs the named statements on one connection."""

    __slots__ = ("_connection",)

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, **values: Value) -> list[tuple[Any, ...]]:
        return self._connection.execute(queries()[statement], values).fetchall()

    def run(self, statement: str, **values: Value) -> int:
        return self._connection.execute(queries()[statement], values).rowcount


@contextmanager
def transaction(connection: sqlite3.Connection, begin: str, where: str) -> Iterator[Transaction]:
    """Commits when its block ends, rolls back when it raises.

    NoAnswer where the commit itself failed and SQLite no longer says which way it went.
    """
    try:
        with dialect.told(where):
            connection.execute(begin)
            yield Statements(connection)
    except BaseException:
        _roll_back(connection)
        raise
    try:
        with dialect.told(where):
            connection.execute("COMMIT")
    except Busy:
        # A lock or a full disk is met before the point of no return: nothing was kept.
        _roll_back(connection)
        raise
    except BaseException as error:
        if not connection.in_transaction:
            raise NoAnswer(f"{where}: the last write may or may not have been kept") from error
        _roll_back(connection)
        raise


def _roll_back(connection: sqlite3.Connection) -> None:
    # Some failures have rolled back already.
    if connection.in_transaction:
        connection.execute("ROLLBACK")


class FileWatch:
    """A connection that only looks whether the file was written. It waits for nobody: Busy."""

    def __init__(self, uri: str, where: str) -> None:
        self._where = where
        self._connection = dialect.connect(uri, where, timeout_s=0)

    def count(self) -> int:
        return dialect.data_version(self._connection, self._where)

    def close(self) -> None:
        self._connection.close()


class MemoryWatch:
    """Nobody else can write a database in memory."""

    def count(self) -> int:
        return 0

    def close(self) -> None:
        return None


class FileEngine:
    """A database file that several processes may have open. Connections are made by the thread
    that uses them, and closed with the engine or, at the latest, when a later thread asks."""

    def __init__(self, path: Path, timeout_s: float) -> None:
        self._path = path
        self._timeout_s = timeout_s
        self._mine = threading.local()
        self._lock = threading.Lock()
        self._all: list[tuple[threading.Thread, sqlite3.Connection]] = []

    def connection(self) -> sqlite3.Connection:
        """This thread's own connection."""
        mine: sqlite3.Connection | None = getattr(self._mine, "connection", None)
        if mine is None:
            mine = dialect.connect(self._uri(), str(self._path), self._timeout_s)
            self._mine.connection = mine
            with self._lock:
                for thread, connection in self._all:
                    if not thread.is_alive():
                        connection.close()
                self._all = [each for each in self._all if each[0].is_alive()]
                self._all.append((threading.current_thread(), mine))
        return mine

    def reading(self) -> AbstractContextManager[Transaction]:
        return transaction(self.connection(), dialect.READ, str(self._path))

    def writing(self) -> AbstractContextManager[Transaction]:
        return transaction(self.connection(), dialect.WRITE, str(self._path))

    def watch(self) -> FileWatch:
        return FileWatch(self._uri(), str(self._path))

    def _uri(self) -> str:
        # mode=rw: a file that went away is an error, never a new database.
        return f"{self._path.absolute().as_uri()}?mode=rw"

    def close(self) -> None:
        with self._lock:
            for _, connection in self._all:
                connection.close()
            self._all.clear()


class MemoryEngine:
    """A database in this process's memory, one transaction at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection = dialect.connect(":memory:", "the database in memory", 0)

    def connection(self) -> sqlite3.Connection:
        return self._connection

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        with self._lock, transaction(self._connection, dialect.READ, "memory") as statements:
            yield statements

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        with self._lock, transaction(self._connection, dialect.WRITE, "memory") as statements:
            yield statements

    def watch(self) -> MemoryWatch:
        return MemoryWatch()

    def close(self) -> None:
        with self._lock:
            self._connection.close()
