"""`deployed`: a built ticket has gone live, so its creator is told and can try it.

The report may lie on another machine. A run folder here is believed where its report is the one
whose hash the ticket names, and so is the session's row in the tracker. Every write holds only on
the ticket as it was read, and carries a key of the session: again, from here or from elsewhere,
changes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from colony.core.deploy import Built, Live, filed_by, gate_of, shut
from colony.core.lines import Json, Line
from colony.core.markers import Deployed, is_session_id
from colony.core.report import Expect, Report, read_report
from colony.core.session import Facts
from colony.core.strict_json import Problems, json_sha256
from colony.core.texts import deployed, moved
from colony.core.texts.details import details
from colony.core.ticket import History, Ref, Ticket
from colony.core.verdict import read_verdict, rule
from colony.errors import NotFound, Refused
from colony.flow.bench import Schema
from colony.flow.evidence import REPORT, VERDICT, Spoiled, kept_json
from colony.flow.runs import facts_of
from colony.host.journal import RunFolder
from colony.tracker.protocol import Conflict, Guard, Tracker


@dataclass(frozen=True, slots=True)
class Gate:
    """What a deploy is told with."""

    tracker: Tracker
    runs: Path
    """The run folders of this host."""
    report: Schema
    verdict: Schema
    site: str
    """The project's live address; empty where this host's registry does not name one."""


@dataclass(frozen=True, slots=True)
class _Papers:
    """What a session left, as JSON. The verdict is None where there is none."""

    report: Json
    verdict: Json


def tell_deployed(gate: Gate, ref: Ref) -> Iterator[Line]:
    """Comment, then state; the last line is the outcome. `Refused`: nothing was written."""
    history = gate.tracker.ticket(ref)
    fresh = False
    while not fresh and isinstance(found := gate_of(history), Built):
        event = _comment(gate, history, found)
        if event is not None:
            fresh = True
            yield _posted(ref, found.session, f"comment on {ref}", event)
        history = gate.tracker.ticket(ref)
    if found is None:
        raise Refused(shut(history))
    session = found.session
    if not fresh:
        yield Line("have", f"comment on {ref}", str(ref), session)
    for line in _move(gate, history, session, told=fresh):
        fresh = fresh or line.kind == "posted"
        yield line
    yield _outcome(gate, ref, session, fresh=fresh)


def _comment(gate: Gate, history: History, built: Built) -> int | None:
    """The id of the comment's event; None: the ticket has changed since it was read."""
    ref = history.ticket.ref
    report = _result(gate, ref, built)
    filed = filed_by(built.session, _rows(gate, ref, report), history.ticket)
    line = Deployed(built.session, built.sha256)
    text = deployed.live(report, gate.site, details(report, filed), line)
    # Hosts may know more or less of the site: the key names the bytes, the guard keeps it one.
    key = f"{built.session}:deployed:{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    guard = Guard(event=history.ticket.last_event)
    answer = gate.tracker.comment(ref, text, key=key, guard=guard)
    return None if isinstance(answer, Conflict) else answer.event


def _move(gate: Gate, history: History, session: str, *, told: bool) -> Iterator[Line]:
    """To the creator, while nobody has moved the ticket, or taken it, since the comment.

    `told`: the comment was written just now, so that a move in between is worth a line.
    """
    ref = history.ticket.ref
    while (found := gate_of(history)) == Live(session, unmoved=True):
        guard = Guard(event=history.ticket.last_event)
        key = f"{session}:deployed:state"
        answer = gate.tracker.move(ref, "review", key=key, text=moved.to_try(), guard=guard)
        if not isinstance(answer, Conflict):
            yield _posted(ref, session, f"{ref} moved to review", answer.event)
            return
        history = gate.tracker.ticket(ref)
        told = True
    if told and isinstance(found, Live) and found.handed:
        # Another deploy of the same result was quicker.
        yield Line("have", f"{ref} moved to review", str(ref), session)
    elif told:
        text = f"{ref} not moved to review — the ticket is {history.ticket.state} now"
        yield Line("post.refused", text, str(ref), session)


def _posted(ref: Ref, session: str, text: str, event: int) -> Line:
    return Line("posted", text, str(ref), session, facts={"event": event})


def _outcome(gate: Gate, ref: Ref, session: str, *, fresh: bool) -> Line:
    on = f"live on {gate.site}" if gate.site else "live"
    text = f"— {ref} (session {session}, {on}){'' if fresh else ': nothing new'}"
    facts: dict[str, Json] = {"live": gate.site or None, "fresh": fresh}
    return Line("deployed", text, str(ref), session, facts=facts)


# --- what was built --------------------------------------------------------------------------


def _result(gate: Gate, ref: Ref, built: Built) -> Report:
    """The report with what its check ruled. `Refused`: it cannot be had from anywhere."""
    session = built.session
    expect = Expect(ref, session, live=True)
    why = "it is neither in the tracker nor in a run folder of this host"
    for papers in (_here, _told):
        found = papers(gate, built)
        if found is None:
            continue
        read = found if isinstance(found, str) else _read(gate, expect, found)
        if isinstance(read, Report):
            return read
        why = read
    raise Refused(f"{ref}: the report of session {session} cannot be had: {why}")


def _here(gate: Gate, built: Built) -> _Papers | None:
    """From the session's run folder, where its report is the very one that was posted."""
    if not is_session_id(built.session):
        return None
    folder = RunFolder(gate.runs / built.session)
    facts = facts_of(folder)
    if not isinstance(facts, Facts) or facts.report is None or not facts.report.valid:
        return None
    if facts.report.sha256[:12] != built.sha256:
        return None
    try:
        report = kept_json(folder, REPORT, facts.report.sha256)
        judged = facts.verdict is not None and facts.verdict.valid
        sha256 = facts.verdict.sha256 if facts.verdict and judged else ""
        verdict = kept_json(folder, VERDICT, sha256) if judged else None
    except Spoiled:
        return None
    if isinstance(report, Problems) or isinstance(verdict, Problems):
        return None
    return _Papers(report, verdict)


def _told(gate: Gate, built: Built) -> _Papers | str | None:
    """From the session's row, where its report is the very one that was posted; else why not."""
    try:
        row = gate.tracker.session(built.session)
    except NotFound:
        return None
    if row.report is None:
        return None
    sha256 = json_sha256(row.report)[:12]
    if sha256 != built.sha256:
        return f"the tracker's row holds another one (sha256 {sha256}, posted {built.sha256})"
    return _Papers(row.report, row.verdict)


def _read(gate: Gate, whose: Expect, papers: _Papers) -> Report | str:
    """The report as it counts; or its first problem."""
    report = read_report(papers.report, whose, gate.report.check)
    if isinstance(report, Problems):
        return report.lines[0]
    if papers.verdict is None:
        return report
    verdict = read_verdict(papers.verdict, report, gate.verdict.check)
    if isinstance(verdict, Problems):
        return f"its verdict: {verdict.lines[0]}"
    return rule(verdict, report).report


def _rows(gate: Gate, ref: Ref, report: Report) -> Iterator[Ticket]:
    """The tickets among which those lie that the report filed."""
    for project in dict.fromkeys((ref.project, *(each.project for each in report.issues))):
        try:
            yield from gate.tracker.tickets(project)
        except NotFound:
            continue
