"""One deadline for a whole exchange: connection, request, head and body of the answer together.

The time-outs of httpx hold for each read alone, so a server that sends a byte now and then would
never run into one. Here every wait of a connection is cut to what is left of the deadline.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpcore
import httpx

SEND_BYTES: Final = 64 * 1024
"""Sent under one time-out."""


class Deadline:
    """Each thread has its own. `boot_s` tells seconds that only go on."""

    def __init__(self, boot_s: Callable[[], float]) -> None:
        self._boot_s = boot_s
        self._mine = threading.local()

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """What this thread sends and reads over a bound client ends in as many seconds."""
        self._mine.until_s = self._boot_s() + seconds
        try:
            yield
        finally:
            del self._mine.until_s

    def bind(self, client: httpx.Client) -> None:
        """Every connection that the client will make, through a proxy or not, keeps to it."""
        # httpx takes no network backend for the proxies of the environment: it is put in here.
        for transport in (client._transport, *client._mounts.values()):
            if transport is not None:
                assert isinstance(transport, httpx.HTTPTransport)
                pool = transport._pool
                pool._network_backend = _Backend(pool._network_backend, self)

    def cut(self, timeout: float | None, late: type[httpcore.TimeoutException]) -> float | None:
        """The time-out, or what is left where that is less. Raises `late` where nothing is."""
        until_s: float | None = getattr(self._mine, "until_s", None)
        if until_s is None:
            return timeout
        left_s = until_s - self._boot_s()
        if left_s <= 0:
            raise late("the deadline is over")
        return left_s if timeout is None else min(timeout, left_s)


class _Backend(httpcore.NetworkBackend):
    """Makes connections that keep to the deadline of the thread that uses them."""

    def __init__(self, inner: httpcore.NetworkBackend, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        timeout = self._deadline.cut(timeout, httpcore.ConnectTimeout)
        made = self._inner.connect_tcp(host, port, timeout, local_address, socket_options)
        return _Stream(made, self._deadline)

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._inner = inner
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._deadline.cut(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for at in range(0, len(buffer), SEND_BYTES):
            left_s = self._deadline.cut(timeout, httpcore.WriteTimeout)
            self._inner.write(buffer[at : at + SEND_BYTES], left_s)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        timeout = self._deadline.cut(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, timeout), self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
