"""What one look at the world holds: the facts from which the next ticket is chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from colony.core.budget import was_asked
from colony.core.people import NOBODY, Intake, People, needs_accept
from colony.core.project import Project
from colony.core.relations import is_question, open_questions
from colony.core.ticket import History, Ref, Ticket


@dataclass(frozen=True, slots=True)
class ProjectTrouble:
    """Why a project cannot be worked on, as its registry file (or the lack of it) shows."""

    kind: Literal["no file", "no concept", "broken"]
    text: str
    """One line for a person."""


@dataclass(frozen=True, slots=True)
class Survey:
    """Rows of the tracker and what this host knows of their projects, at one moment."""

    tickets: tuple[Ticket, ...]
    registry: Mapping[str, Project | ProjectTrouble]
    """By project; a project that is not in it has no registry file."""
    host: str
    """This host's name."""
    now_ms: int
    """The tracker's time."""
    histories: Mapping[Ref, History] = field(default_factory=dict)
    """Of the tickets that `needs_history` names; others may be there too."""
    people: Mapping[str, People] = field(default_factory=dict)
    """By project."""
    intake: Intake = "members"
    max_starts: int = 0
    """Sessions that may be started on one ticket within an hour; 0: no limit."""
    max_cost_cents: int = 0
    """US cents that all sessions on one ticket may cost; 0: no limit."""
    max_review: int = 0
    """Results of a project that wait for its creator while nothing new is started; 0: no limit."""
    reviews: Mapping[str, int] = field(default_factory=dict)
    """How many wait so, by project, as `in_review` counts; not known without a limit."""
    folders_missing: frozenset[str] = frozenset()
    """Projects whose dev folder should be on this host and is not."""
    capabilities: frozenset[str] = frozenset()
    """What this host offers to projects that say what they need; small letters."""
    has_relations: bool = True
    """False: the tracker knows no parents and blockers; nothing is blocked."""

    _by_ref: dict[Ref, Ticket] = field(
        default_factory=dict, init=False, repr=False, compare=False, hash=False
    )
    """Made at the first question for one of them."""

    def ticket(self, ref: Ref) -> Ticket | None:
        if not self._by_ref:
            self._by_ref.update((row.ref, row) for row in self.tickets)
        return self._by_ref.get(ref)

    def people_of(self, ticket: Ticket) -> People:
        return self.people.get(ticket.ref.project, NOBODY)


def in_review(tickets: Iterable[Ticket]) -> Mapping[str, int]:
    """Results that wait for their creator, by project. A question is none."""
    return Counter(
        each.ref.project for each in tickets if each.state == "review" and not is_question(each)
    )


def needs_history(
    ticket: Ticket,
    people: People,
    intake: Intake,
    since_ms: int | None = None,
    *,
    capped: bool = False,
) -> bool:
    """True where the row alone cannot say whether the ticket is work.

    A reopened one: has a session been started since? An open one of a stranger: was it accepted?
    One with open questions: did a rejection come after them? One that something happened to after
    `since_ms`: how often was it started? Where its cost is `capped`, one that anything happened to
    since it was opened: what has it cost? So too one that has reached a cap before.
    """
    if is_question(ticket):
        return False
    if ticket.state == "reopened":
        return True
    if ticket.state != "open":
        return False
    fresh = since_ms is not None and max(since_ms, ticket.created_ms) < ticket.updated_ms
    dear = (capped and ticket.created_ms < ticket.updated_ms) or was_asked(ticket)
    return fresh or dear or bool(open_questions(ticket)) or needs_accept(ticket, people, intake)
