"""The processes of sessions on one host: started, adopted, watched, stopped.

Shared by whatever starts sessions. It decides nothing: a plan does; and it holds no truth: what a
session is stands in its run folder, and whether it lives is told by its lock.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from signal import Signals
from typing import Final

from colony.core.endings import Exit
from colony.core.plan import Kept
from colony.core.ports import Range, show_range
from colony.core.ticket import Ref
from colony.host import children
from colony.host.children import Child, Children
from colony.host.journal import RunFolder
from colony.host.starting_log import LOG, Said, remove_log, starting_log


@dataclass(frozen=True, slots=True)
class Command:
    """How `colony work` is called here. `env` holds the settings that the loop was given."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    runs: Path


@dataclass(frozen=True, slots=True)
class Member:
    """A session with a process. `ports` None: it runs no agent."""

    session: str
    ref: Ref
    folder: str
    ports: Range | None
    child: Child
    log: Path | None = None
    """Where the log of a new session lay before there was a run folder."""
    said: Said | None = None
    """Its log, opened when it began: a start that is refused takes its run folder with it."""
    adopted: bool = False
    stood: str = ""
    """Where it stood when it was taken up; empty for all others."""


@dataclass(frozen=True, slots=True)
class Gone:
    """A member whose process has ended; `exit` None: it was not ours to ask."""

    member: Member
    exit: Exit | None
    last_words: str
    """The last line that it printed; empty for one that was adopted."""


class Supervisor:
    """The members, by session. Every process is held by a pidfd from the moment it is known."""

    def __init__(self, command: Command, processes: Children = children.SYSTEM) -> None:
        self._command = command
        self._processes = processes
        self._members: dict[str, Member] = {}
        self._untold: dict[str, object] = {}
        """Members that did not get the last signal to all of them yet."""
        self._signal: Signals | None = None

    @property
    def members(self) -> tuple[Member, ...]:
        return tuple(self._members.values())

    @property
    def pidfds(self) -> tuple[int, ...]:
        return tuple(one.child.pidfd for one in self._members.values())

    def begin(self, session: str, ref: Ref, folder: str, ports: Range) -> Member:
        """Start a session that is not there yet. `Refused`, `CannotWrite`: not started."""
        log = starting_log(self._command.runs, session)
        words = ("--post", "--session", session, "--ports", show_range(ports))
        child = self._work(ref, words, log)
        return self._joined(Member(session, ref, folder, ports, child, log, Said.of(log)))

    def take_up(self, one: Kept, ports: Range | None) -> Member:
        """Go on with a session that nobody works on, as `begin`; it may post what it might."""
        words = ["--session", one.session]
        words += ["--ports", show_range(ports)] if ports is not None else []
        log = self._command.runs / one.session / LOG
        child = self._work(one.ref, words, log)
        said = Said.of(log)
        found = Member(one.session, one.ref, one.folder, ports, child, said=said, stood=one.stood)
        return self._joined(found)

    def adopt(self, kept: Sequence[Kept]) -> Iterator[Member]:
        """Sessions that run and are not members: somebody else started them, or an earlier loop."""
        for one in kept:
            if one.state == "running" and one.session not in self._members:
                child = self._processes.adopt(RunFolder(self._command.runs / one.session).lock)
                if child is not None:
                    ref, folder = one.ref, one.folder
                    found = Member(one.session, ref, folder, one.ports, child, adopted=True)
                    yield self._joined(found)

    def with_members(self, kept: Sequence[Kept]) -> tuple[Kept, ...]:
        """The sessions, with those that have a process and show nothing of it yet."""
        found = {one.session: one for one in kept}
        for one in self._members.values():
            on_disk = found.get(one.session)
            ports = one.ports or (on_disk.ports if on_disk is not None else NO_PORTS)
            running = Kept(one.session, one.ref, one.folder, ports, "running")
            if on_disk is not None:
                seat, runs = on_disk.seat, on_disk.state == "running"
                answered, asked_ms = runs and on_disk.answered, on_disk.asked_ms if runs else None
                running = replace(running, seat=seat, answered=answered, asked_ms=asked_ms)
            # Without ports it runs no agent, and asks for nothing.
            found[one.session] = replace(running, answered=running.answered or one.ports is None)
        return tuple(found[session] for session in sorted(found))

    def gone(self) -> Iterator[Gone]:
        """Members whose process has ended; they are members no more."""
        for one in self.members:
            if not one.child.ended():
                continue
            del self._members[one.session]
            self._untold.pop(one.session, None)
            exit_ = one.child.reap()
            one.child.close()
            words = ""
            if one.said is not None:
                words = one.said.last_line()
                one.said.close()
            if one.log is not None:
                remove_log(one.log)
            yield Gone(one, exit_, words)

    def signal(self, number: Signals) -> None:
        """To every session's process, adopted ones too; one that is just being started gets it as
        soon as it is there. To each once."""
        self._signal, self._untold = number, dict.fromkeys(self._members)
        for one in self.members:
            self._tell(one, number)

    def leave(self) -> None:
        """Let go of what still runs: it runs on."""
        for one in self._members.values():
            one.child.close()
            if one.said is not None:
                one.said.close()
        self._members.clear()

    def _joined(self, one: Member) -> Member:
        self._untold[one.session] = None
        self._members[one.session] = one
        if self._signal is not None:
            self._tell(one, self._signal)
        return one

    def _tell(self, one: Member, number: Signals) -> None:
        # The handler of a signal comes between any two steps of this: a second SIGTERM would end
        # what is being parked, so one step alone decides who sends it.
        if self._untold.pop(one.session, self) is self:
            return
        # A process that has just been let go of is told nothing.
        with contextlib.suppress(OSError):
            one.child.signal(number)

    def _work(self, ref: Ref, words: Sequence[str], log: Path) -> Child:
        argv = (*self._command.argv, "work", ref.project, str(ref.number), *words)
        return self._processes.start(argv, self._command.env, log)


NO_PORTS: Final[Range] = (0, 0)
"""Of a session that runs no agent."""
