"""Sessions as processes: started, adopted, seen to their end, and told to stop.

Each is a `colony work` of its own, which outlives whoever started it. What a session is stands in
its run folder alone; here is only who runs now, and how to reach them.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from colony.core.endings import Exit
from colony.core.ports import Range, show_range
from colony.core.ticket import Ref
from colony.errors import ColonyError
from colony.host.children import Child, adopt, start
from colony.host.journal import RunFolder
from colony.host.starting_log import LOG, Said, remove_log, starting_log


@dataclass(frozen=True, slots=True)
class Task:
    """One session, as far as the others must know of it."""

    session: str
    ref: Ref
    folder: str
    """Its dev folder, all links resolved."""
    ports: Range | None
    """None: it runs no agent."""
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class Over:
    """A session's process has ended."""

    task: Task
    exit: Exit | None
    """None: it was not ours to ask."""
    said: str = ""
    """The last line of its log."""


@dataclass(frozen=True, slots=True)
class Program:
    """How `colony` is called here: the words before the verb, and the options of `work`."""

    argv: tuple[str, ...]
    options: tuple[str, ...]
    environ: Mapping[str, str]

    def work(self, task: Task) -> tuple[str, ...]:
        """The command line of a session. A new one posts; one that goes on keeps what it may."""
        ref = task.ref
        post = () if task.resumed else ("--post",)
        ports = () if task.ports is None else ("--ports", show_range(task.ports))
        words = ("work", ref.project, str(ref.number), *post, "--session", task.session, *ports)
        return (*self.argv, *words, *self.options)


@dataclass(frozen=True, slots=True)
class _Held:
    task: Task
    child: Child
    said: Said | None


class Supervisor:
    """The sessions that run on this host now. In one thread; `signal` also in its handlers."""

    def __init__(self, runs: Path, program: Program) -> None:
        self._runs, self._program = runs, program
        self._running: dict[str, _Held] = {}

    @property
    def tasks(self) -> tuple[Task, ...]:
        return tuple(held.task for held in tuple(self._running.values()))

    @property
    def own(self) -> int:
        """How many were started by this process."""
        return sum(held.child.own for held in self._running.values())

    @property
    def pidfds(self) -> tuple[int, ...]:
        """Each can be read when its session's process has ended."""
        return tuple(held.child.pidfd for held in self._running.values())

    def start(self, task: Task) -> None:
        """Start a session, or take one up. ColonyError: it cannot be."""
        log = starting_log(self._runs, task.session)
        if task.resumed:
            log = self._runs / task.session / LOG
        child = start(self._program.work(task), self._program.environ, log)
        # Opened now: wherever the file is moved, and should it be removed, it can be read.
        self._running[task.session] = _Held(task, child, Said.of(log))

    def adopt(self, task: Task) -> None:
        """See a session to its end that somebody else started. Where its process cannot be found,
        its lock alone says that it lives."""
        if task.session in self._running:
            return
        child = adopt(RunFolder(self._runs / task.session).lock)
        if child is not None:
            self._running[task.session] = _Held(task, child, None)

    def ended(self) -> Iterator[Over]:
        """Those that have ended since; each is told once."""
        for session, held in tuple(self._running.items()):
            if held.child.ended():
                del self._running[session]
                yield self._over(held)

    def signal(self, number: signal.Signals) -> None:
        """To every session's process, the adopted ones too."""
        for held in tuple(self._running.values()):
            # A descriptor that was closed in this very moment had nobody left to tell.
            with contextlib.suppress(OSError):
                held.child.signal(number)

    def leave(self) -> None:
        """Let go of all that still run; they go on."""
        for held in self._running.values():
            held.child.close()
            if held.said is not None:
                held.said.close()
        self._running.clear()

    def _over(self, held: _Held) -> Over:
        status = held.child.reap()
        held.child.close()
        if held.said is None:
            return Over(held.task, status)
        with contextlib.closing(held.said):
            said = held.said.last_line()
        if held.child.own and not held.task.resumed:
            with contextlib.suppress(ColonyError):
                remove_log(starting_log(self._runs, held.task.session))
        return Over(held.task, status, said)
