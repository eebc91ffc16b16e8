"""The comment of a result that a person can try only after the next deploy."""

from __future__ import annotations

from collections.abc import Sequence

from colony.core.markers import Report as ReportLine
from colony.core.texts.layout import bullets, lay


def built(details: Sequence[str], price: str, machine: ReportLine) -> str:
    """The result and its steps are told when it is live."""
    line = "Built. The next deploy brings it to the live site."
    return lay(
        f"Posted by hand, not checked. {line}" if machine.unchecked else line,
        bullets(details),
        price,
        machine=machine,
    )
