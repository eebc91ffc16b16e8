"""The reads of a tracker: all that a command needs which writes nothing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Protocol

from colony.core.ticket import FeedEvent, History, ProjectInfo, Ref, State, Ticket

PAGE_MAX: Final = 10_000
"""Events in one answer of the feed."""


@dataclass(frozen=True, slots=True)
class Changes:
    events: tuple[FeedEvent, ...]
    last: int
    """What to ask after next time. Smaller than what was asked after: the store was put back from
    an older copy, and the feed must be read from its beginning."""


class Reads(Protocol):
    """Everything is fetched whole. NotFound: no such ticket or project; Busy, NoAnswer, Damaged."""

    @property
    def features(self) -> frozenset[str]: ...
    def now_ms(self) -> int:
        """The tracker's own time."""
        ...

    def tickets(
        self,
        project: str | None = None,
        states: Collection[State] | None = None,
        since_ms: int | None = None,
    ) -> tuple[Ticket, ...]:
        """Rows ordered by (created_ms, project, number); `since_ms` is inclusive on updated_ms."""
        ...

    def ticket(self, ref: Ref) -> History: ...
    def changes(self, after: int, limit: int = 1000) -> Changes: ...
    def projects(self) -> dict[str, dict[State, int]]:
        """Every project, with its number of tickets by state."""
        ...

    def project(self, name: str) -> ProjectInfo: ...

    def close(self) -> None: ...
