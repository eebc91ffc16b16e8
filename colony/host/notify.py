"""What a service manager is told (systemd's `Type=notify`): one datagram a word, and no library.

It never fails and never waits: a manager that does not listen is told nothing.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from colony.core.lines import clip

SERVICE_ONLY: Final = frozenset(
    {
        "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID",
        "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES",
    }
)  # fmt: skip
"""Variables that speak to the service's own process. A child that had them could speak for it."""
STATUS_MAX: Final = 500
"""Characters of a status."""


def without_service(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for a child."""
    return {name: value for name, value in environ.items() if name not in SERVICE_ONLY}


@dataclass(slots=True)
class Notifier:
    """Speaks to the manager at `address`, a path or `@` and an abstract name; empty: to nobody."""

    address: str = ""
    every_s: float | None = None
    """How often the watchdog wants a sign of life; None: there is none."""
    _beaten_s: float | None = field(default=None, init=False)

    def ready(self) -> None:
        self._send("READY=1")

    def status(self, text: str) -> None:
        """One line for whoever asks the manager how it goes."""
        self._send(f"STATUS={clip(text, STATUS_MAX)}")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def beat(self, now_s: float) -> None:
        """A sign of life, where one is due at this time of the boot clock."""
        if self.every_s is None:
            return
        if self._beaten_s is None or now_s - self._beaten_s >= self.every_s:
            self._beaten_s = now_s
            self._send("WATCHDOG=1")

    def due_in(self, now_s: float) -> float | None:
        """Seconds until the next sign of life is due; None: never."""
        if self.every_s is None or self._beaten_s is None:
            return None if self.every_s is None else 0.0
        return max(0.0, self._beaten_s + self.every_s - now_s)

    def _send(self, word: str) -> None:
        if not self.address.startswith(("/", "@")):
            return
        where = f"\0{self.address[1:]}" if self.address.startswith("@") else self.address
        # ValueError: a name that no socket can have.
        with (
            contextlib.suppress(OSError, ValueError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender,
        ):
            data = word.encode("utf-8", "replace")
            sender.sendto(data, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL, where)


def notifier_of(environ: Mapping[str, str], pid: int) -> Notifier:
    """As the manager asks for it in the environment of the process `pid`."""
    return Notifier(environ.get("NOTIFY_SOCKET", ""), _every_s(environ, pid))


def _every_s(environ: Mapping[str, str], pid: int) -> float | None:
    """Half of the watchdog's time: one sign that is late is not yet missing."""
    span, whose = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    if whose not in ("", str(pid)) or not (span.isascii() and span.isdigit()):
        return None
    return int(span[:18]) / 2_000_000 or None
