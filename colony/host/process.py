"""One agent's process: started behind the gate, watched, stopped, and never left behind."""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self, assert_never

from colony.core.endings import Exit
from colony.core.lines import clip
from colony.errors import ColonyError
from colony.host.box import Containment, Namespaces, NoBox, Subreaper
from colony.host.cgroup import NO_LIMITS, UNGROUPED, Group, Limits, Tier, made
from colony.host.ending import DYING_S, send
from colony.host.holding import Holding
from colony.host.identity import ProcessId, children_of, has_ended, identify, open_process
from colony.host.launch import Command, Launched, launch
from colony.host.memory import take_first

STARTING_S: Final = 10.0
"""How long a box may take until its gate says ready."""
TAIL_BYTES: Final = 4096

_SIGNALLED: Final = 128
"""A box reports a program that signal n killed as exit code 128 + n, as shells do."""
_ENDED: Final = "the box ended before its agent was started"


class Unkillable(ColonyError):
    """A process outlived SIGKILL: it hangs in the kernel, and what it holds is not free."""

    code = "unkillable"


@dataclass(frozen=True, slots=True)
class Confinement:
    """What the box of a session may come to, and who counts it on this machine."""

    tier: Tier = UNGROUPED
    limits: Limits = NO_LIMITS


UNCONFINED: Final = Confinement()


def spawn(
    command: Command, containment: Containment, confinement: Confinement = UNCONFINED
) -> Running:
    """Start the box with the agent behind its gate. The agent itself runs after `Running.go()`.

    While it waits all of the box is put into the group of its session, so that nothing is outside.
    Only from the main thread: a box dies with the thread that started it. `NoBox`: it could not be
    built. `UsageProblem`, `Refused`: the command or its files cannot be used.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("a box dies with the thread that started it: start it in the main one")
    limits = confinement.limits
    with contextlib.ExitStack() as held:
        group = made(confinement.tier, command.env.get("COLONY_SESSION", ""), limits)
        if group is not None:
            held.callback(group.leave)
        holding = Holding(group, limits.memory)
        box = launch(command, containment, held)
        try:
            _await_gate(box, command)
            first, agent = _inside(box.pid, containment)
            first_fd, agent_fd = _hold(first, held), _hold(agent, held)
            _confine((box.pid, first.pid, agent.pid), group)
        except BaseException:
            send(box.pidfd, signal.SIGKILL)
            os.waitpid(box.pid, 0)
            raise
        handles = _Handles(box.pid, box.pidfd, first.pid, first_fd, agent_fd, box.go)
        return Running(agent, handles, containment, holding, held.pop_all())


@dataclass(frozen=True, slots=True)
class _Handles:
    """What a box is held by. `first`: the process with which all in the box end."""

    box: int
    box_fd: int
    first: int
    first_fd: int
    agent_fd: int
    go: int


class Running:
    """A part's process. Leaving the `with` block ends what still runs."""

    def __init__(
        self,
        agent: ProcessId,
        handles: _Handles,
        containment: Containment,
        holding: Holding,
        held: contextlib.ExitStack,
    ) -> None:
        self._handles = handles
        self._containment = containment
        self._holding = holding
        self._held = held
        self._exit: Exit | None = None
        self.agent = agent
        """The gate now, the agent after `go()`: the same process."""

    @property
    def peak_bytes(self) -> int:
        """Most memory that the whole box was seen to hold, looked at by each `wait`."""
        return self._holding.peak_bytes

    @property
    def oom_kills(self) -> int:
        """Processes that the kernel killed for want of memory, once it has ended: its own with a
        group, those of this machine without one."""
        return self._holding.oom_kills

    @property
    def counted_by(self) -> str:
        """Who counts its memory, in a person's words."""
        return self._holding.by

    @property
    def out_of_memory(self) -> bool:
        """It has grown past its limit, or ended for want of memory."""
        if self._exit is None:
            return self._holding.too_much
        return self._holding.ran_out(self._exit)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.kill()

    def go(self) -> None:
        """Let the agent run. Call it when `agent` is on record."""
        if self._exit is None:
            with contextlib.suppress(BrokenPipeError):  # the gate has ended: `wait` tells how
                os.write(self._handles.go, b"go\n")

    def wait(self, seconds: float | None, wake: int | None = None) -> Exit | None:
        """Wait until the box is empty: how the agent ended.

        None: `seconds` are over, or the descriptor `wake` can be read. None as `seconds` waits
        without end. `Unkillable`: the agent has ended, something it started cannot be.
        """
        if self._exit is None:
            self._holding.look(self._handles.first)
            poller = select.poll()
            poller.register(self._handles.box_fd, select.POLLIN)
            if wake is not None:
                poller.register(wake, select.POLLIN)
            ready = poller.poll(None if seconds is None else math.ceil(max(0.0, seconds) * 1000))
            if any(fd == self._handles.box_fd for fd, _ in ready):
                self._finish()
        return self._exit

    def stop(self, grace_s: float) -> Exit:
        """SIGTERM to the agent; after `grace_s` seconds SIGKILL to all of the box."""
        if self._exit is None:
            send(self._handles.agent_fd, signal.SIGTERM)
        return self.wait(grace_s) or self.kill()

    def kill(self) -> Exit:
        """SIGKILL to all of the box. `Unkillable`: it is still there after five seconds."""
        if self._exit is None:
            match self._containment:
                case Namespaces():
                    send(self._handles.first_fd, signal.SIGKILL)
                case Subreaper():
                    send(self._handles.box_fd, signal.SIGTERM)
                    if not has_ended(self._handles.box_fd, DYING_S):
                        send(self._handles.box_fd, signal.SIGKILL)
                case _:
                    assert_never(self._containment)
            if not has_ended(self._handles.box_fd, DYING_S):
                raise Unkillable(f"process {self.agent.pid} does not end, not even by SIGKILL")
        return self.wait(None) or Exit()

    def _finish(self) -> None:
        try:
            _, status = os.waitpid(self._handles.box, 0)
            self._exit = _exit_of(status, self._containment)
        except ChildProcessError:
            self._exit = Exit()
        self._holding.end()
        with self._held:
            # The outermost process ends first; what is inside dies of it an instant later.
            inside = (self._handles.first_fd, self._handles.agent_fd)
            if not all(has_ended(fd, DYING_S) for fd in inside):
                raise Unkillable(f"process {self.agent.pid} has not ended with its box")


