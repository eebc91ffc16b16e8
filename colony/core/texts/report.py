"""The comment that brings a finished result, and the one that files a result that came too late."""

from __future__ import annotations

from collections.abc import Sequence

from colony.core.markers import Report as ReportLine
from colony.core.report import Report
from colony.core.texts.layout import bullets, lay, say


def result(report: Report, details: Sequence[str], price: str, machine: ReportLine) -> str:
    """What there is now and how to try it; one line more where nobody checked it."""
    said = say(report.result, 120)
    return lay(
        f"Posted by hand, not checked: {said}" if machine.unchecked else said,
        steps(report),
        bullets(details),
        price,
        machine=machine,
    )


def steps(report: Report) -> list[str]:
    """The numbered steps under their heading; they do not count as lines of a text."""
    return ["**Test:**", *(f"{n}. {say(step, 90)}" for n, step in enumerate(report.test, 1))]


def late(machine: ReportLine) -> str:
    return lay(
        "A result came after this ticket had gone on without it. It is kept; nothing is changed.",
        machine=machine,
    )
