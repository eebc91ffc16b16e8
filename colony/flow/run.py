"""The loop: look, plan, act, wait; one thread, one wait. It holds no truth of its own.

Sessions are processes of their own that outlive it. One ticket's trouble is that ticket's line: no
answer of the tracker, no broken file and no session's end ends the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from colony.core.allowance import ANYTHING, Quota
from colony.core.brake import Brake, Braked, Look, brake
from colony.core.guard import OFF, Guard
from colony.core.iteration import Begun, Did, Iteration, line
from colony.core.lines import Line, clip
from colony.core.opening import ALWAYS, Opening
from colony.core.pick import Unready
from colony.core.plan import (
    Action,
    Ask,
    Expire,
    Kept,
    PlanSettings,
    Probe,
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
from colony.core.trees import place_of
from colony.errors import ColonyError, NotFound
from colony.flow.asking import ask_about_projects
from colony.flow.backoff import BackOff
from colony.flow.bench import Emit
from colony.flow.closing import closing_of
from colony.flow.host_news import HostNews
from colony.flow.kept import Sessions, sessions_in
from colony.flow.ladder import StopLadder
from colony.flow.leases import expire
from colony.flow.looking import Watch
from colony.flow.meter import NO_ACCOUNT, AccountSettings, Meter
from colony.flow.observe import Viewpoint
from colony.flow.room import Admission, Door
from colony.flow.supervise import Supervisor
from colony.host.chance import Chance
from colony.host.clock import Clock
from colony.host.control import Control
from colony.host.notify import Notifier
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
    trees: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    """Project -> the folder of its trees, where its tickets have those."""
    account: AccountSettings = NO_ACCOUNT
    opening: Opening = ALWAYS
    """When sessions are started."""
    guard: Guard = OFF


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
    admission: Admission
    """Who is asked whether one more session fits here."""
    news: HostNews | None = None
    """Who tells the tracker of this host; None: nobody does."""


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
        self._meter = Meter(bench.runs, bench.clock)
        self._door = Door(bench.admission, bench.clock, supervisor)
        self._open: Did | None = None
        """The iteration whose starts wait for the quota to be read: it goes on then."""
        self._begun: set[str] = set()
        """Sessions that were begun or taken up here."""
        self._waited: list[Wait] = []
        self._ladder = StopLadder(
            bench.signals, supervisor, bench.clock, lambda text: self._say("run", text)
        )
        self._once = False
        self._next_s = 0.0
        """When the next iteration is due, on the boot clock."""

    # --- its life ----------------------------------------------------------------------------

    def run(self, *, once: bool) -> None:
        """Until it is asked to stop and nothing of it runs; `once`: one iteration, and what it
        began."""
        bench = self._bench
        bench.notify.ready()
        if once:
            # From cron no loop remembers the last look: in a crowd of dead leases it is one a look.
            self._brake = Brake(slow=True)
        self._once = once
        try:
            self.iterate()
            while not self._over(once=once):
                self._rest(once=once)
            for said in self._meter.say_last(self._settings.account):
                self._bench.emit(said)
        finally:
            bench.notify.stopping()
            self._meter.drop()
            if bench.news is not None:
                bench.news.over(len(self._supervisor.members))
            self._supervisor.leave()
        self._say("run.stopped", "— nothing of it runs any more" if not once else "— one iteration")

    def _over(self, *, once: bool) -> bool:
        """`once`: one iteration is to be done, and what it began."""
        self._collect()
        members = {one.session for one in self._supervisor.members}
        if once:
            return self._open is None and not (members & self._begun)
        return self._bench.signals.count > 0 and not members

    def _rest(self, *, once: bool) -> None:
        """Wait for whatever comes next: an end, a signal, the next iteration."""
        bench = self._bench
        while True:
            self._mind_signals()
            left_s = self._next_s - bench.clock.boot_s()
            watchdog_s = bench.notify.due_in(bench.clock.boot_s())
            reading_s = self._meter.due_in(bench.clock.boot_s())
            slice_s = min(each for each in (left_s, watchdog_s, reading_s) if each is not None)
            if self._bench.signals.count:
                slice_s = min(max(slice_s, 0.0), self._until_parking_s())
            pidfds = (*self._supervisor.pidfds, *self._meter.pidfds)
            ended = bench.signals.wait_for(max(0.0, slice_s), pidfds)
            bench.notify.beat(bench.clock.boot_s())
            if ended or self._ladder.unheard or bench.signals.reads_again or self._hear():
                break
            if bench.clock.boot_s() >= self._next_s or self._until_parking_s() <= 0:
                break
        self._mind_signals()
        if ended:
            self._collect()
        heard = self._hear()
        if bench.signals.count:
            self._meter.drop()
            self._open = None
        if bench.signals.count or (once and not heard):
            self._next_s = bench.clock.boot_s() + self._settings.interval_s
            return
        self.iterate()

    def _hear(self) -> bool:
        """What the quota call told; the iteration that waits for it goes on."""
        for said in self._meter.collect():
            self._bench.emit(said)
        return self._open is not None and not self._meter.reading

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
        """Look, plan, act, say so; the sessions that were begun or taken up.

        Where starts wait for the quota to be read, the iteration goes on when it is, and is said
        then.
        """
        bench, did = self._bench, self._open or Did()
        if self._open is None:
            self._number += 1
        did.waiting.clear()
        self._next_s = bench.clock.boot_s() + self._settings.interval_s
        self._collect()
        try:
            sessions = self._sessions()
            quota = self._meter.look(self._settings.account)
        except ColonyError as error:
            # Who cannot see the sessions must begin nothing beside them.
            if self._number == 1:
                raise
            did.notes.append(clip(error.line, 160))
            self._tell(did, ANYTHING)
            return frozenset()
        for one in self._supervisor.adopt(sessions.kept):
            did.notes.append(f"adopted {one.ref} ({one.session})")
        sessions = replace(sessions, kept=self._supervisor.with_members(sessions.kept))
        survey = self._survey(did)
        for said in self._meter.say(self._settings.account, quota):
            bench.emit(said)
        actions = self._plan(survey, sessions, quota, did) if survey is not None else ()
        for action in actions:
            if bench.signals.count:
                break
            self._act(action, sessions.kept, did)
        self._wake_in_time(sessions.kept, quota)
        begun = frozenset(each.session for each in (*did.started, *did.resumed))
        self._begun |= begun
        if Probe() not in actions:
            self._tell(did, quota)
            return begun
        self._open = did
        # Where it could not even be asked, there is nothing to wait for.
        return begun if self._meter.reading else self.iterate()

    def plan_only(self) -> tuple[Action, ...]:
        """What an iteration would do now; nothing is written, started or adopted."""
        did = Did()
        sessions = self._sessions()
        survey = self._watch.survey(self._settings.view)
        return self._plan(survey, sessions, self._meter.look(self._settings.account), did)

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

    def _survey(self, did: Did) -> Survey | None:
        """None: the tracker does not answer, so nothing is begun that it would have to hear of."""
        try:
            return self._watch.survey(self._settings.view)
        except ColonyError as error:
            did.notes.append(f"the tracker does not answer: {clip(error.line, 160)}")
            return None

    def _plan(
        self, survey: Survey, sessions: Sessions, quota: Quota, did: Did
    ) -> tuple[Action, ...]:
        bench, settings = self._bench, self._settings
        braked = self._braked(survey, sessions)
        if braked.said:
            did.notes.append(braked.said)
        room = Room(
            paused=bench.control.pauses().names,
            stopping=bench.signals.count > 0,
            closed_until_ms=settings.opening.closed_until_ms(bench.clock.wall_ms()),
            refused=self._backoff.refusals,
            folders=settings.folders,
            trees=settings.trees,
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

    def _act(self, action: Action, kept: tuple[Kept, ...], did: Did) -> None:
        """One action; what it cannot do is its own line."""
        try:
            match action:
                case Expire(ref, _):
                    self._expire(action, did)
                case Ask(unready):
                    self._ask(unready)
                case Resume():
                    one = next(each for each in kept if each.session == action.session)
                    self._take_up(one, action, did)
                case Start(ref, ports):
                    self._start(ref, ports, did)
                case Probe():
                    self._meter.begin(self._settings.account)
                case Wait():
                    did.waiting.append(action)
        except NotFound:
            self._watch.forget()
        except ColonyError as error:
            did.notes.append(clip(error.line, 200))

    def _expire(self, action: Expire, did: Did) -> None:
        reason = expire(self._bench.tracker, action.ref, action.lease)
        said = f"{action.ref} (session {action.lease.session})"
        if reason:
            did.kept.append(f"{said}: {reason} — nothing written")
        else:
            did.expired.append(f"{said} → open")

    def _take_up(self, one: Kept, action: Resume, did: Did) -> None:
        asks = action.ports is not None
        if asks and not self._fits(did, one.ref, one.folder, one.session):
            return
        self._supervisor.take_up(one, action.ports)
        if asks:
            self._door.let_in(self._settings.guard, one.session)
        did.resumed.append(Begun(one.ref, one.session, action.ports))

    def _start(self, ref: Ref, ports: Range, did: Did) -> None:
        folder = place_of(ref, self._settings.folders, self._settings.trees)
        if not self._fits(did, ref, folder):
            return
        session = self._bench.chance.session_id(self._bench.clock.wall_ms())
        self._supervisor.begin(session, ref, folder, ports)
        self._door.let_in(self._settings.guard, session)
        did.started.append(Begun(ref, session, ports))

    def _fits(self, did: Did, ref: Ref, folder: str, session: str = "") -> bool:
        did.full = did.full or self._door.full(self._settings.guard, folder, session)
        if did.full is not None:
            did.waiting.append(Wait(ref, "room", did.full.label, session))
        return did.full is None

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

    def _wake_in_time(self, kept: tuple[Kept, ...], quota: Quota) -> None:
        """The next iteration is no later than the end of a pause, or than starts are allowed."""
        now_ms, now_s = self._bench.clock.wall_ms(), self._bench.clock.boot_s()
        waiting = [one for one in kept if one.state in ("parked", "left")]
        due = [ms for one in waiting for ms in (one.due_ms, one.again_ms) if ms > now_ms]
        held_ms, opens_ms = quota.wake_ms(now_ms), self._settings.opening.closed_until_ms(now_ms)
        due += [each for each in (held_ms, opens_ms) if each is not None]
        if due:
            due_s = now_s + max(LEAST_S, (min(due) - now_ms) / 1000)
            self._next_s = min(self._next_s, due_s)

    def _tell(self, did: Did, quota: Quota) -> None:
        self._open = None
        self._meter.over()
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
            notes=tuple(dict.fromkeys(did.notes)),
            quota=quota,
            full=did.full,
        )
        self._waited = did.waiting
        said = line(done)
        if self._once or not done.silent:
            self._bench.emit(said)
        self._bench.notify.status(said.as_text())
        if self._bench.news is not None:
            self._bench.news.told(done)

    # --- what has ended ----------------------------------------------------------------------

    def _collect(self) -> None:
        for gone in self._supervisor.gone():
            told = closing_of(self._bench.runs, gone)
            self._bench.emit(told.line)
            ordered = bool(told.stood) and gone.member.session in self._bench.control.orders()
            now_ms = self._bench.clock.wall_ms()
            self._backoff.remember(gone.member, told, now_ms, ordered=ordered)
            if told.no_room is not None:
                self._door.shut(told.no_room, self._settings.interval_s)
            self._next_s = min(self._next_s, self._bench.clock.boot_s() + LEAST_S)

    def _say(self, kind: str, text: str) -> None:
        self._bench.emit(Line(kind, text, ms=self._bench.clock.wall_ms()))
