"""Addresses of embedded trackers, and the engine behind each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from colony.errors import UsageProblem
from colony.tracker.reader import Reader
from colony.tracker.sql import files
from colony.tracker.sql.engine import Engine

SCHEME: Final = "sqlite:///"
MEMORY: Final = "sqlite:///:memory:"
TIMEOUT_S: Final = 10.0
"""How long a transaction waits for the ones of others."""


def absolute(url: str, home: Path) -> str:
    """A `sqlite:///relative` address made absolute, seen from `home`; others as they are."""
    if not url.startswith(SCHEME) or url == MEMORY:
        return url
    return f"{SCHEME}{home.absolute() / path_of(url)}"


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
    name = url.removeprefix(SCHEME)
    if name == url or not name or "\0" in name:
        raise UsageProblem(f"{url!a} is no address of an embedded tracker (sqlite:///colony.db)")
    return Path(name)
