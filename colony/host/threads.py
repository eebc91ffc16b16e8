"""Threads, given to whoever needs one: begun, waited for, woken by an event."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Protocol


class Event(Protocol):
    """Set once, by any thread."""

    def set(self) -> None: ...

    def wait(self, timeout: float | None = None) -> bool:
        """Until it is set, `timeout` seconds at most; True: it is set."""
        ...


class Thread(Protocol):
    """A thread that has begun. It keeps no process alive."""

    def join(self, timeout: float | None = None) -> None:
        """Until it has ended, `timeout` seconds at most."""
        ...

    def is_alive(self) -> bool: ...


class Threads(Protocol):
    def begin(self, work: Callable[[], object], name: str) -> Thread:
        """`RuntimeError`: this machine has no thread to give."""
        ...

    def event(self) -> Event: ...


class SystemThreads:
    """Those of the kernel."""

    def begin(self, work: Callable[[], object], name: str) -> Thread:
        one = threading.Thread(target=work, name=name, daemon=True)
        one.start()
        return one

    def event(self) -> Event:
        return threading.Event()


SYSTEM: Final = SystemThreads()
