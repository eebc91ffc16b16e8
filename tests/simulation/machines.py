"""The edges of one simulated machine: its clocks, chance, signals, threads, boxes and processes.

They keep the promises of the real ones, and no more: a wait may end late, a process may die between
any two effects, a clock may jump.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from signal import SIGKILL, Signals
from typing import IO, Any

from colony.core.endings import Exit
from colony.host import journal
from colony.host.files import NoSpace
from colony.host.identity import ProcessId
from colony.host.launch import Command
from tests.simulation.kernel import Condition, Process, Task, World, current

BASE_MS = 1_769_904_000_000
"""2026-02-01 00:00 UTC: where simulated time begins."""
SLICE_S = 20.0
"""Who looks once a second is woken this late: nothing may depend on more."""

_numbers = itertools.count(1)


class Host:
    """One machine, with the faults that befall all of it."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.frozen_s = 0.0
        self.cut_off_s = 0.0
        """Until then the tracker cannot be reached from here."""
        self.full_s = 0.0
        """Until then its disk is full."""
        self.ahead_ms = world.dice.randint(-2_000, 2_000)
        self.rate = 1 + world.dice.uniform(-0.001, 0.001)
        self.boots = 0
        self.booted_s = 0.0
        self.sessions: dict[Path, Process] = {}
        """Run folder -> the newest process that works on it."""


class Clock:
    def __init__(self, host: Host) -> None:
        self._host = host

    def wall_ms(self) -> int:
        host = self._host
        return BASE_MS + host.ahead_ms + round(host.world.now_s * host.rate * 1000)

    def boot_s(self) -> float:
        host = self._host
        return 1000.0 + (host.world.now_s - host.booted_s) * host.rate

    def boot_id(self) -> str:
        return f"{self._host.name}-{self._host.boots}"


