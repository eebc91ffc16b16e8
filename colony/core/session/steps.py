"""The next step of a session, derived from its facts; and the words people read for where it is.

`next_step` is pure: the same facts give the same step, whether they were just written or found
after a crash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from colony.core.endings import BELONGS, Ending
from colony.core.outbox import Effect
from colony.core.session.facts import (
    GONE,
    LATE,
    MOVED,
    Facts,
    Occasion,
    Outcome,
    ParkFacts,
    PartFacts,
    PartKind,
)
from colony.core.session.follows import BROKEN, FOLLOWS, INTERRUPTED, park_reason, resume_ms
from colony.core.texts.lease import ParkReason

CHECK_TRIES: Final = 3
"""Times the controller is started before a session ends without a verdict."""
CHECK_BACKOFF_MS: Final = (10_000, 60_000)
"""Pause before the second and the third start of the controller."""
UNTIL_ASKED_MS: Final = 365 * 24 * 3_600_000
"""How long a session that a person parked waits to be asked to go on."""

Phase = Literal["new", "leased", "working", "parked", "reported", "judged", "posting", "ended"]


@dataclass(frozen=True, slots=True)
class Take:
    """Take the lease, or adopt it where it is this session's already."""


@dataclass(frozen=True, slots=True)
class Settle:
    """A part is on disk as running, but nobody waits for it: find out how it ended."""

    part: int


@dataclass(frozen=True, slots=True)
class RunPart:
    kind: PartKind
    resumes: str = ""
    """The agent session that it goes on with; empty: a fresh one."""


@dataclass(frozen=True, slots=True)
class Park:
    """Write down that the session is paused, and what will be told."""

    reason: ParkReason
    resume_ms: int


@dataclass(frozen=True, slots=True)
class TellPark:
    park: ParkFacts


@dataclass(frozen=True, slots=True)
class Parked:
    """Nothing to do before its time; the ticket stays leased."""

    park: ParkFacts


@dataclass(frozen=True, slots=True)
class Resume:
    """The pause is over: say so, and be sure that the ticket is still held."""

    park: ParkFacts


@dataclass(frozen=True, slots=True)
class MakeReady:
    """Make the session's tree ready for the worker."""


@dataclass(frozen=True, slots=True)
class SaveWork:
    """Commit what the worker left in its tree, and bring the branch out of it."""

    after: int
    """Number of the worker's last part."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Bring the branch into the base: compute it, or do what was computed."""


@dataclass(frozen=True, slots=True)
class Validate:
    """Read a part's answer: a report, or a verdict."""

    part: int


@dataclass(frozen=True, slots=True)
class Compose:
    """Render every text of the ending into the outbox, before the first is sent."""

    occasion: Occasion


@dataclass(frozen=True, slots=True)
class Send:
    effect: Effect


@dataclass(frozen=True, slots=True)
class Wait:
    until_ms: int


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing more to do unasked: the result is kept, the ticket stays leased."""

    judged: bool


@dataclass(frozen=True, slots=True)
class End:
    outcome: Outcome


Step = (
    Take
    | Settle
    | MakeReady
    | RunPart
    | SaveWork
    | Validate
    | Merge
    | Park
    | TellPark
    | Parked
    | Resume
    | Compose
    | Send
    | Wait
    | Rest
    | End
)


def next_step(facts: Facts, now_ms: int) -> Step:
    """What to do now. Everything it needs is in the facts."""
    if facts.outcome is not None:
        return End(facts.outcome)
    if facts.occasion is not None:
        return _post(facts)
    if facts.lease is None:
        return Take()
    running = next((part for part in facts.parts if part.ended is None), None)
    if running is not None:
        return Settle(running.number)
    held = _held(facts, now_ms) if facts.lost is None else None
    if held is not None:
        return held
    if facts.report is None or not facts.report.valid:
        return _in_tree(facts, _work(facts))
    if facts.lost == "taken":
        return Compose(Occasion.LATE) if facts.post else End(Outcome.LATE)
    return _judge(facts, now_ms)


def _in_tree(facts: Facts, step: Step) -> Step:
    """Before each part of the worker its tree is made ready: what ran there may have died."""
    tree = facts.setup.tree
    if tree is None or not isinstance(step, RunPart) or facts.tree.ready_for == len(facts.parts):
        return step
    return MakeReady()


def _may_merge(facts: Facts) -> bool:
    """What passed its check goes into the base; what is half done waits for the rest of it."""
    setup, tree = facts.setup.tree, facts.tree
    if setup is None or setup.merge != "pass" or not tree.tip or tree.merged:
        return False
    complete = facts.report is not None and facts.report.complete
    return complete and not tree.not_saved and facts.lost is None


def _held(facts: Facts, now_ms: int) -> Step | None:
    """What a person asked for, and the pause that the session is in."""
    if facts.asked == "stop":
        return Compose(Occasion.STOPPED)
    park = facts.parked
    if park is None:
        return Park("asked", now_ms + UNTIL_ASKED_MS) if facts.asked == "park" else None
    if not park.told:
        return TellPark(park)
    return Parked(park) if now_ms < park.resume_ms else Resume(park)


def _work(facts: Facts) -> Step:
    worked = facts.worked
    unread = bool(worked) and _is_unread(facts, worked[-1])
    # What was answered is not thrown away for deaths: it is read once more.
    if facts.deaths > facts.setup.crash_resumes + unread and facts.lost is None:
        return Compose(Occasion.NO_REPORT)
    if not worked:
        return End(_lost(facts)) if facts.lost else _first(facts)
    last = worked[-1]
    if unread:
        return Validate(last.number)
    if facts.lost is not None:
        return End(_lost(facts))
    if facts.salvaged_after == len(facts.parts):
        return RunPart("finalize", last.agent_session)
    return _after(facts, worked, last)


def _is_unread(facts: Facts, last: PartFacts) -> bool:
    """It left an answer that was not looked at yet."""
    read = facts.report is not None and facts.report.part == last.number
    return bool(last.answer_sha256) and not read


def _first(facts: Facts) -> Step:
    """The worker; none where a person set the ticket's cap below what it has cost already."""
    return Compose(Occasion.NO_REPORT) if facts.spent_up else RunPart("work")