def _await_gate(box: Launched, command: Command) -> None:
    poller = select.poll()
    for fd in (box.ready, box.pidfd):
        poller.register(fd, select.POLLIN)
    if poller.poll(STARTING_S * 1000):
        if not has_ended(box.ready, 0) or os.read(box.ready, 16) != b"ready":
            raise NoBox(f"the box was not built: {_last_line(command)}")
        return
    raise NoBox(f"the box was not ready after {STARTING_S:.0f} s")


def _last_line(command: Command) -> str:
    with command.stderr.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
        lines = file.read().decode("utf-8", "replace").strip().splitlines()
    return clip(lines[-1], 200) if lines else "it gave no reason"


def _inside(box: int, containment: Containment) -> tuple[ProcessId, ProcessId]:
    """The process with which the box ends, and the gate, while nothing else runs in there."""
    match containment:
        case Namespaces():
            first = _only_child(box)
            return first, _only_child(first.pid)
        case Subreaper():
            reaper = identify(box)
            if reaper is None:
                raise NoBox(_ENDED)
            return reaper, _only_child(box)
        case _:
            assert_never(containment)


def _confine(pids: tuple[int, ...], group: Group | None) -> None:
    """The score first: whoever is in a group without room is judged by it at once."""
    for pid in pids:
        take_first(pid)
    if group is not None:
        try:
            group.take(dict.fromkeys(pids))
        except OSError as problem:
            raise NoBox(f"not put into its control group: {problem.strerror}") from None


def _only_child(parent: int) -> ProcessId:
    found = children_of(parent)
    if len(found) != 1:
        raise NoBox(f"the box holds {len(found)} processes where one should wait at the gate")
    return found[0]


def _hold(process: ProcessId, held: contextlib.ExitStack) -> int:
    pidfd = open_process(process)
    if pidfd is None:
        raise NoBox(_ENDED)
    held.callback(os.close, pidfd)
    return pidfd


def _exit_of(status: int, containment: Containment) -> Exit:
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return Exit(signal=-code)
    if isinstance(containment, Namespaces) and _SIGNALLED < code < _SIGNALLED + signal.NSIG:
        return Exit(signal=code - _SIGNALLED)
    return Exit(code=code)
