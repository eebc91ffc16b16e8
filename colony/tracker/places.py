"""Addresses of embedded trackers, and the engine behind each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from colony.core.address import MEMORY, file_in
from colony.errors import UsageProblem
from colony.tracker.reader import Reader
from colony.tracker.sql import files
from colony.tracker.sql.engine import Engine

TIMEOUT_S: Final = 10.0
"""How long a transaction waits for the ones of others."""


def engine_at(url: str, *, create: bool, timeout_s: float) -> Engine:
    """The engine of `sqlite:///relative`, `sqlite:////absolute` or `sqlite:///:memory:`."""
    if url == MEMORY:
        return files.open_memory()
    return files.open_file(path_of(url), create=create, timeout_s=timeout_s)


def open_reader(url: str, *, clock: Callable[[], int], timeout_s: float = TIMEOUT_S) -> Reader:
    """The reads alone, of a database that is there: nobody signs in, nothing is written."""
    return Reader(engine_at(url, create=False, timeout_s=timeout_s), clock)


def path_of(url: str) -> Path:
    """The file of an embedded tracker. UsageProblem: it is no such address."""
    name = file_in(url)
    if not name or "\0" in name:
        raise UsageProblem(f"{url!a} is no address of an embedded tracker (sqlite:///colony.db)")
    return Path(name)
