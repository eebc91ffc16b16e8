"""`report`: a worker's report from a file, read and told; with leave, posted as unchecked."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from colony.core import outbox
from colony.core.lease import is_mine
from colony.core.lines import Json, Line
from colony.core.markers import Report as ReportLine
from colony.core.markers import is_session_id, marker_of
from colony.core.outbox import Closing, Effect
from colony.core.project import Project
from colony.core.records import SessionRecord
from colony.core.report import Expect, Report, notes, read_report
from colony.core.strict_json import Problems, json_sha256, load_json
from colony.core.ticket import History, Ref
from colony.errors import ColonyError, NotFound, Refused
from colony.flow.bench import Emit, Schema
from colony.flow.hold import Holder
from colony.flow.posting import Sending, send
from colony.flow.take import salvage
from colony.host.files import read_bytes
from colony.host.registry import Registry

REPORT_MAX: Final = 4 * 1024 * 1024


class ReportRefused(ColonyError):
    """The report has problems; all of them have been told."""

    code = "report_refused"


class PostRefused(Refused):
    code = "post_refused"


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A valid report, and its hash."""

    report: Report
    ref: Ref
    live: bool
    sha256: str
    """Of the report as a session writes it down, however this file is spaced."""
    file_sha256: str
    """Of the bytes of the file: what other programs name in the ticket."""
    data: Json
    """As it stands in the file."""


def read_file(path: Path, schema: Schema, registry: Registry, emit: Emit) -> ReportFile:
    """The report of a file. `ReportRefused` after every problem has been told."""
    raw = read_bytes(path, REPORT_MAX)
    if raw is None:
        raise Refused(f"{path} does not exist")
    data = load_json(raw.decode("utf-8", "replace"))
    if isinstance(data, Problems):
        raise _refused(path, data, emit)
    said = data.get("ticket") if isinstance(data, dict) else None
    session = data.get("session") if isinstance(data, dict) else None
    ref = Ref.parse(said) if isinstance(said, str) else None
    project = registry.projects.get(ref.project) if ref else None
    live = isinstance(project, Project) and project.live
    # A report from a file says itself whose it is; what it says must be a ticket and a session.
    whose = Expect(ref or Ref("unknown", 1), session if isinstance(session, str) else "", live)
    found = read_report(data, whose, schema.check)
    if isinstance(found, Problems) or ref is None:
        problems = found if isinstance(found, Problems) else Problems(("ticket: is no ticket",))
        raise _refused(path, problems, emit)
    if not is_session_id(found.session):
        raise _refused(path, Problems((f"session: {found.session} is no session's name",)), emit)
    complete = "" if found.complete else ", NOT complete"
    emit(Line("report.ok", f"{ref} {found.session}{complete}", str(ref), found.session))
    for note in notes(found, registry.projects):
        emit(Line("report.problem", f"note: {note}", str(ref)))
    file_sha256 = hashlib.sha256(raw).hexdigest()
    return ReportFile(found, ref, live, json_sha256(data), file_sha256, data)


def _refused(path: Path, problems: Problems, emit: Emit) -> ReportRefused:
    count = len(problems.lines)
    emit(Line("report.refused", f"{path}: {count} problem(s)", facts={"problems": count}))
    for problem in problems.lines:
        emit(Line("report.problem", problem))
    return ReportRefused(f"{count} problem(s)")


def post_file(holder: Holder, read: ReportFile, known: frozenset[str]) -> Iterator[Line]:
    """Write what no controller saw. Done before: `HAVE`. Again goes on where it stopped."""
    history = holder.tracker.ticket(read.ref)
    posted = _posted(history, read.report.session)
    short = read.sha256[:12]
    if posted is not None and posted.sha256 not in (short, read.file_sha256[:12]):
        raise PostRefused(
            f"session {read.report.session} has posted another report ({posted.sha256})"
        )
    if posted is not None:
        yield Line("have", f"report {short} on {read.ref}", str(read.ref), read.report.session)
    hold = salvage(holder, history) if posted is None else None
    _tell(holder, read)
    history = holder.tracker.ticket(read.ref)
    token = hold.lease.token if hold else None
    effects = outbox.unchecked(_closing(holder, read, history, known), read.report)
    if posted is not None:
        # What was interrupted after its comment still has to move the ticket.
        mine = is_mine(history.ticket.state, history.events, read.report.session)
        left = ("create", "block", "move") if mine else ("create", "block")
        effects = tuple(each for each in effects if each.kind in left)
        token = 0 if mine else None
    for line in _sent(holder, effects, token):
        again = posted is not None and line.kind == "posted"
        yield replace(line, kind="have") if again else line


def _tell(holder: Holder, read: ReportFile) -> None:
    """Its row, so that `deployed` finds the report on any host. A row that has it stays; the
    verdict on another report is none on this one."""
    try:
        row = holder.tracker.session(holder.session)
    except NotFound:
        now_ms = holder.tracker.now_ms()
        row = SessionRecord(
            holder.session,
            read.ref,
            holder.host,
            "ended",
            ended_ms=now_ms,
            outcome="posted by hand",
        )
    if row.report is None or json_sha256(row.report) != read.sha256:
        # News: what cannot be told now is told when the report is posted again.
        with contextlib.suppress(ColonyError):
            holder.tracker.put_session(replace(row, report=read.data, verdict=None))


def _sent(holder: Holder, effects: tuple[Effect, ...], token: int | None) -> Iterator[Line]:
    for at, effect in enumerate(effects):
        if effect.status != "planned":
            continue
        done, line = send(holder, Sending(token, effects), effect)
        effects = (*effects[:at], done, *effects[at + 1 :])
        yield line


def _posted(history: History, session: str) -> ReportLine | None:
    for event in history.events:
        marker = marker_of(event)
        if isinstance(marker, ReportLine) and marker.session == session and not marker.late:
            return marker
    return None


def _closing(holder: Holder, read: ReportFile, history: History, known: frozenset[str]) -> Closing:
    ticket = history.ticket
    return Closing(
        ticket=read.ref,
        url=ticket.url,
        state=ticket.state,
        session=read.report.session,
        host=holder.host,
        live=read.live,
        known=known,
        sha256=read.sha256,
        cost_known=False,
    )
