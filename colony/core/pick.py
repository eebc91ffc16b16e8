"""What is next: the ticket to work on, what comes after it, and why the others wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from colony.core.eligible import COUNTED, Ready, Waits, judge
from colony.core.rank import rank
from colony.core.survey import Survey
from colony.core.ticket import Ref, State, Ticket


@dataclass(frozen=True, slots=True)
class Eligible:
    ticket: Ticket
    ready: Ready


@dataclass(frozen=True, slots=True)
class Waiting:
    ticket: Ticket
    waits: Waits


@dataclass(frozen=True, slots=True)
class Unready:
    """A project with tickets that wait for a person to set it up: worth one question."""

    project: str
    kind: Literal["no file", "no concept"]
    tickets: tuple[Ref, ...]


@dataclass(frozen=True, slots=True)
class Next:
    """The answer of one survey."""

    eligible: tuple[Eligible, ...]
    """In the order in which they will be worked."""
    waiting: tuple[Waiting, ...]
    """Whose reason is worth a line, in the same order."""
    counts: Mapping[State, int]
    """Tickets by state, all of them; states without one are left out."""
    unready: tuple[Unready, ...]

    @property
    def chosen(self) -> Eligible | None:
        return self.eligible[0] if self.eligible else None


def pick(survey: Survey) -> Next:
    """Judge every ticket once; no history is read for one whose row decides."""
    eligible = []
    waiting = []
    for ticket in sorted(survey.tickets, key=rank):
        said = judge(ticket, survey)
        if isinstance(said, Ready):
            eligible.append(Eligible(ticket, said))
        elif said.code not in COUNTED:
            waiting.append(Waiting(ticket, said))
    counts = Counter(ticket.state for ticket in survey.tickets)
    return Next(tuple(eligible), tuple(waiting), dict(counts), _unready(waiting))


def _unready(waiting: Iterable[Waiting]) -> tuple[Unready, ...]:
    found: dict[tuple[str, Literal["no file", "no concept"]], list[Ref]] = {}
    for one in waiting:
        code = one.waits.code
        if code in ("no file", "no concept"):
            found.setdefault((one.ticket.ref.project, code), []).append(one.ticket.ref)
    return tuple(
        Unready(project, kind, tuple(refs)) for (project, kind), refs in sorted(found.items())
    )
