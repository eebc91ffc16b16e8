"""What `session.json` holds: the facts of one session, and the only truth about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Literal

from colony.core.attempts import memory_for
from colony.core.budget import limit_usd
from colony.core.endings import Cause, Ending
from colony.core.guard import MIB
from colony.core.money import nanos_of, usd_of
from colony.core.outbox import Effect
from colony.core.texts.lease import ParkReason
from colony.core.texts.memory import ran_out
from colony.core.ticket import Ref
from colony.core.tree_facts import NOTHING_YET, TreeFacts, TreeSetup
from colony.core.turn import Reading, Usage

VERSION: Final = 1
"""Version of the form of `session.json`."""

GONE: Final = "gone"
"""Why an effect was skipped: the tracker has no such ticket any more."""
MOVED: Final = "moved"
"""Why a comment was written and moves nothing: a person had moved the ticket."""
LATE: Final = "late"
"""Why an effect was skipped, or filed in its late form: the lease is no longer this session's."""

PartKind = Literal["work", "finalize", "fix", "check"]


class Outcome(StrEnum):
    """How a session ended, as people and `SESSION END` read it."""

    POSTED = "posted"
    READY = "ready to deploy"
    HALF_DONE = "half done"
    SENT_BACK = "sent back"
    QUESTION = "question"
    NO_VERDICT = "no verdict"
    NO_REPORT = "no valid report"
    GIVEN_BACK = "given back"
    MOVED = "moved by a person"
    LATE = "late"
    GONE = "ticket gone"


class Occasion(StrEnum):
    """Why the outbox is rendered."""

    STOPPED = "stopped"
    """A person asked for the end of the session."""

    PASSED = "passed"
    FAILED = "failed"
    NO_REPORT = "no report"
    NO_VERDICT = "no verdict"
    LATE = "late"
    """The lease went to somebody else: the report is filed, and changes nothing."""


@dataclass(frozen=True, slots=True)
class Runner:
    """How the parts of one kind are run."""

    agent: str
    program: str
    """Path or name of the agent's program; for the stand-in, its script."""
    model: str
    max_turns: int
    timeout_s: int
    permission_mode: str
    allowed_tools: tuple[str, ...] = ()
    max_budget_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Setup:
    """What was settled before the session began, so that any later process runs it alike."""

    worker: Runner
    controller: Runner
    folder: str
    ports: tuple[int, int]
    live: str
    """The project's live address; empty where results are tried as they are."""
    project_settings: bool
    max_fails: int
    ttl_ms: int
    heartbeat_ms: int
    sandbox: Literal["on", "off"]
    finalize_max_turns: int = 8
    """Steps of a part that is only asked for the report; 0: there is none."""
    finalize_timeout_s: int = 600
    stall_s: int = 1200
    """Without a word for so long a part is stopped; 0: never."""
    max_attempts: int = 3
    max_half_done: int = 6
    max_cost_cents: int = 0
    """US cents that all sessions on the ticket may cost, as it was set; 0: no limit."""
    left_cents: int | None = None
    """What was left of the ticket's cap at the take; None: it has none, or was not looked at."""
    base_turns: int = 0
    """The worker's steps before earlier attempts had them grow; 0: not looked at yet."""
    deploy: bool = False
    """The ticket is marked for deploy: the worker may reach the live site's folder."""
    crash_resumes: int = 2
    """Times that the session is taken up again after a process of it died."""
    memory_mb: int = 1024
    """MiB that a session is expected to hold, as it is set."""
    memory_max_mb: int = 0
    """MiB that a session may hold before it is ended, as it is set; 0: no limit."""
    pids_max: int = 4096
    """Processes and threads that it may have where a control group counts them; 0: no limit."""
    starved: int = 0
    """Earlier attempts at the ticket that ran out of memory: this one asks for more."""
    tree: TreeSetup | None = None
    """None: it works in the dev folder itself."""

    @property
    def memory_expected(self) -> int:
        """Bytes that this session is expected to hold."""
        return memory_for(self.memory_mb, self.starved) * MIB

    @property
    def memory_max(self) -> int:
        """Bytes that this session may hold; 0: no limit."""
        return memory_for(self.memory_max_mb, self.starved) * MIB

    def worker_limit_usd(self, spent_usd: float) -> float | None:
        """What a part of the worker may cost, once the session has cost so much. None: no limit;
        0: nothing is left."""
        return limit_usd(self.worker.max_budget_usd, self.left_cents, nanos_of(spent_usd))

    def runner(self, kind: PartKind) -> Runner:
        """How parts of this kind are run."""
        match kind:
            case "check":
                return self.controller
            case "finalize" | "fix":
                turns, seconds = self.finalize_max_turns, self.finalize_timeout_s
                return replace(self.worker, max_turns=turns, timeout_s=seconds)
            case "work":
                return self.worker


