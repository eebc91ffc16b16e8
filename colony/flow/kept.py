"""The sessions of this home that have not ended, as the plan of the loop wants to know them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from colony.core.backoff import Failed
from colony.core.last_line import PARKED
from colony.core.markers import utc
from colony.core.plan import Kept, Quota
from colony.core.session import Facts, Rest, next_step
from colony.flow.runs import facts_of, not_ended
from colony.flow.supervise import Task
from colony.flow.work import only_posts
from colony.host.ended import note_ended
from colony.host.journal import Garbage
from colony.host.lock import is_locked

Asked = Callable[[str], Literal["stop", "park"] | None]
"""What a person wants of a session."""


@dataclass(frozen=True, slots=True)
class Sessions:
    """Every session of this home that has not ended."""

    kept: tuple[Kept, ...]
    """Oldest first."""
    quota: Quota
    unreadable: Mapping[str, str]
    """By name, why: a person has to look."""

    def running(self) -> tuple[Kept, ...]:
        return tuple(one for one in self.kept if one.state == "running")


@dataclass(frozen=True, slots=True)
class Known:
    """What the loop itself knows of its sessions."""

    tasks: Mapping[str, Task]
    """Those whose process it holds, by session."""
    failed: Mapping[str, Failed]
    """Those that could not be taken up a moment ago."""
    asked: Asked


def sessions_here(runs: Path, known: Known, now_ms: int) -> Sessions:
    """Whatever this host is called in them: who has the folder has the session."""
    found: list[tuple[int, Kept]] = []
    holds: list[tuple[int, str]] = []
    unreadable: dict[str, str] = {}
    unborn = dict(known.tasks)
    for folder in not_ended(runs):
        facts = facts_of(folder)
        if isinstance(facts, Garbage):
            unreadable[folder.session] = facts.reason
            continue
        if facts is None:
            continue
        if facts.outcome is not None:
            if not is_locked(folder.lock):
                note_ended(runs, folder.session)
            continue
        unborn.pop(facts.session, None)
        locked = facts.session in known.tasks or is_locked(folder.lock)
        found.append((facts.started_ms, _kept(facts, known, now_ms, locked=locked)))
        park = facts.parked
        if park is not None and park.reason == "limit" and not locked and park.resume_ms > now_ms:
            holds.append((park.resume_ms, facts.session))
    found += [(now_ms, _running(task)) for task in unborn.values()]
    found.sort(key=lambda one: (one[0], one[1].session))
    return Sessions(tuple(kept for _, kept in found), _quota(holds), unreadable)


def _quota(holds: list[tuple[int, str]]) -> Quota:
    if not holds:
        return Quota()
    until_ms, session = max(holds)
    return Quota(until_ms, f"usage limit reached ({session})")


def _running(task: Task) -> Kept:
    return Kept(task.session, task.ref, task.folder, task.ports or (0, 0), "running")


def _kept(facts: Facts, known: Known, now_ms: int, *, locked: bool) -> Kept:
    task = known.tasks.get(facts.session)
    ports = task.ports if task is not None and task.ports is not None else facts.setup.ports
    folder = os.path.realpath(facts.setup.folder)
    session, ref, posts = facts.session, facts.ticket, only_posts(facts)
    if locked:
        return Kept(session, ref, folder, ports, "running", posts=posts)
    asked = known.asked(session) is not None
    tried = known.failed.get(session)
    due_ms, why = (
        (tried.until_ms, f"{tried.why}; again after {utc(tried.until_ms)}") if tried else (0, "")
    )
    if asked:
        # It is taken up only to have the order on record.
        return Kept(session, ref, folder, ports, "left", due_ms, why, posts=True)
    if facts.occasion is None and isinstance(next_step(facts, now_ms), Rest):
        return Kept(session, ref, folder, ports, "resting")
    park = facts.parked
    if park is not None and not posts:
        if park.resume_ms > due_ms:
            until = "until it is asked to go on" if park.reason == "asked" else utc(park.resume_ms)
            due_ms, why = park.resume_ms, f"parked {until}: {PARKED[park.reason]}"
        return Kept(session, ref, folder, ports, "parked", due_ms, why)
    if not posts and not Path(folder).is_dir():
        far_ms = max(due_ms, now_ms + 1)
        return Kept(session, ref, folder, ports, "left", far_ms, f"{folder} is missing")
    return Kept(session, ref, folder, ports, "left", due_ms, why, posts)
