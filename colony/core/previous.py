"""The last session that held a ticket: how it ended, and what its report leaves to the next one.

The ticket's history alone says who it was and how it ended, on whatever host it ran.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from colony.core.endings import Ending
from colony.core.lease import Lease, lease_of
from colony.core.lines import Json
from colony.core.markers import (
    Deployed,
    Handled,
    LeaseExpired,
    LeaseLine,
    Marker,
    NoVerdict,
    Parked,
    Report,
    Retry,
    Run,
    Verdict,
    marker_of,
)
from colony.core.report import Expect, read_report
from colony.core.report import Report as WorkerReport
from colony.core.strict_json import Problems
from colony.core.texts.handback import REASONS
from colony.core.ticket import Event, Ref

LEFT_OPEN_MAX: Final = 5
WORK_COPIES_MAX: Final = 20

_COPY: Final = re.compile(r"([^\s`'\"()<>\[\]{}|;&=,]*/)?\.scratch/([A-Za-z0-9._-]+)")


@dataclass(frozen=True, slots=True)
class Last:
    session: str
    host: str
    """Empty where no line of the session names one."""
    ended: str
    """In a person's words, without a full stop."""
    sessions: int
    """How many have held the ticket so far, this one included."""


@dataclass(frozen=True, slots=True)
class Left:
    """What a report leaves to whoever goes on."""

    result: str
    complete: bool
    open: tuple[str, ...]
    work_copies: tuple[str, ...]


# --- who, and how it ended -------------------------------------------------------------------


def last_of(events: Sequence[Event], session: str = "") -> Last | None:
    """The last session that held the ticket before `session` did; None where there was none."""
    lines = [(event, marker_of(event)) for event in events]
    own = next((event.id for event, each in lines if _whose(each) == session != ""), None)
    if own is not None:
        lines = [(event, each) for event, each in lines if event.id < own]
    held = lease_of(event for event, _ in lines)
    if held is None:
        return None
    of_it = [each for _, each in lines if each is not None and _whose(each) == held.session]
    why = "it still has the ticket" if isinstance(held, Lease) else _taken(held.why)
    starts = {_whose(each) for _, each in lines if _is_start(each)}
    return Last(
        held.session,
        next((each.host for each in reversed(of_it) if isinstance(each, _NAMES_HOST)), ""),
        (_end(of_it[-1]) if of_it else "") or why,
        len(starts | {held.session}),
    )


_NAMES_HOST: Final = (LeaseLine, Parked, LeaseExpired, Run)


def _whose(marker: Marker | None) -> str:
    if marker is None or isinstance(marker, Handled | Retry):
        return ""
    return marker.session


def _is_start(marker: Marker | None) -> bool:
    return isinstance(marker, LeaseLine) and marker.kind in ("started", "salvage", "claimed")


def _taken(why: str) -> str:
    """Of a session that wrote nothing of its end. `why`: what ended its lease."""
    moved = why.removeprefix("it was ")
    return f"the ticket was {moved} before it said how it ended"


def _end(line: Marker) -> str:
    """What its last line says; empty where that is no end."""
    match line:
        case Report():
            return _reported(line)
        case Verdict(fail=fail, limit=limit):
            return f"its result failed the check ({fail} of {limit})"
        case NoVerdict():
            return "its result could not be checked"
        case Run(how="no report", reason=reason):
            return f"it left no usable result{_because(reason)}"
        case Run(reason=reason):
            return f"it was interrupted{_because(reason)}"
        case LeaseExpired():
            return "it fell silent, and the ticket was taken from it"
        case Deployed():
            return "its result was put live"
        case Parked():
            return "it was parked, and did not go on"
        case LeaseLine() | Handled() | Retry():
            return ""
        case _:
            assert_never(line)


def _reported(line: Report) -> str:
    if line.late:
        return "its report came after somebody else had taken the ticket"
    if line.half_done:
        return "its result is half done"
    if line.ready:
        return "its result was built and waited for the deploy"
    if line.unchecked:
        return "its result was posted by hand, unchecked"
    return "its result passed the check and was posted"


def _because(reason: str) -> str:
    """Words of an old line, or of a newer Colony, say nothing here."""
    try:
        return f": {REASONS[Ending(reason)]}"
    except ValueError:
        return ""


# --- what it left ----------------------------------------------------------------------------


def report_in(data: Json, ref: Ref, session: str) -> WorkerReport | None:
    """A report as it lies in a file or a row; None where it is none of this session on this ticket.

    It was valid against the schema once: only what is read here must still hold.
    """
    if not isinstance(data, dict):
        return None
    found = read_report(data, Expect(ref, session, live=False), lambda _: ())
    return None if isinstance(found, Problems) else found


def left_by(report: WorkerReport, dev: str) -> Left:
    """`dev`: the folder that its relative paths start from; empty: it cannot be reached from here,
    so that no work copies are named."""
    copies = work_copies(_texts(report), dev) if dev else ()
    return Left(report.result, report.complete, report.open[:LEFT_OPEN_MAX], copies)


def _texts(report: WorkerReport) -> Iterable[str]:
    yield from report.done
    yield from report.open
    for claim in report.verified:
        yield claim.command
    for each in report.running:
        yield from (each.what, each.log)
    yield report.result


def work_copies(texts: Iterable[str], dev: str) -> tuple[str, ...]:
    """Every `.scratch/NAME` that is named, as a path; one that lies inside another is left out."""
    found: dict[str, None] = {}
    for text in texts:
        for match in _COPY.finditer(text):
            name = match[2].rstrip(".")
            above = (match[1] or "").removeprefix("./")
            if name and name != "-" and ".." not in above.split("/"):
                path = f"{above}.scratch/{name}"
                found[path if path.startswith("/") else f"{dev.rstrip('/')}/{path}"] = None
    outer = [path for path in found if not any(path.startswith(f"{each}/") for each in found)]
    return tuple(outer[:WORK_COPIES_MAX])
