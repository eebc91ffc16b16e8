"""The loop: one thread that waits for a time, a signal or the end of a session, and then looks.

It holds no truth of its own: whatever it knows stands in the tracker and in the run folders, so it
can be killed at any moment, and the next one goes on.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from colony.core import iteration
from colony.core.lines import Line
from colony.core.session_end import session_end
from colony.errors import ColonyError
from colony.flow.iterating import Edges, Iterations, Terms
from colony.flow.supervise import Over
from colony.host.notify import Notify
from colony.host.signals import LoopSignals

LONGEST_WAIT_S: Final = 1.0
"""A control file is seen after so long at the latest."""
FINISH, PARK, KILL = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Outside:
    """Who speaks to the loop, and whom it tells how it does."""

    signals: LoopSignals
    notify: Notify
    reread: Callable[[], Terms]
    """`.env` and registry as they are now. ColonyError: they cannot be used."""


class Loop:
    """Runs until it is stopped, or with `once` until what it started has ended."""

    def __init__(self, edges: Edges, terms: Terms, outside: Outside) -> None:
        self._edges, self._outside = edges, outside
        self._iterations = Iterations(edges, terms)
        self._stage = 0
        self._stopped_at: float | None = None
        self._next_at = self._now()
        self._orders: object = None

    def run(self, *, once: bool) -> None:
        supervisor, notify = self._edges.supervisor, self._outside.notify
        notify.ready()
        first = True
        while True:
            ended = [self._tell_end(over) for over in supervisor.ended()]
            self._reread()
            self._stop()
            if self._stage and not supervisor.tasks:
                break
            if once and not first and not supervisor.own:
                break
            if not self._stage and (first or (not once and (ended or self._is_due()))):
                self._iterate()
                first = False
            notify.alive()
            self._outside.signals.wait_for(supervisor.pidfds, self._wait_s())
        notify.stopping()
        self._edges.emit(self._last_line(once=once))
        supervisor.leave()

    def stopping(self) -> bool:
        return self._outside.signals.count > 0

    def on_stop(self, count: int) -> None:
        """In the signal's handler: the second and third reach the sessions at once, whatever the
        loop is waiting for."""
        if count >= PARK:
            self._to(min(count, KILL))

    # --- its parts -----------------------------------------------------------------------------

    def _now(self) -> float:
        return self._edges.clock.boot_s()

    def _iterate(self) -> None:
        self._orders = self._ordered()
        line = iteration.line(self._iterations.once())
        self._edges.emit(line)
        self._outside.notify.status(line.text)
        self._next_at = self._now() + self._iterations.terms.interval_s

    def _is_due(self) -> bool:
        due_ms = self._iterations.due_ms
        if due_ms is not None and self._edges.clock.wall_ms() >= due_ms:
            return True
        return self._now() >= self._next_at or self._ordered() != self._orders

    def _ordered(self) -> object:
        control = self._edges.control
        return control.paused(), control.ordered()

    def _wait_s(self) -> float:
        waits = [self._next_at - self._now(), LONGEST_WAIT_S]
        if self._outside.notify.watchdog_s is not None:
            waits.append(self._outside.notify.watchdog_s)
        due_ms = self._iterations.due_ms
        if due_ms is not None:
            waits.append((due_ms - self._edges.clock.wall_ms()) / 1000)
        if self._stage:
            waits = waits[1:]
        return max(0.0, min(waits))

    def _tell_end(self, over: Over) -> Over:
        task = over.task
        facts = self._iterations.over(over)
        if facts is not None:
            self._edges.emit(session_end(facts, over.exit, over.said, task.ports))
        elif not task.resumed:
            text = f"— {task.ref} was not started: {over.said or 'it said nothing'}"
            self._edges.emit(Line("warning", text, str(task.ref), task.session))
        else:
            text = f"— {task.ref}: the record of session {task.session} cannot be read"
            self._edges.emit(Line("warning", text, str(task.ref), task.session))
        return over

    def _reread(self) -> None:
        signals = self._outside.signals
        if not signals.again:
            return
        signals.again = False
        try:
            self._iterations.terms = self._outside.reread()
        except ColonyError as problem:
            text = f"— settings and registry stay as they were: {problem.line}"
            self._edges.emit(Line("warning", text, facts={"code": problem.code}))
            return
        self._edges.emit(Line("run", "settings and registry were read again"))
        self._next_at = self._now()

    def _stop(self) -> None:
        """The ladder: finish, park, kill."""
        count = self._outside.signals.count
        if not count:
            return
        running = len(self._edges.supervisor.tasks)
        if self._stopped_at is None:
            self._stopped_at = self._now()
            self._stage = max(self._stage, FINISH)
            text = f"stop requested: nothing new is started, {running} session(s) finish"
            self._edges.emit(Line("run", text, facts={"stop": "finish", "running": running}))
            self._outside.notify.stopping()
        limit_s = self._iterations.terms.stop_finish_s
        late = limit_s > 0 and self._now() - self._stopped_at >= limit_s
        self._to(KILL if count >= KILL else PARK if count >= PARK or late else FINISH)

    def _to(self, stage: int) -> None:
        """Each step is taken once; the handler of a signal may be quicker."""
        if stage <= self._stage:
            return
        self._stage = stage
        supervisor = self._edges.supervisor
        supervisor.signal(signal.SIGTERM if stage == PARK else signal.SIGKILL)

    def _last_line(self, *, once: bool) -> Line:
        if not self._stage:
            return Line("run.stopped", "— done, once" if once else "— done")
        words = {FINISH: "as asked", PARK: "as asked, its sessions are parked", KILL: "at once"}
        return Line("run.stopped", f"— {words[self._stage]}", facts={"stage": self._stage})
