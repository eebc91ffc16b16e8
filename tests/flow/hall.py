"""A loop whose time is moved by hand and whose sessions are records: how each fares is a script."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from colony.coding.protocol import Invocation
from colony.core.allowance import Seat
from colony.core.codec import to_json
from colony.core.endings import Ending
from colony.core.guard import OFF, Guard
from colony.core.lines import Line
from colony.core.plan import Kept, PlanSettings
from colony.core.ports import Range
from colony.core.project import Project
from colony.core.quota import Thresholds
from colony.core.session import Facts, LeaseFacts, Outcome, ParkFacts, PartFacts, Runner, Setup
from colony.core.session.follows import park_reason, resume_ms
from colony.core.texts.lease import started
from colony.core.ticket import Me, NewTicket, Ref
from colony.core.turn import QuotaAnswer, Reading
from colony.flow.meter import AccountSettings
from colony.flow.observe import Viewpoint
from colony.flow.room import Admission
from colony.flow.run import Loop, LoopBench, LoopSettings
from colony.flow.runs import facts_at
from colony.flow.supervise import Command, Member, Supervisor
from colony.flow.wiring.trackers import DERIVE
from colony.host.chance import SystemChance
from colony.host.control import Control
from colony.host.journal import RunFolder
from colony.host.lock import lock_file
from colony.host.notify import Notifier
from colony.host.registry import Registry
from colony.host.signals import LoopSignals
from colony.tracker.embedded import Embedded, open_tracker
from tests.fakes.gauges import PLENTY, HandGauge

MINUTE: Final = 60_000
BEGUN_MS: Final = 1_800_000_000_000
RUNNER: Final = Runner("claude", "claude", "sonnet", 9, 99, "auto")


@dataclass
class HandTime:
    """A clock that a test moves."""

    now_ms: int = BEGUN_MS

    def wall_ms(self) -> int:
        return self.now_ms

    def boot_s(self) -> float:
        return self.now_ms / 1000

    def boot_id(self) -> str:
        return "one"


@dataclass
class Account:
    """An agent that only tells of its account."""

    who: str = "anna"
    mark: str = "mark 1"
    call: Invocation | None = None
    answer: QuotaAnswer = field(default_factory=QuotaAnswer)

    name = "claude"

    def account(self, environ: Mapping[str, str]) -> str:
        del environ
        return self.who

    def login(self, environ: Mapping[str, str]) -> str:
        del environ
        return "stored login"

    def login_problem(self, environ: Mapping[str, str]) -> str | None:
        del environ
        return None if self.mark else "nobody is logged in"

    def login_mark(self, environ: Mapping[str, str]) -> str:
        del environ
        return self.mark

    def quota_call(self, environ: Mapping[str, str]) -> Invocation | None:
        del environ
        return self.call

    def read_quota(self, output: str) -> QuotaAnswer:
        return self.answer if output else QuotaAnswer(problem="it printed nothing")


@dataclass(frozen=True)
class Fate:
    """How a session fares as soon as it is begun; None: it runs, and has not been answered."""

    ending: Ending | None = None
    resets_ms: int | None = None
    answered: bool = False
    readings: tuple[Reading, ...] = ()
    cost_usd: float = 0.0


RUNS: Final = Fate()
Fates = Callable[[str], Fate]


class Sessions(Supervisor):
    """Begins no process: what a session met stands in its run folder at once."""

    def __init__(self, hall: Hall) -> None:
        super().__init__(Command((), {}, hall.runs))
        self._hall = hall
        self.launched: list[tuple[int, Ref]] = []
        """When, in minutes since the beginning, and what."""
        self.locks: dict[str, ExitStack] = {}

    def begin(self, session: str, ref: Ref, folder: str, ports: Range) -> Member:
        setup = Setup(RUNNER, RUNNER, folder, ports, "", False, 2, 7_200_000, 3_600_000, "off")
        made = Facts(session, ref, "here", True, self._hall.time.wall_ms(), setup)
        RunFolder.make(self._hall.runs, session)
        text = started(session, "here", BEGUN_MS * 2)
        self._hall.tracker.move(ref, "progress", key=f"{session}:take", text=text)
        return self._launched(replace(made, lease=LeaseFacts(1, BEGUN_MS * 2)))

    def take_up(self, one: Kept, ports: Range | None) -> Member:
        del ports
        facts = facts_at(RunFolder(self._hall.runs / one.session))
        parks = tuple(replace(park, over=True) for park in facts.parks)
        return self._launched(replace(facts, parks=parks))

    def adopt(self, kept: Sequence[Kept]) -> Iterator[Member]:
        del kept
        return iter(())

    def _launched(self, facts: Facts) -> Member:
        self.launched.append((self._hall.minute, facts.ticket))
        self._hall.play(facts, self._hall.fates(facts.session))
        return None  # type: ignore[return-value]


@dataclass
class Hall:
    """Ten projects with a ticket each, an account, and a loop that looks once a minute."""

    folder: Path
    account: Account = field(default_factory=Account)
    time: HandTime = field(default_factory=HandTime)
    fates: Fates = lambda _: RUNS
    parallel: int = 5
    max_cost_usd: float | None = None
    gauge: HandGauge = field(default_factory=lambda: HandGauge(PLENTY.reading))
    guard: Guard = OFF
    lines: list[Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.projects = [f"p{number}" for number in range(10)]
        with closing(self._opened("anna", machine=False)) as anna:
            for project in self.projects:
                anna.create(NewTicket(project, "A cart"), key=f"test:{project}")
        self.tracker = self._opened("colony", machine=True)
        self.signals = LoopSignals()
        self.sessions = Sessions(self)
        self.loop = Loop(self._bench(), self.settings, self.sessions)

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    @property
    def minute(self) -> int:
        return (self.time.wall_ms() - BEGUN_MS) // MINUTE

    def _opened(self, user: str, *, machine: bool) -> Embedded:
        me = Me(user, "", machine=machine, owner=not machine)
        url = f"sqlite:///{self.folder / 'colony.db'}"
        clock = self.time.wall_ms
        return open_tracker(url, me=me, clock=clock, derive=DERIVE, create=True)

    @property
    def settings(self) -> LoopSettings:
        folders = {name: str(self.folder / name) for name in self.projects}
        registry = Registry(
            {
                name: Project(name, dev_folder=folders[name], concept="CONCEPT.md")
                for name in self.projects
            }
        )
        account = AccountSettings(
            agent=self.account,  # type: ignore[arg-type]
            agents=frozenset({"claude"}),
            seats=dict.fromkeys(self.projects, Seat("claude", "sonnet")),
            environ={"PATH": "/usr/bin:/bin"},
            thresholds=Thresholds(),
            max_cost_usd=self.max_cost_usd,
        )
        return LoopSettings(
            plan=PlanSettings(self.parallel, (8700, 8799), 10), interval_s=60, stop_finish_s=0,
            ttl_ms=7_200_000, view=Viewpoint(registry, "here", "all", frozenset({"anna"})),
            inbox="inbox", folders=folders, account=account, guard=self.guard,
        )  # fmt: skip

    def _bench(self) -> LoopBench:
        return LoopBench(
            tracker=self.tracker, runs=self.runs, clock=self.time, chance=SystemChance(),
            signals=self.signals, control=Control(self.folder), notify=Notifier(),
            emit=self.lines.append, read_again=lambda: self.settings, busy_ranges=lambda _: (),
            admission=Admission(self.gauge, self.runs, self.folder, self.lines.append),
        )  # fmt: skip

    # --- what sessions meet ------------------------------------------------------------------

    def play(self, facts: Facts, fate: Fate) -> None:
        """A new part of the session, with how it fares."""
        now_ms = self.time.wall_ms()
        part = PartFacts(
            len(facts.parts) + 1, "work", "u", bool(facts.parts), now_ms, met=True,
            account=self.account.who, login_mark=self.account.mark, answered=fate.answered,
            readings=fate.readings, cost_usd=fate.cost_usd,
        )  # fmt: skip
        if fate.ending is not None:
            part = replace(part, ended=fate.ending, ended_ms=now_ms, limit_until_ms=fate.resets_ms)
        facts = replace(facts, parts=(*facts.parts, part))
        reason = park_reason(fate.ending)
        if reason is not None:
            until_ms = resume_ms(facts.parts)
            park = ParkFacts(
                len(facts.parks) + 1, reason, part.number, until_ms, until_ms * 2, "x", told=True
            )
            facts = replace(facts, parks=(*facts.parks, park))
        elif fate.ending is not None:
            facts = replace(facts, outcome=Outcome.GIVEN_BACK, ended_ms=now_ms)
            self.tracker.move(facts.ticket, "open", key=f"{facts.session}:end")
        self.save(facts, runs=fate.ending is None)

    def save(self, facts: Facts, *, runs: bool) -> None:
        record = to_json(facts)
        assert isinstance(record, dict)
        folder = RunFolder(self.runs / facts.session)
        folder.save_json(record)
        locks = self.sessions.locks
        if runs and facts.session not in locks:
            locks[facts.session] = ExitStack()
            locks[facts.session].enter_context(lock_file(folder.lock, "session"))
        if not runs and facts.session in locks:
            locks.pop(facts.session).close()

    def answer(self) -> None:
        """Every session that runs is answered by its model."""
        for session in self.sessions.locks:
            facts = facts_at(RunFolder(self.runs / session))
            last = replace(facts.parts[-1], answered=True)
            self.save(replace(facts, parts=(*facts.parts[:-1], last)), runs=True)

    # --- time --------------------------------------------------------------------------------

    def look(self, minutes: int = 1) -> list[Ref]:
        """So many iterations, a minute apart; what was launched in them."""
        before = len(self.sessions.launched)
        for _ in range(minutes):
            self.loop.iterate()
            self.time.now_ms += MINUTE
        return [ref for _, ref in self.sessions.launched[before:]]

    def said(self, kind: str) -> list[str]:
        return [line.text for line in self.lines if line.kind == kind]

    def close(self) -> None:
        for lock in self.sessions.locks.values():
            lock.close()
        self.tracker.close()


def limit(minutes: int | None) -> Fate:
    """The limit, with a reset so many minutes after the beginning."""
    return Fate(Ending.LIMIT, None if minutes is None else BEGUN_MS + minutes * MINUTE)


def readings(session: float | None, week: float | None, **more: Any) -> tuple[Reading, ...]:
    """By share."""
    resets_ms = more.pop("resets_ms", BEGUN_MS + 300 * MINUTE)
    found = (("five_hour", session), ("seven_day", week))
    return tuple(Reading(name, used, resets_ms) for name, used in found if used is not None)
