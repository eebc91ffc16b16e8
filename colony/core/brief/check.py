"""What a controller is given: the report, what the worker did, and the brief it had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from colony.core.brief.quote import code, fence, quote
from colony.core.ticket import Ref

REPORT_MAX: Final = 100_000
"""Characters of a report in the controller's prompt."""


@dataclass(frozen=True, slots=True)
class CheckFacts:
    ref: Ref
    session: str
    report: str
    """The report as JSON text."""
    questions: int
    """How many questions it asks."""
    transcript: str
    brief: str
    verdict_schema: str
    """JSON Schema of the verdict, as text."""
    live_url: str = ""
    salvaged: bool = False
    """The report was written afterwards, from the session of a worker that had been stopped."""


def check_values(facts: CheckFacts) -> Mapping[str, str | int | bool]:
    """What `templates/controller.md` is rendered with."""
    return {
        "ref": str(facts.ref),
        "session": facts.session,
        "live_url": code(facts.live_url) if facts.live_url else "",
        "salvaged": facts.salvaged,
        "questions": facts.questions,
        "schema": fence(facts.verdict_schema.strip(), "json"),
        "report": quote(facts.report, REPORT_MAX, "the run folder holds the whole report", "json"),
        "transcript": fence(facts.transcript),
        "brief": fence(facts.brief, "markdown"),
    }