class Chance:
    """Names from the seed."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice

    def session_id(self, now_ms: int) -> str:
        minute = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y%m%dT%H%M")
        return f"s-{minute}-{self._dice.getrandbits(24):06x}"

    def uuid4(self) -> str:
        return str(uuid.UUID(int=self._dice.getrandbits(128), version=4))

    def fraction(self) -> float:
        return self._dice.random()


class Stops:
    """Stop signals of a process, and what wakes it."""

    fd = -1

    def __init__(self, process: Process) -> None:
        self.world, self.process = process.world, process
        self.woken = Condition()
        self.count = 0
        self.first: Signals | None = None
        self.on_stop: Callable[[int], object] = lambda _: None
        self.reads_again = False
        self._set = False

    def note(self, number: Signals) -> None:
        """The handler of a stop."""
        self.count += 1
        self.first = self.first or number
        self.on_stop(self.count)
        self.wake()

    def wake(self) -> None:
        self._set = True
        self.woken.notify()

    def drain(self) -> None:
        self._set = False

    @property
    def is_set(self) -> bool:
        return self._set

    def wait(self, seconds: float) -> None:
        self.process.check()
        if not self._set:
            self.world.sleep(seconds, self.woken)
        self.drain()

    def wait_for(self, seconds: float, pidfds: Collection[int]) -> frozenset[int]:
        children = [CHILDREN[fd] for fd in pidfds if fd in CHILDREN]
        gone = frozenset(each.pidfd for each in children if each.ended())
        if not gone and not self._set:
            self.world.sleep(seconds, self.woken, *(each.process.ended for each in children))
            gone = frozenset(each.pidfd for each in children if each.ended())
        self.drain()
        return gone

    def take_read_again(self) -> bool:
        return False


class Event:
    def __init__(self, world: World) -> None:
        self._world, self._set, self._changed = world, False, Condition()

    def set(self) -> None:
        self._set = True
        self._changed.notify()

    def wait(self, timeout: float | None = None) -> bool:
        if not self._set:
            seconds = 1e9 if timeout is None else timeout
            self._world.sleep(SLICE_S if seconds <= 1.0 else seconds, self._changed)
        return self._set


class Thread:
    def __init__(self, task: Task) -> None:
        self._task = task

    def is_alive(self) -> bool:
        return not self._task.done

    def join(self, timeout: float | None = None) -> None:
        if not self._task.done:
            self._task.world.sleep(1e9 if timeout is None else timeout, self._task.ended)


class Threads:
    def __init__(self, process: Process) -> None:
        self._process = process

    def begin(self, work: Callable[[], object], name: str) -> Thread:
        return Thread(self._process.begin(work, name))

    def event(self) -> Event:
        return Event(self._process.world)


# --- boxes -----------------------------------------------------------------------------------


class Box:
    """An agent in its box: a process that dies with the one that started it."""

    peak_bytes = 200 << 20
    counted_by = "simulated"
    out_of_memory = False

    def __init__(self, owner: Process, stops: Stops, command: Command, boxes: Boxes) -> None:
        self.owner, self.command = owner, command
        self.session = command.env["COLONY_SESSION"]
        self._stops, self._boxes = stops, boxes
        argv = command.argv
        self.checks = "Edit" in argv[argv.index("--disallowedTools") :]
        """A controller: it reads, and runs again."""
        self.number = next(_numbers)
        self.agent = ProcessId(self.number, self.number, Clock(owner.host).boot_id())
        self.process = Process(owner.world, f"agent {self.session}", owner.host)
        self.running = False
        self.asked_to_end = False

    def go(self) -> None:
        self.owner.check()
        self.owner.children.append(self.process)
        self.running = True
        self._boxes.oracle.part_begins(self)
        self.process.begin(lambda: self._boxes.agent(self))
        self._boxes.effect("agent runs")

    def wait(self, seconds: float | None, wake: int | None = None) -> Exit | None:
        self.owner.check()
        if self.process.alive and not self._stops.is_set:
            left_s = 1e9 if seconds is None else seconds
            late_s = left_s if left_s <= 0 else max(left_s, SLICE_S)
            self.owner.world.sleep(late_s, self.process.ended, self._stops.woken)
        return None if self.process.alive else self._exit()

    def stop(self, grace_s: float) -> Exit:
        self.owner.check()
        self.asked_to_end = True
        self.process.end(-15)
        return self._exit()

    def kill(self) -> Exit:
        return self.stop(0)

    def _exit(self) -> Exit:
        status = self.process.status or 0
        return Exit(code=status) if status >= 0 else Exit(code=128 - status)

    def __enter__(self) -> Box:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.end(-9)
        if self.running:
            self.running = False
            self._boxes.oracle.part_over(self)


class Boxes:
    def __init__(
        self,
        owner: Process,
        stops: Stops,
        agent: Callable[[Box], None],
        oracle: Any,
        effect: Callable[[str], None],
    ) -> None:
        self._owner, self._stops = owner, stops
        self.agent, self.oracle, self.effect = agent, oracle, effect

    def seal(
        self, base: object, wanted: object, command: object, proof: object, clock: object
    ) -> object:
        return base

    def try_out(self, base: object, trial: object, clock: object) -> None:
        return

    def states(self, guarded: object) -> dict[str, str]:
        return {}

    def undo(self, guarded: object, before: object) -> tuple[()]:
        return ()

    def spawn(self, command: Command, containment: object, limits: object) -> Box:
        self._owner.check()
        self.effect("spawn")
        return Box(self._owner, self._stops, command, self)

    def sweep(self, session: str, clock: object) -> tuple[()]:
        return ()

    def seen(self, ports: object, since_s: float, session: str) -> tuple[()]:
        return ()

    def stop(self, ports: object, since_s: float, session: str, clock: object) -> tuple[()]:
        return ()


# --- processes of sessions -------------------------------------------------------------------

CHILDREN: dict[int, Child] = {}


class Child:
    """A process as its supervisor holds it."""

    def __init__(self, process: Process, *, own: bool) -> None:
        self.process, self._own = process, own
        self.pidfd = next(_numbers)
        CHILDREN[self.pidfd] = self

    def ended(self) -> bool:
        return not self.process.alive

    def signal(self, number: Signals) -> None:
        if number == SIGKILL:
            self.process.end(-9)
        elif self.process.alive:
            self.process.stops.note(number)

    def reap(self) -> Exit | None:
        if not self._own or self.process.alive:
            return None
        status = self.process.status or 0
        return Exit(code=status) if status >= 0 else Exit(signal=-status)

    def close(self) -> None:
        CHILDREN.pop(self.pidfd, None)


class Children:
    """Starts `colony work`, and finds the process that holds a session's lock."""

    def __init__(self, owner: Process, work: Callable[[Sequence[str], IO[str]], Process]) -> None:
        self._owner, self._work = owner, work

    def start(self, argv: Sequence[str], env: Mapping[str, str], log: Path) -> Child:
        self._owner.check()
        return Child(self._work(argv, log.open("a")), own=True)

    def adopt(self, lock: Path) -> Child | None:
        self._owner.check()
        found = self._owner.host.sessions.get(lock.parent)
        return Child(found, own=False) if found is not None and found.alive else None


# --- files -----------------------------------------------------------------------------------


@contextlib.contextmanager
def files_of(effect: Callable[[Process, str], None]) -> Iterator[None]:
    """Every file that a run folder gets is an effect: its process may die before or after it, and
    a full disk takes nothing."""
    write = journal.write_own

    def written(folder: Path, name: str, data: bytes) -> None:
        process = current()
        if process is None:
            write(folder, name, data)
            return
        effect(process, f"write {name}")
        if process.host.full_s > process.world.now_s:
            process.world.count("disk full")
            raise NoSpace(f"{folder}/{name}: not written: no space left on device")
        write(folder, name, data)
        effect(process, f"wrote {name}")

    journal.write_own = written
    try:
        yield
    finally:
        journal.write_own = write
