"""A tracker served over a real socket, for tests.

    store = in_memory()                       # or on_file(tmp_path)
    with serving(store) as url:               # http://127.0.0.1:PORT, no slash at its end
        secret = store.token("anna", owner=True)
        httpx.get(f"{url}/api/me", headers={"authorization": f"Bearer {secret}"})
    store.close()

`store.clock.ms` is the service's clock: it stands until it is moved. `store.token(NAME)` makes the
user where there is none (`owner=`, `machine=`) and a token for it. `serving` takes the settings of
the server (`public_read=True`, `write_limit=5`, `public_url=…`; no write limit unless given) and
`boot_s=`, the clock that durations and the write limit are measured by; `limits=` those of
connections.

All servers of a test process run on one event loop in one thread, each on a port of its own, so
that several can be there at once and starting one costs milliseconds. `store.bugs` lists what the
server reported to whoever runs it: a test that expects none checks that it is empty.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn.server

from colony.config import ServeSettings
from colony.core.ticket import Me
from colony.flow.wiring.trackers import DERIVE
from colony.host.clock import SystemClock
from colony.serve.app import make_app
from colony.serve.connections import Limits
from colony.serve.desk import Desk, World, set_up
from colony.serve.running import address_of, answering, listen
from colony.tracker.places import MEMORY, engine_at
from colony.tracker.service import Service
from colony.tracker.tokens import Tokens

LOOK_S = 0.002
"""How often a stopping server looks whether its connections are closed: uvicorn's own tenth of a
second, spent by each test that serves anything, is most of what a short one takes."""


class _Hasty:
    """`asyncio` as uvicorn's server sees it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, LOOK_S))


uvicorn.server.asyncio = _Hasty()  # type: ignore[attr-defined]

START_MS = 1_700_000_000_000


@dataclass
class Clock:
    """Milliseconds that move by hand."""

    ms: int = START_MS

    def __call__(self) -> int:
        return self.ms


@dataclass
class Store:
    """A tracker's database with everything that serves it."""

    service: Service
    tokens: Tokens
    clock: Callable[[], int]
    bugs: list[Exception] = field(default_factory=list)
    desks: list[Desk] = field(default_factory=list)
    """Of each server of this store, the newest last: what it remembers, to look behind it."""

    def user(self, name: str, *, owner: bool = False, machine: bool = False) -> Me:
        return self.service.sign_in(Me(name, "", machine, owner))

    def token(
        self,
        name: str,
        *,
        owner: bool = False,
        machine: bool = False,
        expires_ms: int | None = None,
    ) -> str:
        """The secret of a new token of this user."""
        secret = f"tkt_{secrets.token_urlsafe(32)}"
        self.tokens.make(self.user(name, owner=owner, machine=machine), secret, expires_ms)
        return secret

    def close(self) -> None:
        self.service.close()


def store_at(url: str, clock: Callable[[], int] | None = None) -> Store:
    """`sqlite:///…`; a database that is not there is made."""
    at = clock or Clock()
    engine = engine_at(url, create=True, timeout_s=5)
    return Store(Service(engine, at, DERIVE), Tokens(engine, at), at)


def in_memory(clock: Callable[[], int] | None = None) -> Store:
    return store_at(MEMORY, clock)


def on_file(folder: Path, clock: Callable[[], int] | None = None) -> Store:
    return store_at(f"sqlite:///{folder / 'colony.db'}", clock)


@contextmanager
def serving(
    store: Store,
    *,
    boot_s: Callable[[], float] | None = None,
    limits: Limits | None = None,
    **settings: Any,
) -> Iterator[str]:
    """The address of a server of this store, for as long as the block runs."""
    desk = desk_of(store, boot_s or SystemClock().boot_s, **settings)
    store.desks.append(desk)
    listener = listen(address_of("127.0.0.1", 0))
    port = listener.getsockname()[1]
    there = loop()
    stop = asyncio.Event()
    started = threading.Event()

    async def serve() -> None:
        async with answering(make_app(desk), desk.bell, listener, limits):
            started.set()
            await stop.wait()

    running = asyncio.run_coroutine_threadsafe(serve(), there)
    try:
        assert started.wait(30), running.exception(0)
        yield f"http://127.0.0.1:{port}"
    finally:
        there.call_soon_threadsafe(stop.set)
        running.result(30)


def desk_of(store: Store, boot_s: Callable[[], float], **settings: Any) -> Desk:
    keys = itertools.count()
    given: dict[str, Any] = {
        "listen": ("127.0.0.1", 0),
        "public_url": "",
        "public_read": False,
        "write_limit": 0,
    }
    world = World(boot_s, lambda: f"made-{next(keys)}", store.bugs.append)
    return set_up(store.service, store.tokens, ServeSettings(**given | settings), world)


@functools.cache
def loop() -> asyncio.AbstractEventLoop:
    """The loop of all servers of this process, in a thread of its own."""
    made = asyncio.new_event_loop()
    threading.Thread(target=made.run_forever, name="served", daemon=True).start()
    return made
