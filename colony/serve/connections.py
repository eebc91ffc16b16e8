"""Connections: how many may be open, how long each may take for its request."""

from __future__ import annotations

import asyncio
import errno
import resource
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from colony.errors import Busy

HEAD_S: Final = 30
BODY_S: Final = 30
OPEN_MAX: Final = 10_000
_NO_ROOM: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


def most_open() -> int:
    """Three quarters of the files that this process may open: the store needs some as well."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return OPEN_MAX if soft == resource.RLIM_INFINITY else min(OPEN_MAX, soft * 3 // 4)


@dataclass(frozen=True, slots=True)
class Limits:
    head_s: float = HEAD_S
    """Seconds for a whole head, from the connection on or from the first byte of a later one."""
    body_s: float = BODY_S
    """Seconds for a whole body, from its head on."""
    open_max: int = field(default_factory=most_open)


class Room:
    """The connections of one server that are between requests, the longest so first."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.idle: dict[Connection, None] = {}


class Connection(H11Protocol):
    """One client's connection: a request that does not come whole ends it."""

    def __init__(self, *args: Any, room: Room, **more: Any) -> None:
        super().__init__(*args, **more)
        self._room = room
        self._phase: tuple[str, int] = ("", 0)
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._room.limits.open_max and not self._make_room():
            transport.abort()
            return
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._enter(("lost", 0), None)

    def handle_events(self) -> None:
        super().handle_events()
        self._look()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's own name
        """What is no HTTP at all is told so in the form of every other error."""
        self._refuse(400, b'{"error":"this is no HTTP request","code":"not_http"}')

    def _make_room(self) -> bool:
        """Close the connection that has been without a request for longest, if there is one."""
        oldest = next(iter(self._room.idle), None)
        if oldest is None:
            return False
        oldest.transport.abort()
        oldest._enter(("lost", 0), None)
        return True

    def _look(self) -> None:
        """What is waited for now: a head, the rest of a body, or nothing of the client's."""
        if self.transport.is_closing():
            self._enter(("lost", 0), None)
        elif (cycle := self._answering()) is not None:
            if cycle.more_body:
                self._enter(("body", id(cycle)), self._room.limits.body_s)
            else:
                self._enter(("answer", id(cycle)), None)
        elif self.timeout_keep_alive_task is not None:
            self._enter(("kept", 0), None)
        else:
            self._enter(("head", 0), self._room.limits.head_s)

    def _answering(self) -> RequestResponseCycle | None:
        """The request that is being answered."""
        cycle: RequestResponseCycle | None = self.cycle
        return None if cycle is None or cycle.response_complete else cycle

    def _enter(self, phase: tuple[str, int], seconds: float | None) -> None:
        if phase == self._phase:
            return
        self._phase = phase
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._too_slow)
        self._room.idle.pop(self, None)
        if phase[0] in ("head", "kept"):
            self._room.idle[self] = None

    def _too_slow(self) -> None:
        if self._phase[0] == "body" and not self.cycle.response_started:
            self._refuse(408, b'{"error":"the body: did not come in time","code":"too_slow"}')
            self.cycle.message_event.set()
        else:
            self.transport.abort()

    def _refuse(self, status: int, body: bytes) -> None:
        """Answer in the app's place, and close."""
        headers: list[tuple[bytes, bytes]] = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        reason = {400: b"Bad Request", 408: b"Request Timeout"}[status]
        events: list[Any] = [
            h11.Response(status_code=status, headers=headers, reason=reason),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ]
        if self.cycle is not None:
            # A request before it is still being answered: nothing can be said behind this.
            self.cycle.disconnected = True
        for event in events:
            self.transport.write(self.conn.send(event))
        self.transport.close()


class NoRoom:
    """The event loop's handler of errors: a connection that cannot be taken is said once, where
    asyncio prints a stack for each and goes on by itself."""

    def __init__(self, report: Callable[[Exception], None]) -> None:
        self._report = report
        self._said = False

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _NO_ROOM:
            loop.default_exception_handler(context)
        elif not self._said:
            self._said = True
            self._report(Busy(f"a connection cannot be taken: {error.strerror} (ulimit -n)"))
