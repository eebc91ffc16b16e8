"""What the store asks of a database: named statements inside a transaction."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Protocol

Value = None | int | float | str
DataVersion = tuple[int, ...]


class Transaction(Protocol):
    """Named statements of `queries/`, their values by name. Rows are fetched whole."""

    def rows(self, statement: str, **values: Value) -> list[tuple[Any, ...]]: ...
    def run(self, statement: str, **values: Value) -> int:
        """The number of rows changed."""
        ...


class Engine(Protocol):
    """Transactions that end with their block: an exception rolls a writing one back."""

    def reading(self) -> AbstractContextManager[Transaction]:
        """One snapshot for all reads of the block."""
        ...

    def writing(self) -> AbstractContextManager[Transaction]:
        """The only writer while the block lasts; Busy past the time-out."""
        ...

    def data_version(self) -> DataVersion:
        """Another one than before where anything was written since, by anybody; the same one says
        that nothing was. No table is read for it. Asked for before a read, it is that of what the
        read finds, or of something older. Of the calling thread: others get other ones. Busy."""
        ...

    def watch(self) -> Watch: ...

    def close(self) -> None: ...


class Watch(Protocol):
    """Notices what others wrote. It is kept open, and used by one thread at a time."""

    def count(self) -> int:
        """Another number than last time where another connection has written since. Busy."""
        ...

    def close(self) -> None: ...
