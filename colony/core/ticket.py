"""Tickets as values: what the tracker holds, in Colony's one vocabulary.

Times are integer milliseconds UTC. A ticket cannot save itself: writes go through
`tracker.protocol.Tracker`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeGuard, get_args

State = Literal["open", "progress", "review", "pending", "done", "reopened", "canceled"]
STATES: Final[tuple[State, ...]] = get_args(State)
CLOSED: Final[frozenset[State]] = frozenset({"done", "canceled"})
"""States that a person alone leads out of."""

EventKind = Literal["created", "comment", "state", "edit", "link", "member", "file"]

LeaseKind = Literal[
    "started", "renewed", "resumed", "salvage", "parked", "ready", "queued", "claimed"
]

Role = Literal["admin", "edit", "use"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)

HOST_PATTERN: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
"""The name of a host that Colony runs on."""
NAME_PATTERN: Final = r"[a-z0-9][a-z0-9.-]{0,63}"
"""What a project may be called (registry and tracker alike)."""

SUBJECT_MAX: Final = 300
"""Characters in a subject."""
TEXT_MAX: Final = 256 * 1024
"""Bytes of UTF-8 in a summary, a comment or a state text."""


def is_state(word: str) -> TypeGuard[State]:
    return word in STATES


def is_name(text: str) -> bool:
    """A project may be called so."""
    return re.fullmatch(NAME_PATTERN, text, re.ASCII) is not None


@dataclass(frozen=True, slots=True)
class Ref:
    """The name of a ticket: `project#number`."""

    project: str
    number: int

    def __str__(self) -> str:
        return f"{self.project}#{self.number}"

    def __lt__(self, other: Ref) -> bool:
        return (self.project, self.number) < (other.project, other.number)

    @classmethod
    def parse(cls, text: str) -> Ref | None:
        """`shop#3` as a Ref; None where the text is anything else."""
        found = re.fullmatch(rf"({NAME_PATTERN})#([1-9][0-9]{{0,8}})", text, re.ASCII)
        return cls(found[1], int(found[2])) if found else None


@dataclass(frozen=True, slots=True)
class Related:
    """A ticket as its relatives see it."""

    ref: Ref
    state: State
    subject: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """One entry of a ticket's history. Ids rise over the whole tracker."""

    id: int
    kind: EventKind
    author: str
    user_id: str
    machine: bool
    at_ms: int
    text: str = ""
    before: str = ""
    """A state event's old state; an edit's old subject."""
    after: str = ""
    """A state event's new state (of `created`: the first one); an edit's new subject."""


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """An event of the feed; `ref` is None for events of a project (members)."""

    project: str
    ref: Ref | None
    event: Event


@dataclass(frozen=True, slots=True)
class LeaseView:
    """The lease as a ticket's row shows it; `token` is the id of the event that took it."""

    session: str
    host: str
    kind: LeaseKind
    token: int
    until_ms: int | None
    """None: it does not expire (`ready`, `queued`, `claimed`)."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """A row of the tracker."""

    ref: Ref
    subject: str
    summary: str
    state: State
    author: str
    user_id: str
    machine: bool
    source: str
    created_ms: int
    updated_ms: int
    last_event: int
    version: int
    priority: int = 0
    lease: LeaseView | None = None
    url: str = ""
    parent: Related | None = None
    children: tuple[Related, ...] = ()
    blocked_by: tuple[Related, ...] = ()
    blocks: tuple[Related, ...] = ()

    def related(self) -> Related:
        return Related(self.ref, self.state, self.subject, self.source)


@dataclass(frozen=True, slots=True)
class History:
    """A ticket with its events, oldest first."""

    ticket: Ticket
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class NewTicket:
    """What makes a ticket. `source` names where it came from: the same one again makes nothing."""

    project: str
    subject: str
    summary: str = ""
    source: str = ""
    parent: Ref | None = None
    state: State = "open"


@dataclass(frozen=True, slots=True)
class Member:
    user: str
    user_id: str
    role: Role


@dataclass(frozen=True, slots=True)
class ProjectInfo:
    """A project of the tracker with its members (owners are listed as admins)."""

    name: str
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Me:
    """Who the tracker takes the caller for."""

    user: str
    user_id: str
    machine: bool
    owner: bool
