"""The sessions of this home that have not ended, as the plan of the loop sees them."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from colony.core.account import asks
from colony.core.allowance import seat_of
from colony.core.going_on import stand_of
from colony.core.plan import Kept
from colony.core.session import Facts, Parked, Rest, next_step, phase_of
from colony.flow.runs import facts_of, not_ended
from colony.flow.work import only_posts
from colony.host.journal import Garbage
from colony.host.lock import is_locked

AGAIN_MS: Final = (0, 60_000, 300_000, 900_000)
"""Pause before a session is taken up again after the first failed try, the second, and so on."""

HOLDS: Final = frozenset({"limit", "provider", "login"})
"""Why a session is parked by its account, and goes on when that allows it."""


@dataclass(frozen=True, slots=True)
class Tries:
    """Failed tries in a row to take a session up, and where it stood then."""

    count: int
    stood: str
    at_ms: int
    ordered: bool = False
    """What a person wants of it was tried, and is still to be done."""

    @property
    def due_ms(self) -> int:
        return self.at_ms + AGAIN_MS[min(self.count, len(AGAIN_MS)) - 1]


@dataclass(frozen=True, slots=True)
class Sessions:
    """One look at the run folders."""

    kept: tuple[Kept, ...]
    unreadable: tuple[str, ...]
    """Run folders that say nothing of use, and why."""
    unread: frozenset[str] = frozenset()
    """Their sessions."""


def stood_at(facts: Facts) -> str:
    """Where a session stands, for telling whether a try brought it on."""
    done = sum(effect.status != "planned" for effect in facts.outbox)
    return f"{phase_of(facts)} {len(facts.parts)} {len(facts.parks)} {done}"


def sessions_in(
    runs: Path, now_ms: int, tries: Mapping[str, Tries], ordered: Collection[str]
) -> Sessions:
    """Whoever holds the folder, whatever this host was called when the session began. `ordered`: a
    person wants something of them, so they are taken up at once; where that failed, it waits."""
    kept, unread = [], {}
    for folder in not_ended(runs):
        facts = facts_of(folder)
        if isinstance(facts, Garbage):
            unread[folder.session] = facts.reason
        if not isinstance(facts, Facts) or facts.outcome is not None:
            continue
        running = is_locked(folder.lock)
        one = _kept(facts, now_ms, running=running)
        tried = tries.get(facts.session)
        asked = facts.session in ordered and not running
        if asked:
            one = replace(one, due_ms=0, why="a person asked for it", awaits=False)
        if tried is not None and (tried.ordered or not asked) and now_ms < tried.due_ms:
            one = replace(one, again_ms=tried.due_ms, why=f"try {tried.count} failed")
        kept.append(one)
    kept.sort(key=lambda one: one.session)
    return Sessions(tuple(kept), tuple(unread.values()), frozenset(unread))


def _kept(facts: Facts, now_ms: int, *, running: bool) -> Kept:
    folder = os.path.realpath(facts.setup.folder)
    one = Kept(
        facts.session, facts.ticket, folder, facts.setup.ports, "running", seat=seat_of(facts),
        stood=stood_at(facts),
    )  # fmt: skip
    if running:
        answered, since_ms = asks(facts)
        return replace(one, answered=answered, asked_ms=since_ms)
    step = None if facts.occasion is not None else next_step(facts, now_ms)
    why = stand_of(facts, facts.host, now_ms, running=False).text
    park = facts.parked
    if isinstance(step, Rest):
        return replace(one, state="resting", why=why)
    if isinstance(step, Parked) or (park is not None and facts.occasion is None):
        due_ms = park.resume_ms if park is not None else 0
        awaits = park is not None and park.reason in HOLDS
        wanted = park is not None and park.wanted
        parked = replace(one, state="parked", due_ms=due_ms, why=why, awaits=awaits, wanted=wanted)
        return replace(parked, checks=_checks(facts))
    return replace(one, state="left", why=why, posts=only_posts(facts))


def _checks(facts: Facts) -> bool:
    return facts.report is not None and facts.report.valid
