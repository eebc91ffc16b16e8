"""What wakes waiting requests: a write of this server, or one that another process made.

A request that waits is a coroutine: it holds no thread and no database connection. While somebody
waits, one kept connection is asked twice a second whether the database was written.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from starlette.concurrency import run_in_threadpool

from colony.errors import ColonyError
from colony.tracker.sql.engine import Watch

LOOK_S: Final = 0.5
WAITING_MAX: Final = 500
"""Requests that may wait at once."""


class Bell:
    """Rung on the event loop only. `watch` opens the look at other processes' writes."""

    def __init__(self, watch: Callable[[], Watch]) -> None:
        self._open_watch = watch
        self._next = asyncio.Event()
        self._idle = asyncio.Event()
        self._listeners = 0
        self._looking: asyncio.Task[None] | None = None
        self.most = WAITING_MAX
        self.waiting = 0
        """Requests that wait just now."""
        self.closed = False
        """The server ends: nobody waits any longer."""

    @property
    def next(self) -> asyncio.Event:
        """Set at the next ring. To be taken before the look at what may have changed."""
        return self._next

    def ring(self) -> None:
        self._next.set()
        self._next = asyncio.Event()

    @property
    def full(self) -> bool:
        return self.waiting >= self.most

    async def wait(self, ring: asyncio.Event, seconds: float, gone: asyncio.Task[None]) -> None:
        """Wait for that ring or until whoever asked is gone, at most so long."""
        self.waiting += 1
        rung = asyncio.create_task(ring.wait())
        try:
            either = {rung, gone}
            await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            rung.cancel()
            self.waiting -= 1

    @property
    def looks(self) -> bool:
        """Whether other processes' writes are looked for."""
        return self._looking is not None

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """While the block runs the bell rings for other processes' writes too."""
        self._listeners += 1
        self._idle.clear()
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        try:
            yield
        finally:
            self._listeners -= 1
            if self._listeners == 0:
                self._idle.set()

    async def close(self) -> None:
        self.closed = True
        self.ring()
        self._idle.set()
        if self._looking is not None:
            await self._looking

    async def _look(self) -> None:
        """Look until nobody listens. The first look rings as well: what was written before it may
        not have been seen."""
        watch: Watch | None = None
        seen: int | None = None
        try:
            # It ends by itself: a task that is cancelled would leave its thread at the connection.
            while self._listeners and not self.closed:
                with contextlib.suppress(ColonyError):
                    if watch is None:
                        watch = await run_in_threadpool(self._open_watch)
                    count = await run_in_threadpool(watch.count)
                    if count != seen:
                        seen = count
                        self.ring()
                await _within(self._idle, LOOK_S)
        finally:
            self._looking = None
            if watch is not None:
                watch.close()


async def _within(event: asyncio.Event, seconds: float) -> None:
    """Wait for the event, at most so long."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), max(0.0, seconds))
