"""How the facts of a session change: each a pure step from old facts to new ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from colony.core.endings import Cause, Ending, Exit
from colony.core.lines import clip
from colony.core.outbox import Effect
from colony.core.session.facts import Facts, ParkFacts, PartFacts, PartKind, cost_of
from colony.core.turn import Turn, part_cost

DENIALS_MAX: Final = 100
"""Denials of a part that are kept one by one."""
ENTRIES_MAX: Final = 200
"""Models and cleanup lines of a part, each."""
READINGS_MAX: Final = 20
SAID_MAX: Final = 200
"""Characters of why a part ended."""
ENTRY_MAX: Final = 300
"""Characters of one of them."""


def part_started(
    facts: Facts, kind: PartKind, agent_session: str, now_ms: int, *, resumes: bool = False
) -> Facts:
    """A part that is about to be spawned."""
    part = PartFacts(
        number=len(facts.parts) + 1,
        kind=kind,
        agent_session=agent_session,
        resumes=resumes,
        started_ms=now_ms,
    )
    return replace(facts, parts=(*facts.parts, part))


def on_account(facts: Facts, account: str, login_mark: str) -> Facts:
    """The newest part, which is about to be spawned, runs on this account."""
    return part_changed(
        facts,
        replace(
            facts.parts[-1],
            account=clip(account, ENTRY_MAX),
            login_mark=clip(login_mark, ENTRY_MAX),
        ),
    )


def answered(facts: Facts) -> Facts:
    """The model has said something in the newest part."""
    return part_changed(facts, replace(facts.parts[-1], answered=True))


def check_again(facts: Facts) -> Facts:
    """Forget the verdict and the tries before it."""
    return replace(facts, verdict=None, checks_from=len(facts.parts))


def part_changed(facts: Facts, part: PartFacts) -> Facts:
    """The facts with this part in the place of the one with its number."""
    parts = tuple(part if each.number == part.number else each for each in facts.parts)
    return replace(facts, parts=parts)


@dataclass(frozen=True, slots=True)
class Ended:
    """What is known of a part once its process is gone."""

    turn: Turn
    exit: Exit
    ending: Ending
    cause: Cause | None
    now_ms: int
    answer_sha256: str = ""
    cleanup: tuple[str, ...] = ()
    peak_bytes: int = 0
    """Most memory that it held; 0: not known."""
    counted_by: str = ""
    said: str = ""
    """Why, in its agent's own words, without secrets."""


def part_ended(facts: Facts, number: int, end: Ended) -> Facts:
    """Cost of this part: the agent's total less what earlier parts of its session had counted."""
    part = facts.parts[number - 1]
    turn = end.turn
    seen = cost_of(
        each
        for each in facts.parts
        if each.agent_session == part.agent_session and each.number < number
    )
    cost_usd = part_cost(turn, seen)
    return part_changed(
        facts,
        replace(
            part,
            ended_ms=end.now_ms,
            ended=end.ending,
            cause=end.cause,
            exit_code=end.exit.code,
            exit_signal=end.exit.signal,
            steps=turn.turns,
            cost_usd=cost_usd or 0.0,
            cost_known=cost_usd is not None,
            total_cost_usd=turn.total_cost_usd,
            usage=turn.usage,
            models=_first(turn.models, ENTRIES_MAX),
            permission_mode=turn.permission_mode,
            denials=_first([f"{each.tool}: {each.detail}" for each in turn.denials], DENIALS_MAX),
            limit_until_ms=turn.limit.until_ms if turn.limit else None,
            answer_sha256=end.answer_sha256,
            cleanup=_first(end.cleanup, ENTRIES_MAX),
            met=turn.agent_session == part.agent_session,
            readings=turn.quota[:READINGS_MAX],
            answered=part.answered or bool(turn.models),
            peak_bytes=end.peak_bytes,
            counted_by=end.counted_by,
            said=clip(end.said, SAID_MAX),
        ),
    )


def park_changed(facts: Facts, park: ParkFacts) -> Facts:
    """The facts with this pause in the place of the one with its number, or as the newest."""
    earlier = tuple(each for each in facts.parks if each.number < park.number)
    return replace(facts, parks=(*earlier, park), asked=None if park.told else facts.asked)


def go_on_now(facts: Facts, now_ms: int, *, wanted: bool = True) -> Facts:
    """A parked session goes on, whatever its time. `wanted`: by a person's word, which holds until
    it does; who takes it up for the account's sake asks the account again where that failed."""
    park = facts.parked
    if park is None:
        return replace(facts, asked=None)
    resume_ms = min(park.resume_ms, now_ms)
    return park_changed(facts, replace(park, resume_ms=resume_ms, wanted=wanted or park.wanted))


def taken_up(facts: Facts) -> Facts:
    """Another process goes on with it; whether the last one died without a part is counted.

    A death during a part is that part's own ending.
    """
    running = any(part.ended is None for part in facts.parts)
    died = not facts.left and not running and facts.outcome is None
    return replace(facts, left=False, deaths=facts.deaths + died)


def salvaged(facts: Facts) -> Facts:
    """The ended session once more, only for its report; what its first end wrote stays."""
    return replace(
        facts,
        salvaged_after=len(facts.parts),
        round=facts.round + 1,
        occasion=None,
        outbox=(),
        outcome=None,
        ended_ms=None,
        lost=None,
        deaths=0,
    )


def effect_done(facts: Facts, effect: Effect) -> Facts:
    """The outbox with this effect's new status in the place of its old one."""
    outbox = tuple(effect if each.name == effect.name else each for each in facts.outbox)
    return replace(facts, outbox=outbox)


def _first(entries: Sequence[str], limit: int) -> tuple[str, ...]:
    """At most so many, each short: an agent that is refused without end fills no record."""
    kept = tuple(clip(each, ENTRY_MAX) for each in entries[:limit])
    more = len(entries) - len(kept)
    return (*kept, f"and {more} more") if more else kept