def _after(facts: Facts, worked: Sequence[PartFacts], last: PartFacts) -> Step:
    """What follows the last part of the worker, which left no report that holds."""
    assert last.ended is not None
    if facts.spent_up:
        return Compose(Occasion.NO_REPORT)
    before = facts.salvaged_after or 0
    match FOLLOWS[last.ended]:
        case "fix" if _may_fix(facts, worked, last):
            return RunPart("fix", last.agent_session)
        case "finalize" if _may_finalize(facts, worked, last):
            return RunPart("finalize", last.agent_session)
        case "again" if _may_go_on(facts, [part for part in worked if part.number > before]):
            return RunPart(last.kind, _conversation(last))
        case "anew" if last.resumes and last.kind == "work":
            return RunPart("work")
        case "park":
            return _park(facts, last) or RunPart(last.kind, _conversation(last))
        case _:
            return Compose(Occasion.NO_REPORT)


def _conversation(last: PartFacts) -> str:
    """The agent session that a part goes on with; empty where it cannot be."""
    return last.agent_session if last.met or last.resumes else ""


def _may_fix(facts: Facts, worked: Sequence[PartFacts], last: PartFacts) -> bool:
    """Once, where there is a conversation to ask in. A step that only asks for the report is not
    asked a second time for one that it did not give; for one that was refused it is."""
    given = facts.report is not None and facts.report.part == last.number
    asked = any(part.kind == "fix" for part in worked)
    steps = facts.setup.finalize_max_turns
    return steps > 0 and last.met and not asked and (last.kind == "work" or given)


def _may_finalize(facts: Facts, worked: Sequence[PartFacts], last: PartFacts) -> bool:
    asked = any(part.kind != "work" for part in worked)
    return facts.setup.finalize_max_turns > 0 and last.met and not asked


def _may_go_on(facts: Facts, parts: Sequence[PartFacts]) -> bool:
    """So often and no more a session is taken up after a death, its agent's or its own."""
    return facts.deaths + _broken(parts) <= facts.setup.crash_resumes


def _park(facts: Facts, last: PartFacts) -> Park | None:
    """The pause after a part that its account ended; None: it is over."""
    reason = park_reason(last.ended)
    if reason is None or any(park.after >= last.number for park in facts.parks):
        return None
    alike = [part for part in facts.parts if (part.kind == "check") == (last.kind == "check")]
    return Park(reason, resume_ms(alike))


def _lost(facts: Facts) -> Outcome:
    """The word for a session that has nothing to post on a ticket that is not its own any more."""
    return Outcome.LATE if facts.lost == "taken" else Outcome.MOVED


def _broken(parts: Sequence[PartFacts]) -> int:
    """How many ended by themselves or from outside; those that were stopped as asked are none."""
    return sum(1 for part in parts if part.ended in BROKEN)


