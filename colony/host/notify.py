"""What a service manager is told: ready, still alive, stopping; one datagram each (sd_notify)."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Mapping
from typing import Final, Self

STATUS_MAX: Final = 500
"""Characters of a status."""


class Notify:
    """Tells the manager that started this process; nobody where there is none. Never fails, never
    waits."""

    def __init__(self, address: str, watchdog_s: float | None) -> None:
        self._address = address
        self.watchdog_s = watchdog_s
        """How often `alive` must be said; None: nobody counts."""

    @classmethod
    def of(cls, environ: Mapping[str, str], pid: int) -> Self:
        """By `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`: half of what is allowed."""
        address = environ.get("NOTIFY_SOCKET", "")
        told = environ.get("WATCHDOG_USEC", "")
        meant = environ.get("WATCHDOG_PID", "") in ("", str(pid))
        counted = address and meant and told.isascii() and told.isdigit() and int(told) > 0
        return cls(address, int(told) / 2_000_000 if counted else None)

    def ready(self) -> None:
        self._send("READY=1")

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def reloading(self, monotonic_us: int) -> None:
        """Settings are read again; `ready` follows."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={monotonic_us}")

    def status(self, text: str) -> None:
        self._send("STATUS=" + " ".join(text.split())[:STATUS_MAX])

    def _send(self, message: str) -> None:
        if not self._address.startswith(("/", "@")):
            return
        # An abstract socket is written with @ for the NUL in front of its name.
        to = os.fsencode(self._address)
        to = b"\0" + to[1:] if to.startswith(b"@") else to
        with contextlib.suppress(OSError):
            family, kind = socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC
            with socket.socket(family, kind | socket.SOCK_NONBLOCK) as sender:
                sender.sendto(message.encode("utf-8", "replace"), to)
