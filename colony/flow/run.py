"""The loop: look, plan, act, wait; one thread, one wait. It holds no truth of its own.

Sessions are processes of their own that outlive it. One ticket's trouble is that ticket's line: no
answer of the tracker, no broken file and no session's end ends the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from colony.core.brake import Brake, Braked, Look, brake
from colony.core.iteration import Begun, Iteration, line
from colony.core.lines import Line, clip
from colony.core.markers import utc
from colony.core.opening import ALWAYS, Opening
from colony.core.pick import Unready
from colony.core.plan import (
    Action,
    Ask,
    Expire,
    Kept,
    PlanSettings,
    Quota,
    Resume,
    Room,
    Start,
    Wait,
    at_stake,
    is_silent,
    plan,
)
from colony.core.ports import Range
from colony.core.survey import Survey
from colony.core.ticket import Ref
from colony.errors import ColonyError, NotFound
from colony.flow.asking import ask_about_projects
from colony.flow.backoff import BackOff
from colony.flow.bench import Emit
from colony.flow.closing import closing_of
from colony.flow.kept import Sessions, sessions_in
from colony.flow.ladder import StopLadder
from colony.flow.leases import expire
from colony.flow.looking import Watch
from colony.flow.observe import Viewpoint
from colony.flow.supervise import Supervisor
from colony.host.chance import Chance
from colony.host.clock import Clock
from colony.host.control import Control
from colony.host.notify import Notifier
from colony.host.pauses import Pauses
from colony.host.signals import LoopSignals
from colony.tracker.protocol import Tracker

LEAST_S: Final = 1.0
"""Least time between two iterations, whatever calls for one."""


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """What can be read again while the loop runs. Times are seconds."""

    plan: PlanSettings
    interval_s: int
    stop_finish_s: int
    """0: what runs may finish."""
    ttl_ms: int
    view: Viewpoint
    inbox: str
    folders: Mapping[str, str]
    """Project -> dev folder here, all links resolved."""
    opening: Opening = ALWAYS
    """When sessions are started."""


@dataclass(frozen=True, slots=True)
class LoopBench:
    """Everything the loop works with."""

    tracker: Tracker
    runs: Path
    clock: Clock
    chance: Chance
    signals: LoopSignals
    control: Control
    notify: Notifier
    emit: Emit
    read_again: Callable[[], LoopSettings]
    """Settings and registry anew. `ColonyError`: they cannot be used."""
    busy_ranges: Callable[[PlanSettings], tuple[Range, ...]]
    """Ranges of the pool in which something listens."""


@dataclass(slots=True)
class _Did:
    """What one iteration did, for its line."""

    started: list[Begun] = field(default_factory=list)
    resumed: list[Begun] = field(default_factory=list)
    expired: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    waiting: list[Wait] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Loop:
    def __init__(self, bench: LoopBench, settings: LoopSettings, supervisor: Supervisor) -> None:
        self._bench = bench
        self._settings = settings
        self._supervisor = supervisor
        self._watch = Watch(bench.tracker)
        self._brake = Brake()
        self._number = 0
        self._backoff = BackOff()
        self._asked: frozenset[Unready] = frozenset()
        self._told: frozenset[str] = frozenset()
        self._held_until_ms: int | None = None
        self._waited: list[Wait] = []
        self._ladder = StopLadder(
            bench.signals, supervisor, bench.clock, lambda text: self._say("run", text)
        )
        self._next_s = 0.0
        """When the next iteration is due, on the boot clock."""

    # --- its life ----------------------------------------------------------------------------

    def run(self, *, once: bool) -> None:
        """Until it is asked to stop and nothing of it runs; `once`: one iteration, and what it
        began."""
        self._bench.notify.ready()
        if once:
            # From cron no loop remembers the last look: in a crowd of dead leases it is one a look.
            self._brake = Brake(slow=True)
        try:
            begun = self.iterate()
            while not self._over(begun if once else None):
                self._rest(once=once)
        finally:
            self._bench.notify.stopping()
            self._supervisor.leave()
        self._say("run.stopped", "— nothing of it runs any more" if not once else "— one iteration")

    def _over(self, begun: frozenset[str] | None) -> bool:
        """`begun`: the sessions of the one iteration that is to be done."""
        self._collect()
        members = {one.session for one in self._supervisor.members}
        if begun is not None:
            return not (members & begun)
        return self._bench.signals.count > 0 and not members

    def _rest(self, *, once: bool) -> None:
        """Wait for whatever comes next: an end, a signal, the next iteration."""
        bench = self._bench
        while True:
            self._mind_signals()
            left_s = self._next_s - bench.clock.boot_s()
            watchdog_s = bench.notify.due_in(bench.clock.boot_s())
            slice_s = left_s if watchdog_s is None else min(left_s, watchdog_s)
            if self._bench.signals.count:
                slice_s = min(max(slice_s, 0.0), self._until_parking_s())
            ended = bench.signals.wait_for(max(0.0, slice_s), self._supervisor.pidfds)
            bench.notify.beat(bench.clock.boot_s())
            if ended or self._ladder.unheard or bench.signals.reads_again:
                break
            if bench.clock.boot_s() >= self._next_s or self._until_parking_s() <= 0:
                break
        self._mind_signals()
        if ended:
            self._collect()
        if once or bench.signals.count:
            self._next_s = bench.clock.boot_s() + self._settings.interval_s
            return
        self.iterate()

    def _mind_signals(self) -> None:
        """The stop ladder, and what is to be read again."""
        if self._bench.signals.take_read_again():
            self._read_again()
        if self._ladder.mind(self._settings.stop_finish_s):
            self._bench.notify.stopping()

    def _until_parking_s(self) -> float:
        return self._ladder.until_parking_s(self._settings.stop_finish_s)

    def _read_again(self) -> None:
        try:
            self._settings = self._bench.read_again()
        except ColonyError as error:
            self._say("run", f"not read again, what held before holds: {error.line}")
        else:
            self._watch.forget()
            self._say("run", "settings and registry were read again")
        self._next_s = self._bench.clock.boot_s()

    # --- one iteration -----------------------------------------------------------------------

    def iterate(self) -> frozenset[str]:
        """Look, plan, act, say so; the sessions that were begun or taken up."""
        bench, did = self._bench, _Did()
        self._number += 1
        self._next_s = bench.clock.boot_s() + self._settings.interval_s
        self._collect()
        try:
            sessions = self._sessions()
        except ColonyError as error:
            # Who cannot see the sessions must begin nothing beside them.
            if self._number == 1:
                raise
            did.notes.append(clip(error.line, 160))
            self._tell(did)
            return frozenset()
        for one in self._supervisor.adopt(sessions.kept):
            did.notes.append(f"adopted {one.ref} ({one.session})")
        sessions = replace(sessions, kept=self._supervisor.with_members(sessions.kept))
        survey = self._survey(did)
        quota = self._quota(sessions.quota)
        if survey is not None:
            for action in self._plan(survey, sessions, quota, did):
                if bench.signals.count:
                    break
                self._act(action, sessions.kept, did)
        self._wake_in_time(sessions.kept)
        self._tell(did)
        return frozenset(each.session for each in (*did.started, *did.resumed))

    def plan_only(self) -> tuple[Action, ...]:
        """What an iteration would do now; nothing is written, started or adopted."""
        did = _Did()
        sessions = self._sessions()
        survey = self._watch.survey(self._settings.view)
        return self._plan(survey, sessions, sessions.quota, did)

    def _sessions(self) -> Sessions:
        bench = self._bench
        now_ms = bench.clock.wall_ms()
        found = sessions_in(bench.runs, now_ms, self._backoff.tries, bench.control.orders())
        for told in found.unreadable:
            if told not in self._told:
                self._say("warning", f"— passed over: {told}")
        self._told = frozenset(found.unreadable)
        self._backoff.keep({one.session for one in found.kept})
        return found

    def _survey(self, did: _Did) -> Survey | None:
        """None: the tracker does not answer, so nothing is begun that it would have to hear of."""
        try:
            return self._watch.survey(self._settings.view)
        except ColonyError as error:
            did.notes.append(f"the tracker does not answer: {clip(error.line, 160)}")
            return None

    def _quota(self, quota: Quota) -> Quota:
        """The account's hold is said once when it begins, and once when it is over."""
        until_ms = quota.held_until_ms
        before_ms, self._held_until_ms = self._held_until_ms, until_ms
        if until_ms is not None and (before_ms is None or until_ms > before_ms):
            word = "starts paused" if before_ms is None else "the pause is extended"
            self._say("limit", f"{quota.why} — {word} until {utc(until_ms)}")
        elif until_ms is None and before_ms is not None:
            self._say("limit", f"resumed — the pause until {utc(before_ms)} is over")
        return quota

    def _plan(
        self, survey: Survey, sessions: Sessions, quota: Quota, did: _Did
    ) -> tuple[Action, ...]:
        bench, settings = self._bench, self._settings
        braked = self._braked(survey, sessions)
        if braked.said:
            did.notes.append(braked.said)
        room = Room(
            paused=_paused(bench.control.pauses()),
            stopping=bench.signals.count > 0,
            closed_until_ms=settings.opening.closed_until_ms(bench.clock.wall_ms()),
            refused=self._backoff.refusals,
            folders=settings.folders,
            expiries=braked.expiries,
            unreadable=sessions.unread,
        )
        now_ms = bench.clock.wall_ms()
        actions = plan(survey, sessions.kept, quota, room, settings.plan, now_ms)
        if not any(isinstance(each, Start | Resume) and each.ports for each in actions):
            return actions
        # What listens is only asked for where ports are to be given out.
        room = replace(room, blocked=bench.busy_ranges(settings.plan))
        return plan(survey, sessions.kept, quota, room, settings.plan, now_ms)

    def _braked(self, survey: Survey, sessions: Sessions) -> Braked:
        leased = at_stake(survey, sessions.kept, sessions.unread)
        look = Look(
            boot_s=self._bench.clock.boot_s(),
            tracker_ms=survey.now_ms,
            interval_s=self._settings.interval_s,
            ttl_ms=self._settings.ttl_ms,
            leases=len(leased),
            dead=sum(is_silent(row, survey.now_ms) for row in leased),
        )
        braked = brake(self._brake, look)
        self._brake = braked.state
        return braked

    def _act(self, action: Action, kept: tuple[Kept, ...], did: _Did) -> None:
        """One action; what it cannot do is its own line."""
        try:
            match action:
                case Expire(ref, _):
                    self._expire(action, did)
                case Ask(unready):
                    self._ask(unready)
                case Resume(session, ref, ports):
                    one = next(each for each in kept if each.session == session)
                    self._supervisor.take_up(one, ports)
                    did.resumed.append(Begun(ref, session, ports))
                case Start(ref, ports):
                    self._start(ref, ports, did)
                case Wait():
                    did.waiting.append(action)
        except NotFound:
            self._watch.forget()
        except ColonyError as error:
            did.notes.append(clip(error.line, 200))

    def _expire(self, action: Expire, did: _Did) -> None:
        reason = expire(self._bench.tracker, action.ref, action.lease)
        said = f"{action.ref} (session {action.lease.session})"
        if reason:
            did.kept.append(f"{said}: {reason} — nothing written")
        else:
            did.expired.append(f"{said} → open")

    def _start(self, ref: Ref, ports: Range, did: _Did) -> None:
        session = self._bench.chance.session_id(self._bench.clock.wall_ms())
        folder = self._settings.folders.get(ref.project, "")
        self._supervisor.begin(session, ref, folder, ports)
        did.started.append(Begun(ref, session, ports))

    def _ask(self, unready: Unready) -> None:
        """Each question is asked once; the tracker knows it by its source for ever."""
        if unready in self._asked:
            return
        bench = self._bench
        key = bench.chance.uuid4
        for told in ask_about_projects(bench.tracker, [unready], self._settings.inbox, key):
            if told.kind == "posted":
                self._bench.emit(told)
        self._asked |= {unready}

    def _wake_in_time(self, kept: tuple[Kept, ...]) -> None:
        """The next iteration is no later than the end of a pause, or than starts are allowed."""
        now_ms, now_s = self._bench.clock.wall_ms(), self._bench.clock.boot_s()
        due = [
            one.due_ms for one in kept if one.state in ("parked", "left") and one.due_ms > now_ms
        ]
        opens_ms = self._settings.opening.closed_until_ms(now_ms)
        if opens_ms is not None:
            due.append(opens_ms)
        if due:
            due_s = now_s + max(LEAST_S, (min(due) - now_ms) / 1000)
            self._next_s = min(self._next_s, due_s)

    def _tell(self, did: _Did) -> None:
        done = Iteration(
            number=self._number,
            at_ms=self._bench.clock.wall_ms(),
            running=len(self._supervisor.members),
            parallel=self._settings.plan.parallel,
            started=did.started,
            resumed=did.resumed,
            expired=did.expired,
            kept=did.kept,
            waiting=did.waiting,
            as_before=bool(did.waiting) and did.waiting == self._waited,
            notes=did.notes,
        )
        self._waited = did.waiting
        said = line(done)
        self._bench.emit(said)
        self._bench.notify.status(said.as_text())

    # --- what has ended ----------------------------------------------------------------------

    def _collect(self) -> None:
        for gone in self._supervisor.gone():
            told = closing_of(self._bench.runs, gone)
            self._bench.emit(told.line)
            self._backoff.remember(gone.member, told, self._bench.clock.wall_ms())
            self._next_s = min(self._next_s, self._bench.clock.boot_s() + LEAST_S)

    def _say(self, kind: str, text: str) -> None:
        self._bench.emit(Line(kind, text, ms=self._bench.clock.wall_ms()))


def _paused(pauses: Pauses) -> frozenset[str]:
    """As the plan has it: the empty name stands for all projects."""
    return pauses.projects | {""} if pauses.everything else pauses.projects
