"""What a part of a session needs of this machine: a box for its agent, and what it left ended."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Final, Protocol

from colony.core.endings import Exit
from colony.core.ports import Range
from colony.host.box import Containment
from colony.host.clock import Clock
from colony.host.identity import ProcessId
from colony.host.launch import Command
from colony.host.listeners import Listener, seen_listeners, stop_listeners
from colony.host.process import spawn
from colony.host.sweep import Swept, sweep


class Box(Protocol):
    """An agent's process; `host.process.Running` says what each of these does."""

    @property
    def agent(self) -> ProcessId: ...
    @property
    def oom_kills(self) -> int: ...
    def go(self) -> None: ...
    def wait(self, seconds: float | None, wake: int | None = None) -> Exit | None: ...
    def stop(self, grace_s: float) -> Exit: ...


class Boxes(Protocol):
    def spawn(
        self, command: Command, containment: Containment
    ) -> AbstractContextManager[Box]: ...  # as `host.process.spawn`
    def sweep(self, session: str, clock: Clock) -> tuple[Swept, ...]: ...
    def seen(self, ports: Range, since_s: float, session: str) -> tuple[Listener, ...]: ...
    def stop(
        self, ports: Range, since_s: float, session: str, clock: Clock
    ) -> tuple[Listener, ...]: ...


class SystemBoxes:
    """Those of this machine."""

    def spawn(self, command: Command, containment: Containment) -> AbstractContextManager[Box]:
        return spawn(command, containment)

    def sweep(self, session: str, clock: Clock) -> tuple[Swept, ...]:
        return sweep(session, clock)

    def seen(self, ports: Range, since_s: float, session: str) -> tuple[Listener, ...]:
        return seen_listeners(ports, since_s, session)

    def stop(
        self, ports: Range, since_s: float, session: str, clock: Clock
    ) -> tuple[Listener, ...]:
        return stop_listeners(ports, since_s, session, clock)


SYSTEM: Final = SystemBoxes()
