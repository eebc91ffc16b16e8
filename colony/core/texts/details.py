"""Which details of a report a person is told, the most important first, one line each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from colony.core.report import Report
from colony.core.texts.layout import listed, say
from colony.core.ticket import Event

DETAILS_MAX: Final = 2
"""Bullets in the comment of a result."""
DECIDED_SHOWN_MAX: Final = 2
"""Small choices told in one line."""


@dataclass(frozen=True, slots=True)
class Filed:
    """Links to the tickets that came out of a report."""

    questions: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    blocking: tuple[str, ...] = ()
    """Those problems that hold the ticket up."""


def details(report: Report, filed: Filed) -> list[str]:
    """Every detail worth a line. What was left running is none: nothing survives a session."""
    left = _left(report)
    first = f"Left to do: {left}" if left and not report.complete else ""
    not_done = f"Not done: {left}" if left and report.complete else ""
    each = (
        first,
        _questions(filed),
        _problems(filed),
        _decided(report),
        not_done,
        _refused(report),
    )
    return [line for line in each if line]


def chosen(found: Sequence[str], later: Sequence[Event]) -> list[str]:
    """The bullets of a result's comment: comments that the worker did not see are one of them."""
    if not later:
        return list(found[:DETAILS_MAX])
    return [*found[: DETAILS_MAX - 1], unread(later)]


def unread(later: Sequence[Event]) -> str:
    """Comments that came after the brief, the newest one quoted."""
    last = later[-1]
    words = f'"{say(last.text, 80)}" ({say(last.author, 40)})'
    more = len(later) - 1
    return f"Came in during the work, not yet read: {words}" + (f" and {more} more" if more else "")


def _questions(filed: Filed) -> str:
    if not filed.questions:
        return ""
    label = "A question for you" if len(filed.questions) == 1 else "Questions for you"
    return f"{label}: {listed(filed.questions)}"


def _problems(filed: Filed) -> str:
    each = [
        f"{problem} (this ticket waits for it)" if problem in filed.blocking else problem
        for problem in filed.problems
    ]
    return f"Found elsewhere: {listed(each)}" if each else ""


def _decided(report: Report) -> str:
    shown = "; ".join(say(each, 120) for each in report.decided[:DECIDED_SHOWN_MAX])
    more = len(report.decided) - DECIDED_SHOWN_MAX
    return f"Decided: {shown}{f' (and {more} more)' if more > 0 else ''}" if shown else ""


def _left(report: Report) -> str:
    """The first thing that is not done."""
    if not report.open:
        return ""
    more = len(report.open) - 1
    return say(report.open[0]) + (f" (and {more} more)" if more else "")


def _refused(report: Report) -> str:
    count = len(report.refused)
    if not count:
        return ""
    return f"{count} action{'s were' if count > 1 else ' was'} not allowed and left out"
