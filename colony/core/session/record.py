"""A session as its host tells the tracker of it: the facts as a row that anybody can read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from colony.core.lines import Json
from colony.core.records import SessionRecord
from colony.core.session.facts import Facts
from colony.core.session.steps import phase_of

RESTS: Final = "rests"
"""The step of a session that no process works on: told last, by the one that leaves it."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What the row holds that the facts do not: it lies in files, or in the part that runs."""

    account: str = ""
    """Which login the agent uses, in words that hold no secret."""
    report: Json = None
    """`report.json`; None: there is none that is valid."""
    verdict: Json = None
    last_tool: str = ""
    rests: bool = False
    """No process works on it any more, and it has not ended."""


def record_of(facts: Facts, beside: Beside) -> SessionRecord:
    """The row of a session. Its cost is that of the parts that have ended."""
    running = next((part.kind for part in facts.parts if part.ended is None), "")
    return SessionRecord(
        id=facts.session,
        ref=facts.ticket,
        host=facts.host,
        phase=phase_of(facts),
        account=beside.account,
        token=facts.lease.token if facts.lease else None,
        step=RESTS if beside.rests else running,
        started_ms=facts.started_ms,
        ended_ms=facts.ended_ms,
        cost_usd=facts.cost_usd,
        last_tool=beside.last_tool,
        outcome=str(facts.outcome) if facts.outcome else "",
        report=beside.report,
        verdict=beside.verdict,
    )
