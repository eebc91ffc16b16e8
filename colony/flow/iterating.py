"""One iteration of the loop: look, plan, carry the plan out, and tell it in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, assert_never

from colony.core.backoff import Failed, failed
from colony.core.brake import Brake, Look, brake
from colony.core.iteration import Begun, Iteration
from colony.core.lines import Line
from colony.core.markers import utc
from colony.core.pick import Unready
from colony.core.plan import (
    Action,
    Ask,
    Expire,
    Kept,
    PlanSettings,
    Quota,
    Refusal,
    Resume,
    Room,
    Start,
    Wait,
    is_silent,
    plan,
)
from colony.core.ports import Range, free_ranges
from colony.core.session import Facts
from colony.core.survey import Survey
from colony.core.ticket import Ref
from colony.errors import ColonyError
from colony.flow.asking import ask_about_projects
from colony.flow.bench import Emit
from colony.flow.kept import Known, Sessions, sessions_here
from colony.flow.leases import expire
from colony.flow.observe import Viewpoint
from colony.flow.runs import facts_of
from colony.flow.supervise import Over, Supervisor, Task
from colony.flow.watched import Watched, reason
from colony.host.chance import Chance
from colony.host.clock import Clock
from colony.host.control import Control
from colony.host.journal import RunFolder
from colony.host.ports import busy_ports

FORGET_MS: Final = 3_600_000
"""A refused start that nobody tried again for so long is forgotten."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What settings and registry say, until they are read again."""

    view: Viewpoint
    folders: Mapping[str, str]
    """Project -> its dev folder here, all links resolved."""
    plan: PlanSettings
    inbox: str
    interval_s: int
    stop_finish_s: int
    ttl_ms: int


@dataclass(frozen=True, slots=True)
class Edges:
    """What an iteration reaches."""

    runs: Path
    watched: Watched
    supervisor: Supervisor
    control: Control
    clock: Clock
    chance: Chance
    emit: Emit
    stopping: Callable[[], bool]


