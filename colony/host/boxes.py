"""What a part of a session needs of this machine: a box for its agent, and what it left ended."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from colony.core.endings import Exit
from colony.core.ports import Range
from colony.errors import Refused
from colony.host.box import Containment, NoBox, is_hardened, sealed
from colony.host.cgroup import UNGROUPED, Limits, Tier, clear
from colony.host.clock import Clock
from colony.host.identity import ProcessId
from colony.host.launch import Command
from colony.host.listeners import Listener, seen_listeners, stop_listeners
from colony.host.process import Confinement, spawn
from colony.host.proof import Proof, prove
from colony.host.protection import Guarded, States, states_of, undo
from colony.host.sweep import Swept, sweep
from colony.host.view import Wanted, mounts_for


class Box(Protocol):
    """An agent's process; `host.process.Running` says what each of these does."""

    @property
    def agent(self) -> ProcessId: ...
    @property
    def peak_bytes(self) -> int: ...
    @property
    def counted_by(self) -> str: ...
    @property
    def out_of_memory(self) -> bool: ...
    def go(self) -> None: ...
    def wait(self, seconds: float | None, wake: int | None = None) -> Exit | None: ...
    def stop(self, grace_s: float) -> Exit: ...
    def kill(self) -> Exit: ...


@dataclass(frozen=True, slots=True)
class Trial:
    """A box as it would be for a session that is not there yet."""

    wanted: Wanted
    command: Command
    proof: Proof


class Boxes(Protocol):
    def seal(
        self, base: Containment, wanted: Wanted, command: Command, proof: Proof, clock: Clock
    ) -> Containment:
        """`base` as it is for this command, tried out (`host.proof`). `NoBox`: it does not hold."""
        ...

    def try_out(self, base: Containment, trial: Callable[[Path], Trial], clock: Clock) -> None:
        """The same, in a folder that is gone afterwards."""
        ...

    def states(self, guarded: Guarded) -> dict[str, str]: ...
    def undo(self, guarded: Guarded, before: States) -> tuple[str, ...]: ...
    def spawn(
        self, command: Command, containment: Containment, limits: Limits
    ) -> AbstractContextManager[Box]: ...  # as `host.process.spawn`
    def sweep(self, session: str, clock: Clock) -> tuple[Swept, ...]: ...
    def seen(self, ports: Range, since_s: float, session: str) -> tuple[Listener, ...]: ...
    def stop(
        self, ports: Range, since_s: float, session: str, clock: Clock
    ) -> tuple[Listener, ...]: ...


@dataclass(frozen=True, slots=True)
class SystemBoxes:
    """Those of this machine. `tier`: who limits and counts what their processes take."""

    tier: Tier = UNGROUPED

    def seal(
        self, base: Containment, wanted: Wanted, command: Command, proof: Proof, clock: Clock
    ) -> Containment:
        if not is_hardened(base):
            return base
        try:
            box = sealed(base, mounts_for(wanted), userns=wanted.userns)
        except Refused as refused:
            raise NoBox(refused.line) from None
        prove(box, command, proof, clock)
        return box

    def try_out(self, base: Containment, trial: Callable[[Path], Trial], clock: Clock) -> None:
        if is_hardened(base):
            with tempfile.TemporaryDirectory(prefix="colony-") as folder:
                one = trial(Path(folder).resolve())
                self.seal(base, one.wanted, one.command, one.proof, clock)

    def states(self, guarded: Guarded) -> dict[str, str]:
        return states_of(guarded)

    def undo(self, guarded: Guarded, before: States) -> tuple[str, ...]:
        return undo(guarded, before)

    def spawn(
        self, command: Command, containment: Containment, limits: Limits
    ) -> AbstractContextManager[Box]:
        return spawn(command, containment, Confinement(self.tier, limits))

    def sweep(self, session: str, clock: Clock) -> tuple[Swept, ...]:
        """By the session's name in their environment first; who has dropped that is in its group
        still."""
        return (*sweep(session, clock), *clear(self.tier, session))

    def seen(self, ports: Range, since_s: float, session: str) -> tuple[Listener, ...]:
        return seen_listeners(ports, since_s, session)

    def stop(
        self, ports: Range, since_s: float, session: str, clock: Clock
    ) -> tuple[Listener, ...]:
        return stop_listeners(ports, since_s, session, clock)


SYSTEM: Final = SystemBoxes()
