"""The run folders of this host: which sessions were left behind, and what live ones hold."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.core.codec import CodecProblem, from_json
from colony.core.ports import Range, free_ranges, show_range
from colony.core.project import Project
from colony.core.session import Facts, Parked, Rest, next_step
from colony.core.ticket import Ref
from colony.errors import Busy, Refused
from colony.host.ended import known_ended
from colony.host.journal import Garbage, RunFolder, list_runs
from colony.host.lock import is_locked, lock_file
from colony.host.ports import busy_ports
from colony.host.registry import Registry, works_in

HOME_LOCK: Final = "home.lock"
HOME_LOCK_WAIT_S: Final = 10.0


def facts_of(folder: RunFolder) -> Facts | Garbage | None:
    """What a run folder says; None where nothing was committed in it."""
    record = folder.load_json()
    if record is None or isinstance(record, Garbage):
        return record
    try:
        facts = from_json(Facts, record)
    except CodecProblem as problem:
        return Garbage(f"{folder.session}: session.json: {problem}")
    if facts.session != folder.session:
        # A copy, or a folder that was renamed: whoever goes by the name would find other files.
        told = f"it holds session {facts.session}: a run folder keeps its name"
        return Garbage(f"{folder.session}: session.json: {told}")
    return facts


def facts_at(folder: RunFolder) -> Facts:
    """`Refused`: it holds no session that can be read."""
    facts = facts_of(folder)
    if facts is None:
        raise Refused(f"{folder.path} is no run folder: it holds no session.json")
    if isinstance(facts, Garbage):
        raise Refused(facts.reason)
    return facts


def not_ended(runs: Path) -> tuple[RunFolder, ...]:
    """Run folders of sessions that have not ended, as far as is known without reading them."""
    ended = known_ended(runs)
    return tuple(folder for folder in list_runs(runs) if folder.session not in ended)


def left_behind(runs: Path, host: str) -> tuple[Facts, ...]:
    """This host's sessions that have not ended and that nobody works on, oldest first."""
    found = []
    for folder in not_ended(runs):
        facts = facts_of(folder)
        if not isinstance(facts, Facts) or facts.outcome is not None or facts.host != host:
            continue
        if not is_locked(folder.lock):
            found.append(facts)
    return tuple(sorted(found, key=lambda facts: (facts.started_ms, facts.session)))


def unreadable(runs: Path) -> tuple[Garbage, ...]:
    """Run folders whose record cannot be read: a person has to look, nothing else will."""
    found = (facts_of(folder) for folder in not_ended(runs))
    return tuple(each for each in found if isinstance(each, Garbage))


def drop_unborn(runs: Path) -> None:
    """Remove folders of sessions that were ended before they wrote anything down.

    Only while the home is locked: a session that is just being made is in it, too.
    """
    for folder in not_ended(runs):
        if facts_of(folder) is None and not is_locked(folder.lock):
            folder.discard()


def unfinished(runs: Path, ref: Ref, host: str, session: str | None = None) -> RunFolder | None:
    """The run folder of the newest session on this ticket that was left behind here, or of this
    very `session`."""
    mine = [
        facts
        for facts in left_behind(runs, host)
        if facts.ticket == ref and session in (None, facts.session)
    ]
    return RunFolder(runs / mine[-1].session) if mine else None


def interrupted(runs: Path, host: str, now_ms: int) -> Facts | None:
    """The oldest session left behind in the middle; one that rests with its result is not, nor one
    that is parked until later.

    One whose dev folder is gone cannot go on, and must not keep others from being started.
    """
    for facts in left_behind(runs, host):
        waiting = isinstance(next_step(facts, now_ms), Rest | Parked)
        if not waiting and Path(facts.setup.folder).is_dir():
            return facts
    return None


@dataclass(frozen=True, slots=True)
class Taken:
    """Why a dev folder is not to be had, and what a person can do about it."""

    text: str
    remedy: str


def folder_taken(registry: Registry, home: Path, runs: Path, ref: Ref) -> Taken | None:
    """Another session works where one on this ticket would, or another ticket's is parked there.
    None: it is free."""
    project = registry.projects.get(ref.project)
    folder = works_in(project, home, ref) if isinstance(project, Project) else None
    if folder is None:
        return None
    if is_locked(folder):
        return Taken("another session works in its dev folder", "see which: colony sessions")
    keeps = parked_in(runs, str(folder))
    if keeps is None or keeps.ticket == ref:
        return None
    text = f"session {keeps.session} ({keeps.ticket}) is parked in its dev folder"
    return Taken(text, f"colony resume {keeps.session}, or colony stop {keeps.session}")


def parked_in(runs: Path, folder: str) -> Facts | None:
    """The session that is parked in this dev folder: what it left there is still its own."""
    for run in not_ended(runs):
        facts = facts_of(run)
        if not isinstance(facts, Facts) or facts.outcome is not None or facts.parked is None:
            continue
        if os.path.realpath(facts.setup.folder) == os.path.realpath(folder):
            return facts
    return None


def taken_ports(runs: Path) -> Iterator[tuple[str, Range]]:
    """Sessions that live on this host, whose lock is held, and their port ranges."""
    for folder in not_ended(runs):
        if is_locked(folder.lock) and isinstance(facts := facts_of(folder), Facts):
            yield facts.session, facts.setup.ports


@dataclass(frozen=True, slots=True)
class Pool:
    """Where ports come from, and how many a session gets."""

    span: Range
    size: int


def ports_for(runs: Path, pool: Pool, asked: Range | None, again: Facts | None = None) -> Range:
    """The ports that were asked for, where no live session has them; else a free range (`a_range`).
    `Busy`. Only while the home is locked."""
    if asked is None:
        return a_range(runs, pool.span, pool.size, again)
    _need_free(runs, asked, again.session if again is not None else "")
    return asked


def _need_free(runs: Path, ports: Range, session: str) -> None:
    """`Busy`: a live session has some of these ports."""
    for name, span in taken_ports(runs):
        if name != session and _touched(ports, (span,)):
            raise Busy(f"ports {show_range(ports)}: session {name} has {show_range(span)}")


def _touched(own: Range, taken: Sequence[Range]) -> bool:
    return any(not (own[1] < low or high < own[0]) for low, high in taken)


@contextlib.contextmanager
def home_locked(home: Path) -> Iterator[None]:
    """One at a time in this home: for what is decided from all run folders together."""
    with lock_file(home / HOME_LOCK, "Colony's home", HOME_LOCK_WAIT_S):
        yield


def a_range(runs: Path, pool: Range, size: int, again: Facts | None = None) -> Range:
    """The lowest range of the pool that no live session has and whose ports can be bound.

    `again`: of a session whose own range comes first, where it is still to be had. Its lock is
    held by the caller, and so its range counts as taken by nobody else.
    """
    own = again.setup.ports if again is not None else None
    session = again.session if again is not None else ""
    taken = tuple(span for name, span in taken_ports(runs) if name != session)
    free = free_ranges(pool, size, taken)
    first = () if own is None or _touched(own, taken) else (own,)
    for block in itertools.chain(first, free):
        if not busy_ports(block):
            return block
    raise Busy(f"no free range of {size} ports in {show_range(pool)}")
