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
    PartFacts,
    PartKind,
)

CHECK_TRIES: Final = 3
"""Times the controller is started before a session ends without a verdict."""
CHECK_BACKOFF_MS: Final = (10_000, 60_000)
"""Pause before the second and the third start of the controller."""
FRESH_STARTS: Final = 2
"""Times a part that Colony itself interrupted is started again before the ticket is given back."""

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


Step = Take | Settle | RunPart | Validate | Compose | Send | Wait | Rest | End


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
    if facts.report is None or not facts.report.valid:
        return _work(facts)
    if facts.lost == "taken":
        return Compose(Occasion.LATE) if facts.post else End(Outcome.LATE)
    return _judge(facts, now_ms)


def _work(facts: Facts) -> Step:
    worked = [part for part in facts.parts if part.kind != "check"]
    if not worked:
        return End(_lost(facts)) if facts.lost else RunPart("work")
    last = worked[-1]
    if last.answer_sha256 and (facts.report is None or facts.report.part != last.number):
        return Validate(last.number)
    if facts.lost is not None:
        return End(_lost(facts))
    if _interrupted(last) and _broken(worked) <= FRESH_STARTS:
        return RunPart("work")
    return Compose(Occasion.NO_REPORT)


def _lost(facts: Facts) -> Outcome:
    """The word for a session that has nothing to post on a ticket that is not its own any more."""
    return Outcome.LATE if facts.lost == "taken" else Outcome.MOVED


def _interrupted(part: PartFacts) -> bool:
    """Ended by Colony's own end, not by the work: worth a fresh start."""
    return part.ended in (Ending.STOPPED, Ending.KILLED, Ending.CRASHED)


def _broken(parts: Sequence[PartFacts]) -> int:
    """How many ended by themselves or from outside; those that were stopped as asked are none."""
    return sum(1 for part in parts if part.ended in (Ending.KILLED, Ending.CRASHED))


def _judge(facts: Facts, now_ms: int) -> Step:
    if facts.verdict is not None and facts.verdict.valid:
        if not facts.post:
            return Rest(judged=True)
        return Compose(Occasion.PASSED if facts.verdict.passed else Occasion.FAILED)
    checks = [
        part for part in facts.parts if part.kind == "check" and part.number > facts.checks_from
    ]
    if checks:
        last = checks[-1]
        if last.answer_sha256 and (facts.verdict is None or facts.verdict.part != last.number):
            return Validate(last.number)
    tries = sum(1 for part in checks if not _interrupted(part))
    if tries >= CHECK_TRIES or _broken(checks) > FRESH_STARTS:
        return Compose(Occasion.NO_VERDICT) if facts.post else Rest(judged=False)
    if tries:
        due = (checks[-1].ended_ms or 0) + CHECK_BACKOFF_MS[min(tries, len(CHECK_BACKOFF_MS)) - 1]
        if now_ms < due:
            return Wait(due)
    return RunPart("check")


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
        case Occasion.NO_REPORT:
            last = [part for part in facts.parts if part.kind != "check"][-1]
            ours = last.ended is not None and BELONGS[last.ended] != "ticket"
            return Outcome.GIVEN_BACK if ours else Outcome.NO_REPORT
        case Occasion.NO_VERDICT:
            return Outcome.NO_VERDICT
        case Occasion.FAILED:
            asked = any(each.kind == "create" for each in facts.outbox)
            return Outcome.QUESTION if asked else Outcome.SENT_BACK
        case _:
            if facts.report is not None and not facts.report.complete:
                return Outcome.HALF_DONE
            return Outcome.POSTED if moves and moves[-1].state == "review" else Outcome.READY


def phase_of(facts: Facts) -> Phase:
    """The word that people read."""
    if facts.outcome is not None:
        return "ended"
    if facts.occasion is not None:
        return "posting"
    if facts.lease is None:
        return "new"
    if facts.verdict is not None and facts.verdict.valid:
        return "judged"
    if facts.report is not None and facts.report.valid:
        return "reported"
    return "working" if facts.parts else "leased"
