"""What an agent is told when its own session is taken up again: go on, or only report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from colony.core.brief.history import entries
from colony.core.brief.quote import clean, code, within
from colony.core.endings import Ending
from colony.core.people import People
from colony.core.ports import Range, show_range
from colony.core.ticket import Event, Ref

NEWS_MAX: Final = 50_000
"""Characters of the comments that came meanwhile."""
PROBLEMS_MAX: Final = 40
"""Problems of a refused report that are named."""

WHY: Final[dict[Ending, str]] = {
    Ending.OUT_OF_STEPS: "you have used all your steps",
    Ending.OUT_OF_TIME: "your time is up",
    Ending.STALLED: "nothing was heard from you for too long",
    Ending.NEAR_LIMIT: "the account has nearly used up its limit",
    Ending.NO_REPORT: "you stopped without giving one",
    Ending.BAD_REPORT: "it did not keep to its form",
    Ending.REPORT: "it did not keep to its form",
}
"""Why an agent is asked for its report; anything else: `you were stopped`."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """A session of an agent that goes on with its work."""

    ref: Ref
    session: str
    ports: Range
    news: tuple[Event, ...]
    """Comments that came after the brief, oldest first."""
    people: People


@dataclass(frozen=True, slots=True)
class AskedForReport:
    """A session of an agent that is to report and to do nothing else."""

    kind: Literal["finalize", "fix"]
    ref: Ref
    session: str
    why: Ending
    problems: tuple[str, ...] = ()
    """What was wrong with the report that it gave."""


def resumed_values(facts: Resumed) -> Mapping[str, str]:
    """What `templates/resume.md` is rendered with."""
    rest = f"`colony ticket show {facts.ref.project} {facts.ref.number}` shows them"
    comments = entries(facts.news, facts.people, rest)
    return {
        "ref": str(facts.ref),
        "session": facts.session,
        "ports": show_range(facts.ports),
        "comments": within(comments, NEWS_MAX, rest) if comments else "",
    }


def report_values(facts: AskedForReport) -> Mapping[str, str | list[str] | bool]:
    """What `templates/finalize.md` and `templates/fix.md` are rendered with."""
    shown = facts.problems[:PROBLEMS_MAX]
    more = len(facts.problems) - len(shown)
    problems = [code(clean(" ".join(each.split())).text, 400) for each in shown]
    return {
        "ref": str(facts.ref),
        "session": facts.session,
        "why": WHY.get(facts.why, "you were stopped"),
        "problems": [*problems, f"and {more} more"] if more else problems,
    }
