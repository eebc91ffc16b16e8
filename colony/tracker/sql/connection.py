"""SQLite connections: one a thread on a file, one for all threads in memory."""

from __future__ import annotations

import itertools
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from colony.errors import Busy, ColonyError, Damaged, NoAnswer, Unreachable
from colony.tracker.sql import dialect
from colony.tracker.sql.engine import DataVersion, Transaction, Value
from colony.tracker.sql.statements import queries

File = tuple[int, int]
"""Device and number of a file."""


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

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened = 0
        self._open()

    def count(self) -> int:
        if identity(self._path) != self._file:
            self._connection.close()
            self._open()
        version = dialect.data_version(self._connection, str(self._path))
        # Each file counts its own versions: another file is another number.
        return (self._opened << 32) + version

    def close(self) -> None:
        self._connection.close()

    def _open(self) -> None:
        self._connection, self._file = _connect(self._path, timeout_s=0)
        self._opened += 1


class MemoryWatch:
    """Nobody else can write a database in memory."""

    def count(self) -> int:
        return 0

    def close(self) -> None:
        return None


def identity(path: Path) -> File:
    """Which file lies at the path. Unreachable: none any longer. Damaged: no file."""
    try:
        found = path.stat()
    except FileNotFoundError:
        line = f"the database at {path} was moved or deleted while it was open"
        raise Unreachable(line) from None
    except OSError as error:
        raise Unreachable(f"cannot use the tracker at {path}: {error.strerror}") from error
    if not stat.S_ISREG(found.st_mode):
        raise Damaged(f"{path} is not a file")
    return found.st_dev, found.st_ino


def _connect(path: Path, timeout_s: float) -> tuple[sqlite3.Connection, File]:
    """A connection, and the file that it is on."""
    before = identity(path)
    # mode=rw: a file that went away is an error, never a new database.
    uri = f"{path.absolute().as_uri()}?mode=rw"
    connection = dialect.connect(uri, str(path), timeout_s)
    try:
        if identity(path) != before:
            raise Busy(f"{path} is being replaced: try again")
    except BaseException:
        connection.close()
        raise
    return connection, before


class FileEngine:
    """A database file that several processes may have open. Connections are made by the thread
    that uses them, and closed with the engine or, at the latest, when a later thread asks.

    A file that another one takes the place of is left at the next transaction of each thread:
    else some would read and write what nobody finds again. `check` is run on each file's first
    connection. Not `follows`: a file that loses its name on purpose, used by one thread.
    """

    def __init__(
        self,
        path: Path,
        timeout_s: float,
        check: Callable[[sqlite3.Connection], None],
        *,
        follows: bool = True,
    ) -> None:
        self._path = path
        self._timeout_s = timeout_s
        self._check = check
        self._follows = follows
        self._checked: File | None = None
        self._mine = threading.local()
        self._lock = threading.Lock()
        self._all: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._opened = itertools.count(1)
        self._in_use: set[sqlite3.Connection] = set()
        self._closed = False

    def connection(self) -> sqlite3.Connection:
        """This thread's own connection, on the file that lies at the path now."""
        mine: tuple[sqlite3.Connection, File] | None = getattr(self._mine, "opened", None)
        if mine is not None:
            connection, file = mine
            try:
                if not self._follows or identity(self._path) == file:
                    return connection
            except ColonyError:
                self._leave(connection)
                raise
            self._leave(connection)
        return self._open()

    def _open(self) -> sqlite3.Connection:
        connection, file = _connect(self._path, self._timeout_s)
        try:
            if file != self._checked:
                self._check(connection)
                self._checked = file
        except BaseException:
            connection.close()
            raise
        self._mine.opened = (connection, file)
        self._mine.number = next(self._opened)
        with self._lock:
            for thread, other in self._all:
                if not thread.is_alive():
                    other.close()
            self._all = [each for each in self._all if each[0].is_alive()]
            self._all.append((threading.current_thread(), connection))
        return connection

    def _leave(self, connection: sqlite3.Connection) -> None:
        self._mine.opened = None
        # Once nobody has the old file open, a new one may get its number.
        self._checked = None
        connection.close()
        with self._lock:
            self._all = [each for each in self._all if each[1] is not connection]

    def reading(self) -> AbstractContextManager[Transaction]:
        return self._transaction(dialect.READ)

    def writing(self) -> AbstractContextManager[Transaction]:
        return self._transaction(dialect.WRITE)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Transaction]:
        connection = self.connection()
        with self._lock:
            self._in_use.add(connection)
        try:
            with transaction(connection, begin, str(self._path)) as statements:
                yield statements
        finally:
            with self._lock:
                self._in_use.discard(connection)
                if self._closed:
                    connection.close()

    def data_version(self) -> DataVersion:
        connection = self.connection()
        # SQLite tells of the others' writes only, each connection for itself.
        others = dialect.data_version(connection, str(self._path))
        return self._mine.number, others, connection.total_changes

    def watch(self) -> FileWatch:
        return FileWatch(self._path)

    def close(self) -> None:
        """A connection that another thread is using is closed by that thread: SQLite crashes where
        it is taken away under it."""
        with self._lock:
            self._closed = True
            for _, connection in self._all:
                if connection not in self._in_use:
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

    def data_version(self) -> DataVersion:
        with self._lock:
            return (self._connection.total_changes,)

    def watch(self) -> MemoryWatch:
        return MemoryWatch()

    def close(self) -> None:
        with self._lock:
            self._connection.close()
