"""The comment of a result that is only part of the way."""

from __future__ import annotations

from collections.abc import Sequence

from colony.core.markers import Report as ReportLine
from colony.core.report import Report
from colony.core.texts.layout import bullets, lay, say


def result(report: Report, details: Sequence[str], price: str, machine: ReportLine) -> str:
    """No steps to try: there is nothing to try yet."""
    by_hand = "Posted by hand, not checked. " if machine.unchecked else ""
    return lay(
        f"{by_hand}Half done, the next worker goes on from here: {say(report.result, 120)}",
        bullets(details),
        price,
        machine=machine,
    )