@dataclass(frozen=True, slots=True)
class LeaseFacts:
    """The lease as this session knows it. `token` is the id of the event that took it."""

    token: int
    until_ms: int
    renewals: int = 0
    parks: int = 0


@dataclass(frozen=True, slots=True)
class ProcessFacts:
    """Which process: a pid alone may be somebody else by now."""

    pid: int
    start_ticks: int
    boot_id: str


@dataclass(frozen=True, slots=True)
class PartFacts:
    """One run of a coding agent within the session. It is on disk before the process exists."""

    number: int
    kind: PartKind
    agent_session: str
    resumes: bool
    """It goes on with the agent session of an earlier part."""
    started_ms: int
    process: ProcessFacts | None = None
    ended_ms: int | None = None
    ended: Ending | None = None
    cause: Cause | None = None
    exit_code: int | None = None
    exit_signal: int | None = None
    steps: int = 0
    cost_usd: float = 0.0
    cost_known: bool = False
    total_cost_usd: float | None = None
    usage: Usage = Usage()
    models: tuple[str, ...] = ()
    permission_mode: str = ""
    denials: tuple[str, ...] = ()
    limit_until_ms: int | None = None
    answer_sha256: str = ""
    """Of the structured answer in the part's folder; empty: there was none."""
    cleanup: tuple[str, ...] = ()
    met: bool = False
    """The agent named its session: it can be asked to go on with it."""
    account: str = ""
    """Which account it ran on; empty: its agent needs none."""
    login_mark: str = ""
    """Fingerprint of the login when it began."""
    readings: tuple[Reading, ...] = ()
    """The newest of each window of the account's quota."""
    answered: bool = False
    """The model has said something."""
    peak_bytes: int = 0
    """Most memory that it held; 0: not known."""
    counted_by: str = ""
    """Who counted that: its control group, or whoever looked now and then."""
    said: str = ""
    """Why it ended so, in its agent's own words, without secrets; empty: it said nothing."""

    @property
    def wordless(self) -> bool:
        """Its process was there and died before a model, or its own program's result, said
        anything."""
        spoke = self.answered or bool(self.models) or self.cost_known
        return self.ended is Ending.CRASHED and self.process is not None and not spoke

    @property
    def how(self) -> str:
        """How it ended, and why as far as that is known: `crashed: no such option`."""
        if self.ended is None:
            return "not ended"
        # That it ran out of its steps the agent says in words of its own, which tell no more.
        why = "" if self.ended is Ending.OUT_OF_STEPS else self.said
        if not why and self.ended is Ending.CRASHED:
            why = f"exit status {self.exit_code}" if self.exit_code else ""
            why = f"signal {self.exit_signal}" if self.exit_signal else why
        return f"{self.ended}: {why}" if why else str(self.ended)

    @property
    def folder(self) -> str:
        """Where its files lie in the run folder."""
        return f"parts/{self.number}-{self.kind}"


@dataclass(frozen=True, slots=True)
class ParkFacts:
    """One pause of a session that keeps its lease. Everything is on disk before it is told."""

    number: int
    reason: ParkReason
    after: int
    """Number of the part after which it came; 0: before the first."""
    resume_ms: int
    """When the session may go on."""
    until_ms: int
    """Until when its lease lives meanwhile."""
    text: str
    """The comment that tells it."""
    told: bool = False
    """The comment is in the ticket, or there is nobody to tell any more."""
    again_until_ms: int | None = None
    """It goes on: the lease as the line says that tells so."""
    over: bool = False
    wanted: bool = False
    """A person wants it to go on now, whatever holds its account."""


