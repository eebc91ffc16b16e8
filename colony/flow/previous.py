"""The last session on a ticket, gathered for the next brief: from its run folder, or its row.

A worker could reach its own run folder: what lies there is read as anybody's, and what cannot be
read is left out. It never keeps the next worker from being started.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from colony.core.brief.facts import Previous
from colony.core.previous import Last, last_of, left_by, report_in
from colony.core.records import SessionRecord
from colony.core.report import Report
from colony.core.session import Facts
from colony.core.strict_json import Problems, load_json
from colony.core.ticket import History, Ref
from colony.errors import NotFound
from colony.flow.runs import facts_of
from colony.host.chance import SESSION
from colony.host.files import Unsafe
from colony.host.journal import RunFolder
from colony.tracker.records.reads import RecordReads

REPORT: Final = "report.json"
REPORT_MAX: Final = 16 * 1024 * 1024

Told = Callable[[str], SessionRecord | None]
"""What the tracker was told of a session; None: nothing."""


def nothing_told(_: str) -> SessionRecord | None:
    return None


def told_to(tracker: RecordReads) -> Told:
    """Asks this tracker."""

    def told(session: str) -> SessionRecord | None:
        try:
            return tracker.session(session)
        except NotFound:
            return None

    return told


@dataclass(frozen=True, slots=True)
class Place:
    """Where the brief is written."""

    host: str
    runs: Path
    dev: str
    """The dev folder of the ticket's project."""


def previous_of(history: History, session: str, place: Place, told: Told) -> Previous | None:
    """The session before `session`; None where it is the first one."""
    last = last_of(history.events, session)
    if last is None:
        return None
    ref = history.ticket.ref
    folder = RunFolder(place.runs / last.session)
    facts = _facts(folder, ref) if SESSION.fullmatch(last.session) else None
    if facts is None:
        return _elsewhere(last, ref, place, told(last.session))
    found = Previous(
        last.session,
        last.host or facts.host,
        last.ended,
        sessions=last.sessions,
        folder=str(folder.path),
        here=True,
    )
    report = _report(folder, facts)
    if report is None:
        return found
    return replace(_with(found, report, place.dev), report=str(folder.path / REPORT))


def _elsewhere(last: Last, ref: Ref, place: Place, row: SessionRecord | None) -> Previous:
    """No run folder of it is here: its row may hold the report."""
    mine = row if row is not None and row.ref == ref else None
    host = last.host or (mine.host if mine else "")
    here = host.casefold() == place.host.casefold()
    found = Previous(last.session, host, last.ended, sessions=last.sessions, here=here)
    report = report_in(mine.report, ref, last.session) if mine else None
    return found if report is None else _with(found, report, place.dev if here else "")


def _with(found: Previous, report: Report, dev: str) -> Previous:
    left = left_by(report, dev)
    return replace(
        found,
        result=left.result,
        complete=left.complete,
        left_open=left.open,
        work_copies=left.work_copies,
    )


def _facts(folder: RunFolder, ref: Ref) -> Facts | None:
    facts = facts_of(folder)
    if not isinstance(facts, Facts):
        return None
    return facts if facts.session == folder.session and facts.ticket == ref else None


def _report(folder: RunFolder, facts: Facts) -> Report | None:
    if facts.report is None or not facts.report.valid:
        return None
    try:
        raw = folder.read(REPORT, REPORT_MAX, facts.report.sha256)
    except Unsafe:
        return None
    data = load_json((raw or b"").decode("utf-8", "replace"))
    return None if isinstance(data, Problems) else report_in(data, facts.ticket, facts.session)
