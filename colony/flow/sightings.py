"""The sessions that are known here: from this home's run folders, and from the tracker."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from colony.core.records import SessionRecord
from colony.core.session import Facts
from colony.flow.runs import facts_of
from colony.host.chance import named_ms
from colony.host.journal import Garbage, RunFolder, list_runs, misplaced
from colony.host.lock import is_locked
from colony.tracker.records.reads import RecordReads


@dataclass(frozen=True, slots=True)
class Here:
    """A session whose facts are in a run folder of this home."""

    facts: Facts
    running: bool

    @property
    def session(self) -> str:
        return self.facts.session


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Something in the place of a run folder that says nothing of use, and why."""

    session: str
    reason: str


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A session of another host, as the tracker was told of it."""

    record: SessionRecord

    @property
    def session(self) -> str:
        return self.record.id


Sighting = Here | Unreadable | Elsewhere


def sighted(folder: RunFolder) -> Here | Unreadable:
    """What one run folder says."""
    facts = facts_of(folder)
    if facts is None:
        return Unreadable(folder.session, "nothing is written down in it yet")
    if isinstance(facts, Garbage):
        return Unreadable(folder.session, facts.reason.removeprefix(f"{folder.session}: "))
    # Only of what is written down: who makes a folder has not locked it yet.
    return Here(facts, running=facts.outcome is None and is_locked(folder.lock))


def sightings(runs: Path) -> tuple[Here | Unreadable, ...]:
    """This home's sessions, oldest first; what cannot be read is among them, never left out."""
    found: list[Here | Unreadable] = [sighted(folder) for folder in list_runs(runs)]
    for each in misplaced(runs):
        session, _, reason = each.reason.partition(": ")
        found.append(Unreadable(session, reason))
    return tuple(sorted(found, key=_age))


def told_elsewhere(
    tracker: RecordReads, host: str, known: Collection[str]
) -> tuple[Elsewhere, ...]:
    """Sessions of other hosts, oldest first; none where the tracker keeps no sessions."""
    if "sessions" not in tracker.features:
        return ()
    return tuple(
        Elsewhere(record)
        for record in tracker.sessions()
        if record.host.casefold() != host.casefold() and record.id not in known
    )


def in_order(found: Sequence[Sighting]) -> tuple[Sighting, ...]:
    """Oldest first, wherever they are from."""
    return tuple(sorted(found, key=_age))


def _age(one: Sighting) -> tuple[int, str]:
    """By its start; of one that does not tell it, by the minute in its name."""
    match one:
        case Here(facts):
            return facts.started_ms, one.session
        case Elsewhere(record) if record.started_ms is not None:
            return record.started_ms, one.session
        case _:
            return named_ms(one.session), one.session
