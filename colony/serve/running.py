"""Running the server: the address it listens on, from the first request to an orderly stop."""

from __future__ import annotations

import asyncio
import errno
import functools
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, cast

import uvicorn
from starlette.types import ASGIApp

from colony.core.loopback import is_loopback
from colony.errors import Busy, Unreachable
from colony.host.signals import StopSignals
from colony.serve.bell import Bell
from colony.serve.connections import Connection, Limits, NoRoom, Room

STOP_S: Final = 1
"""Seconds for requests that are being answered when the server stops."""
IDLE_S: Final = 65
"""Seconds that a connection may stay open unused: longer than clients and proxies pause."""
BACKLOG: Final = 512
AT_ONCE: Final = 16
"""Connections taken before any of them is looked at: few, or they use up the files before those
beyond the limit are closed."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen: a name of this machine, looked up."""

    family: socket.AddressFamily
    host: str
    port: int
    name: str
    """As it was given."""

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.host)

    def __str__(self) -> str:
        host = f"[{self.name}]" if ":" in self.name else self.name
        return f"{host}:{self.port}"


def address_of(name: str, port: int) -> Address:
    """Unreachable: the name is no address of any machine."""
    try:
        found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise Unreachable(f"{name}: {error.strerror}") from None
    family, _, _, _, place = found[0]
    return Address(family, str(place[0]), port, name)


def listen(address: Address) -> socket.socket:
    """A socket that takes connections from now on. Busy: the port is in use."""
    # asyncio turns Nagle's algorithm off only where the protocol is named: with it each answer on
    # a kept connection would wait 40 ms for the client's acknowledgement.
    listener = socket.socket(address.family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.host, address.port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise Busy(f"{address} is in use by another program") from None
        raise Unreachable(f"cannot listen on {address}: {error.strerror}") from None
    return listener


@asynccontextmanager
async def answering(
    app: ASGIApp, bell: Bell, listener: socket.socket, limits: Limits | None = None
) -> AsyncIterator[None]:
    """Requests are answered while the block runs; at its end those that wait are let go first."""
    protocol = functools.partial(Connection, room=Room(limits or Limits()))
    config = uvicorn.Config(
        app,
        loop="none",
        http=cast(Any, protocol),
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        backlog=AT_ONCE,
        timeout_keep_alive=IDLE_S,
        timeout_graceful_shutdown=STOP_S,
    )
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[listener])
    # asyncio has one number for both: this is the kernel's queue again.
    listener.listen(BACKLOG)
    try:
        yield
    finally:
        await bell.close()
        await server.shutdown(sockets=[listener])
        # Those that were cut short still say so.
        if tasks := set(server.server_state.tasks):
            await asyncio.wait(tasks, timeout=STOP_S)


def run(
    app: ASGIApp,
    bell: Bell,
    listener: socket.socket,
    ready: Callable[[], None],
    report: Callable[[Exception], None],
) -> None:
    """Answer until a stop signal comes. `ready` is called once requests are answered, `report`
    once where a connection could not be taken."""
    with StopSignals() as signals:
        asyncio.run(_run(app, bell, listener, (ready, report, signals)))


async def _run(
    app: ASGIApp,
    bell: Bell,
    listener: socket.socket,
    around: tuple[Callable[[], None], Callable[[Exception], None], StopSignals],
) -> None:
    ready, report, signals = around
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(NoRoom(report))
    async with answering(app, bell, listener):
        loop.add_reader(signals.fd, stop.set)
        try:
            ready()
            await stop.wait()
        finally:
            loop.remove_reader(signals.fd)