@dataclass(frozen=True, slots=True)
class ReportFacts:
    """`report.json`, as validated."""

    part: int
    sha256: str
    valid: bool
    complete: bool = True
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VerdictFacts:
    """`verdict.json`, as validated and ruled on by code."""

    part: int
    sha256: str
    valid: bool
    passed: bool = False
    overruled: bool = False
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything a session is. Written whole at each change; other files count only when named."""

    session: str
    ticket: Ref
    host: str
    post: bool
    started_ms: int
    setup: Setup
    version: int = VERSION
    admitted_ms: int = 0
    """When it was last found to fit on its machine; 0: not asked since it began."""
    brief_sha256: str = ""
    brief_event: int = 0
    """The ticket's last event that the brief holds."""
    strangers: bool = False
    """The brief held words of somebody who may not order work."""
    agent_died: bool = False
    """When it began, its agent had died on another ticket, and had not answered since: where it
    dies again, that is no attempt at this ticket."""
    earlier: str = ""
    """The session whose run folder the brief tells of: an attempt before this one, at this host."""
    lease: LeaseFacts | None = None
    lost: Literal["moved", "taken"] | None = None
    """The lease is no longer this session's: a person moved the ticket, or somebody took it."""
    parts: tuple[PartFacts, ...] = ()
    parks: tuple[ParkFacts, ...] = ()
    asked: Literal["stop", "park"] | None = None
    """What a person asked for and has not happened yet."""
    left: bool = False
    """The last process left it in order; one that died did not say so."""
    deaths: int = 0
    """Processes that died while no part ran."""
    salvaged_after: int | None = None
    """Number of the part after which it was taken up only to get its report written."""
    round: int = 1
    """Counts its endings: what an earlier one wrote has other keys."""
    report: ReportFacts | None = None
    verdict: VerdictFacts | None = None
    checks_from: int = 0
    """Number of the part after which checks count: somebody asked for a new one."""
    occasion: Occasion | None = None
    outbox: tuple[Effect, ...] = ()
    outcome: Outcome | None = None
    ended_ms: int | None = None
    tree: TreeFacts = NOTHING_YET

    @property
    def parked(self) -> ParkFacts | None:
        """The pause that it is in."""
        return self.parks[-1] if self.parks and not self.parks[-1].over else None

    @property
    def worked(self) -> tuple[PartFacts, ...]:
        """The parts of the worker."""
        return tuple(part for part in self.parts if part.kind != "check")

    @property
    def cost_usd(self) -> float:
        return cost_of(self.parts)

    def cost_of(self, *kinds: PartKind) -> float:
        return cost_of(part for part in self.parts if part.kind in kinds)

    def limit_usd(self, part: PartFacts) -> float | None:
        """What this part may cost; None: no limit. Who salvages asked for the report by hand."""
        own = self.setup.runner(part.kind).max_budget_usd
        if part.kind == "check" or self.salvaged_after is not None:
            return own
        return self.setup.worker_limit_usd(
            cost_of(each for each in self.parts if each.number < part.number)
        )

    @property
    def spent_up(self) -> bool:
        """Nothing is left of the ticket's cap for one more part of the worker."""
        return self.salvaged_after is None and self.setup.worker_limit_usd(self.cost_usd) == 0

    @property
    def cut_by_cap(self) -> bool:
        """The worker was stopped because the ticket's cap was used up, not its own limit."""
        last = self.worked[-1] if self.worked else None
        if last is None or last.ended is not Ending.OUT_OF_BUDGET:
            return False
        return self.limit_usd(last) != self.setup.worker.max_budget_usd

    @property
    def ran_out(self) -> str:
        """How the worker ran out of memory at last, in words; empty: it did not."""
        last = self.worked[-1] if self.worked else None
        if last is None or last.ended is not Ending.OUT_OF_MEMORY:
            return ""
        return ran_out(last.peak_bytes, self.setup.memory_max)

    @property
    def steps(self) -> int:
        """Steps of the worker, all its runs together."""
        return sum(part.steps for part in self.parts if part.kind != "check")


def cost_of(parts: Iterable[PartFacts]) -> float:
    """US dollars, as exact as what each part's stream said."""
    return usd_of(sum(nanos_of(part.cost_usd) for part in parts))