def _judge(facts: Facts, now_ms: int) -> Step:
    if facts.verdict is not None and facts.verdict.valid:
        if not facts.post:
            return Rest(judged=True)
        if facts.verdict.passed and _may_merge(facts):
            return Merge()
        return Compose(Occasion.PASSED if facts.verdict.passed else Occasion.FAILED)
    if facts.setup.tree is not None and facts.tree.saved_after < facts.worked[-1].number:
        return SaveWork(facts.worked[-1].number)
    checks = [
        part for part in facts.parts if part.kind == "check" and part.number > facts.checks_from
    ]
    if checks:
        last = checks[-1]
        if last.answer_sha256 and (facts.verdict is None or facts.verdict.part != last.number):
            return Validate(last.number)
        if park_reason(last.ended):
            return _park(facts, last) or _waited_out(facts, now_ms) or RunPart("check")
    tries = sum(1 for part in checks if _is_try(part))
    if tries >= CHECK_TRIES or not _may_go_on(facts, checks):
        return Compose(Occasion.NO_VERDICT) if facts.post else Rest(judged=False)
    if tries:
        due = (checks[-1].ended_ms or 0) + CHECK_BACKOFF_MS[min(tries, len(CHECK_BACKOFF_MS)) - 1]
        if now_ms < due:
            return Wait(due)
    return RunPart("check")


def _waited_out(facts: Facts, now_ms: int) -> Parked | None:
    """A session that lost its ticket tells no pause and keeps it all the same: its check would meet
    the same limit again at once."""
    park = facts.parked
    return Parked(park) if park is not None and now_ms < park.resume_ms else None


def _is_try(part: PartFacts) -> bool:
    return part.ended not in INTERRUPTED and park_reason(part.ended) is None


def _post(facts: Facts) -> Step:
    waiting = next((each for each in facts.outbox if each.status == "planned"), None)
    return Send(waiting) if waiting is not None else End(outcome_of(facts))


def outcome_of(facts: Facts) -> Outcome:
    """The word for a session whose outbox is empty."""
    moves = [each for each in facts.outbox if each.kind == "move"]
    reasons = {each.why for each in facts.outbox}
    if GONE in reasons:
        return Outcome.GONE
    if LATE in reasons or facts.occasion is Occasion.LATE:
        return Outcome.LATE
    if (moves and moves[-1].status == "skipped") or (not moves and MOVED in reasons):
        return Outcome.MOVED
    match facts.occasion:
        case Occasion.STOPPED | Occasion.NO_REPORT if _asks(facts):
            return Outcome.QUESTION
        case Occasion.STOPPED:
            return Outcome.GIVEN_BACK
        case Occasion.NO_REPORT:
            ours = BELONGS[why_no_report(facts)] != "ticket"
            return Outcome.GIVEN_BACK if ours else Outcome.NO_REPORT
        case Occasion.NO_VERDICT:
            return Outcome.NO_VERDICT
        case Occasion.FAILED:
            return Outcome.QUESTION if _asks(facts) else Outcome.SENT_BACK
        case _:
            half = facts.report is not None and not facts.report.complete
            if half or facts.tree.conflicts:
                return Outcome.HALF_DONE
            return Outcome.POSTED if moves and moves[-1].state == "review" else Outcome.READY


def _asks(facts: Facts) -> bool:
    return any(each.kind == "create" for each in facts.outbox)


def why_no_report(facts: Facts) -> Ending:
    """How the work ended that left no report, or one that cannot be used: the worker's own end, not
    that of the step which only asked for the report."""
    worked = facts.worked
    if facts.deaths > facts.setup.crash_resumes:
        return Ending.CRASHED
    if not worked:
        return Ending.OUT_OF_BUDGET if facts.spent_up else Ending.CRASHED
    if facts.agent_died and all(part.wordless for part in worked):
        return Ending.NO_AGENT
    own = [part for part in worked if part.kind == "work"] or worked
    last = worked[-1] if worked[-1].ended in INTERRUPTED else own[-1]
    assert last.ended is not None
    return Ending.BAD_REPORT if last.ended is Ending.REPORT else last.ended


def phase_of(facts: Facts) -> Phase:
    """The word that people read."""
    if facts.outcome is not None:
        return "ended"
    if facts.occasion is not None:
        return "posting"
    if facts.lease is None:
        return "new"
    if facts.parked is not None:
        return "parked"
    if facts.verdict is not None and facts.verdict.valid:
        return "judged"
    if facts.report is not None and facts.report.valid:
        return "reported"
    return "working" if facts.parts else "leased"
