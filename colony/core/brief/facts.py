"""What a brief is made from: everything it says, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from colony.core.brief.voices import any_stranger
from colony.core.people import People
from colony.core.project import Project
from colony.core.rework import Rejection
from colony.core.ticket import Event, History, Ref, Ticket

DOC_MAX: Final = 16 * 1024
"""A `CLAUDE.md` or `AGENTS.md` of so many bytes or more is named in the brief, not quoted."""


@dataclass(frozen=True, slots=True)
class Places:
    """Resolved paths as the worker sees them; empty where there is none. A brief for another host
    holds that host's placeholders instead."""

    dev: str
    concept: str
    code: str = ""
    live: str = ""
    ports: str = ""
    """The session's own range, `8700-8709`."""
    branch: str = ""
    """Of the tree of its own in which it works; empty: it works in the project's own folder."""
    into: str = ""
    """The branch of the project from which that one was cut."""


@dataclass(frozen=True, slots=True)
class Budget:
    max_turns: int
    timeout_s: int
    max_chars: int = 200_000
    """Code points of the whole brief."""
    max_usd: float | None = None
    """US dollars; None: no limit."""

    @property
    def report_before(self) -> int:
        """The step before which the report must be written."""
        return max(1, self.max_turns - min(10, self.max_turns // 3))


@dataclass(frozen=True, slots=True)
class Texts:
    """Files of the operator that go into briefs as they are."""

    rules: str
    conventions: str = ""
    depends: Mapping[str, str] = field(default_factory=dict)
    """Name of a project -> what each project that depends on it is told."""


@dataclass(frozen=True, slots=True)
class AgentDoc:
    """`CLAUDE.md` or `AGENTS.md` of the dev folder."""

    name: str
    text: str | None
    """None: too large, so it is named only."""


@dataclass(frozen=True, slots=True)
class Sibling:
    """Another ticket of the project."""

    ticket: Ticket
    answers: tuple[Event, ...] = ()
    """Of an answered question: its events; the creators' comments among them are shown."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """A project that this one depends on."""

    name: str
    tickets: tuple[Ticket, ...]
    folder: str = ""
    """Its folder, read-only for the worker; empty where it is not on this host."""
    people: People | None = None
    """The people of that project; None: whose tickets these are is not known."""


@dataclass(frozen=True, slots=True)
class Previous:
    """The last session on this ticket, as far as this host knows it."""

    session: str
    host: str
    ended: str
    """How it ended, in our words."""
    result: str = ""
    complete: bool | None = None
    left_open: tuple[str, ...] = ()
    work_copies: tuple[str, ...] = ()
    report: str = ""
    """Path of its report; empty where there is none here."""
    folder: str = ""
    """Path of its run folder; empty: it lies on `host`, or was removed."""
    here: bool = False
    """It ran on this host."""
    sessions: int = 1
    """How many have held the ticket so far."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """What creators decided before, as the decision files hold it."""

    everywhere: str
    here: str
    files: tuple[str, ...] = ()
    """Paths to search before a question is asked."""
    partial: bool = False
    """The texts are excerpts of long files."""


@dataclass(frozen=True, slots=True)
class BriefFacts:
    history: History
    project: Project
    places: Places
    session: str
    now_ms: int
    budget: Budget
    texts: Texts
    report_schema: str
    """JSON Schema of the report, as text."""
    people: People
    """Whose words are orders; what anybody else wrote is shown, and named as a stranger's."""
    url: str = ""
    accepted: bool = False
    """A member took the ticket of somebody else on, or the operator takes everybody's."""
    relations_served: bool = True
    known_projects: tuple[str, ...] = ()
    ui_conventions: str = ""
    """Path of the creator's markup rules; named to projects with `ui`."""
    docs: tuple[AgentDoc, ...] = ()
    siblings: tuple[Sibling, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    rejection: Rejection | None = None
    news: tuple[Event, ...] = ()
    """Comments that came after the last brief."""
    previous: Previous | None = None
    decisions: Decisions | None = None

    @property
    def ref(self) -> Ref:
        return self.history.ticket.ref

    @property
    def rest(self) -> str:
        """Where the worker's people read what is left out."""
        return f"`colony ticket show {self.ref.project} {self.ref.number}` shows them"

    @property
    def strangers(self) -> bool:
        """The brief holds words of a stranger: what its report files waits for `/accept`."""
        said = [*self.history.events, *self.news]
        said += self.rejection.comments if self.rejection else ()
        rows = [self.history.ticket, *(sibling.ticket for sibling in self.siblings)]
        return any_stranger([*said, *rows], self.people) or any(
            any_stranger(one.tickets, one.people) for one in self.dependencies if one.people
        )
