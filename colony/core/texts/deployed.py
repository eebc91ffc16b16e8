"""The comment of a result that has gone live and can be tried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from colony.core.markers import Deployed
from colony.core.report import Report
from colony.core.texts.layout import bullets, lay, say
from colony.core.texts.report import steps

DETAILS_MAX: Final = 3


def live(report: Report, site: str, details: Sequence[str], machine: Deployed) -> str:
    """`site`: the project's live address; empty where it is not known."""
    where = f" on {say(site, 120)}" if site else ""
    return lay(
        f"Live now{where}: {say(report.result, 120)}",
        steps(report),
        bullets(details[:DETAILS_MAX]),
        machine=machine,
    )