@dataclass(slots=True)
class _Done:
    """What came of the actions."""

    started: list[Begun] = field(default_factory=list)
    resumed: list[Begun] = field(default_factory=list)
    expired: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    waiting: list[Wait] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Iterations:
    """What is remembered from one iteration to the next: only what concerns what lives now."""

    def __init__(self, edges: Edges, terms: Terms) -> None:
        self._edges = edges
        self.terms = terms
        self._count = 0
        self._brake = Brake()
        self._refused: dict[Ref, Failed] = {}
        self._failed: dict[str, Failed] = {}
        self._asked: set[Unready] = set()
        self._unreadable: set[str] = set()
        self._held_until_ms: int | None = None
        self.due_ms: int | None = None
        """When something may go on that waits for its time."""

    def once(self) -> Iteration:
        """Look, plan, act."""
        self._count += 1
        done = _Done()
        now_ms = self._edges.clock.wall_ms()
        sessions = self._sessions(now_ms)
        self._tell_limit(sessions.quota)
        try:
            for action in self._plan(sessions, now_ms):
                self._carry_out(action, done, now_ms)
        except ColonyError as problem:
            done.notes.append(reason(problem))
        self._due(sessions, now_ms)
        running = len(sessions.running()) + len(done.started) + len(done.resumed)
        return Iteration(
            number=self._count,
            at_ms=now_ms,
            running=running,
            parallel=self.terms.plan.parallel,
            started=done.started,
            resumed=done.resumed,
            expired=done.expired,
            kept=done.kept,
            waiting=done.waiting,
            notes=done.notes,
        )

    def planned(self) -> tuple[Action, ...]:
        """What an iteration would do. Nothing is written, started or adopted."""
        now_ms = self._edges.clock.wall_ms()
        known = Known({}, {}, self._edges.control.of)
        return self._plan(sessions_here(self._edges.runs, known, now_ms), now_ms)

    def over(self, gone: Over) -> Facts | None:
        """A session's process has ended: what it left. One that got nowhere is tried again later,
        each time after a longer pause."""
        task = gone.task
        found = facts_of(RunFolder(self._edges.runs / task.session))
        facts = found if isinstance(found, Facts) else None
        well = gone.exit is not None and gone.exit.code == 0
        if facts is None and not task.resumed:
            self._refuse(task.ref, gone.said or "it ended before it began")
        elif facts is not None and facts.outcome is None and not well:
            self._fail(task.session, gone.said or "its process has ended")
        else:
            self._failed.pop(task.session, None)
        return facts

    # --- looking -------------------------------------------------------------------------------

    def _sessions(self, now_ms: int) -> Sessions:
        edges = self._edges
        tasks = {task.session: task for task in edges.supervisor.tasks}
        found = sessions_here(edges.runs, Known(tasks, self._failed, edges.control.of), now_ms)
        for one in found.running():
            edges.supervisor.adopt(Task(one.session, one.ref, one.folder, one.ports, resumed=True))
        lives = {one.session for one in found.kept}
        self._failed = {name: one for name, one in self._failed.items() if name in lives}
        self._refused = {
            ref: one for ref, one in self._refused.items() if now_ms < one.until_ms + FORGET_MS
        }
        for session, why in found.unreadable.items():
            if session not in self._unreadable:
                edges.emit(Line("warning", f"— passed over: {why}", session=session))
        self._unreadable = set(found.unreadable)
        return found

    def _plan(self, sessions: Sessions, now_ms: int) -> tuple[Action, ...]:
        terms = self.terms
        survey = self._edges.watched.look(terms.view)
        return plan(
            survey, sessions.kept, sessions.quota, self._room(sessions, survey), terms.plan, now_ms
        )

    def _room(self, sessions: Sessions, survey: Survey) -> Room:
        edges, settings = self._edges, self.terms.plan
        taken = [one.ports for one in sessions.running()]
        refused = {ref: Refusal(one.until_ms, one.why) for ref, one in self._refused.items()}
        return Room(
            blocked=tuple(_blocked(settings, taken)),
            paused=edges.control.paused(),
            stopping=edges.stopping(),
            refused=refused,
            folders=self.terms.folders,
            expiries=self._expiries(survey),
        )

    def _expiries(self, survey: Survey) -> int | None:
        """How many leases may be given back now."""
        rows = survey.tickets
        leases = sum(row.lease is not None and row.lease.until_ms is not None for row in rows)
        look = Look(
            boot_s=self._edges.clock.boot_s(),
            tracker_ms=survey.now_ms,
            interval_s=self.terms.interval_s,
            ttl_ms=self.terms.ttl_ms,
            leases=leases,
            dead=sum(is_silent(row, survey.now_ms) for row in rows),
        )
        braked = brake(self._brake, look)
        self._brake = braked.state
        if braked.said:
            self._edges.emit(Line("warning", f"— {braked.said}"))
        return braked.expiries

    def _due(self, sessions: Sessions, now_ms: int) -> None:
        times = [one.due_ms for one in sessions.kept if one.state in ("parked", "left")]
        times += [one.until_ms for one in (*self._refused.values(), *self._failed.values())]
        if sessions.quota.held_until_ms is not None:
            times.append(sessions.quota.held_until_ms)
        self.due_ms = min((each for each in times if each > now_ms), default=None)

    def _tell_limit(self, quota: Quota) -> None:
        before, until_ms = self._held_until_ms, quota.held_until_ms
        self._held_until_ms = until_ms
        if until_ms is not None and (before is None or until_ms > before):
            word = f"{quota.why}: nothing is started" if before is None else "the pause is longer:"
            text = f"{word} until {utc(until_ms)}"
            self._edges.emit(Line("limit", text, ms=until_ms, facts={"held": True}))
        elif until_ms is None and before is not None:
            text = f"the pause until {utc(before)} is over: starts go on"
            self._edges.emit(Line("limit", text, ms=before, facts={"held": False}))

    # --- acting --------------------------------------------------------------------------------

    def _carry_out(self, action: Action, done: _Done, now_ms: int) -> None:
        """One ticket's trouble is that ticket's line."""
        if self._edges.stopping():
            return
        match action:
            case Expire():
                self._expire(action, done)
            case Resume(session, ref, ports):
                task = Task(session, ref, "", ports, resumed=True)
                if self._begin(task, done.notes):
                    done.resumed.append(Begun(ref, session, ports))
            case Start(ref, ports):
                session = self._edges.chance.session_id(now_ms)
                folder = self.terms.folders.get(ref.project, f"project {ref.project}")
                if self._begin(Task(session, ref, folder, ports), done.notes):
                    done.started.append(Begun(ref, session, ports))
            case Ask(unready):
                self._ask(unready, done)
            case Wait():
                done.waiting.append(action)
            case _:
                assert_never(action)

    def _begin(self, task: Task, notes: list[str]) -> bool:
        try:
            self._edges.supervisor.start(task)
        except ColonyError as problem:
            notes.append(f"{task.ref} not started: {problem.line}")
            if task.resumed:
                self._fail(task.session, problem.line)
            else:
                self._refuse(task.ref, problem.line)
            return False
        return True

    def _refuse(self, ref: Ref, why: str) -> None:
        now_ms, first_ms = self._edges.clock.wall_ms(), self.terms.interval_s * 1000
        self._refused[ref] = failed(self._refused.get(ref), now_ms, first_ms, _plain(why))

    def _fail(self, session: str, why: str) -> None:
        now_ms, first_ms = self._edges.clock.wall_ms(), self.terms.interval_s * 1000
        self._failed[session] = failed(self._failed.get(session), now_ms, first_ms, _plain(why))

    def _expire(self, action: Expire, done: _Done) -> None:
        ref, session = action.ref, action.lease.session
        told = f"{ref} (session {session})"
        why: str | None
        if (self._edges.runs / session).exists() and session in self._unreadable:
            why = "its run folder is here and cannot be read"
        else:
            try:
                why = expire(self._edges.watched.tracker, action)
            except ColonyError as problem:
                why = problem.line
        if why is None:
            done.expired.append(told)
        else:
            done.kept.append(f"{told}: {why}")

    def _ask(self, unready: Unready, done: _Done) -> None:
        """A question is asked once; what asks it in vain is tried again with the next iteration."""
        if unready in self._asked:
            return
        tracker = self._edges.watched.tracker
        try:
            asked = ask_about_projects(
                tracker, (unready,), self.terms.inbox, self._edges.chance.uuid4
            )
            for line in asked:
                self._edges.emit(line)
        except ColonyError as problem:
            done.notes.append(f"{unready.project}: its creator could not be asked: {problem.line}")
            return
        same = {one for one in self._asked if one.project == unready.project}
        self._asked = (self._asked - same) | {unready}


def _blocked(settings: PlanSettings, taken: Iterable[Range]) -> Iterator[Range]:
    """Ranges in which something else listens, as far as a start could come to them."""
    wanted = settings.parallel
    for block in free_ranges(settings.pool, settings.ports_per_session, taken):
        if wanted <= 0:
            return
        if busy_ports(block):
            yield block
        else:
            wanted -= 1


def _plain(said: str) -> str:
    """A refusal without the words that every refusal begins with."""
    return said.removeprefix("work: REFUSED — ").removeprefix("ERROR ")


def running_of(sessions: Iterable[Kept]) -> int:
    return sum(one.state == "running" for one in sessions)
