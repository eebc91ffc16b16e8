"""Reads over the store: one transaction each, fetched whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from typing import Final

from colony.core.ticket import (
    History,
    ProjectInfo,
    Ref,
    State,
    Ticket,
)
from colony.errors import NotFound
from colony.tracker import limits
from colony.tracker.reads import PAGE_MAX, Changes
from colony.tracker.sql import history, people, tickets
from colony.tracker.sql.engine import DataVersion, Engine, Transaction

FEATURES: Final = frozenset(
    {"relations", "markdown", "feed", "expect", "idempotency", "me", "onBehalf", "sessions"}
)


class Reader:
    """What the store holds, for everybody alike. `clock` gives milliseconds UTC."""

    features: Final = FEATURES

    def __init__(self, engine: Engine, clock: Callable[[], int]) -> None:
        self._engine = engine
        self._clock = clock
        self._end: tuple[DataVersion, int] | None = None
        """Where the feed ended, at a version of the data."""

    def now_ms(self) -> int:
        return self._clock()

    def close(self) -> None:
        self._engine.close()

    def tickets(
        self,
        project: str | None = None,
        states: Collection[State] | None = None,
        since_ms: int | None = None,
    ) -> tuple[Ticket, ...]:
        """NotFound: no such project."""
        limits.states(states)
        since = None if since_ms is None else limits.integer(since_ms)
        with self._engine.reading() as db:
            if project is not None:
                need_project(db, project)
            return tickets.some(db, project, states, since)

    def ticket(self, ref: Ref) -> History:
        with self._engine.reading() as db:
            return History(need_ticket(db, ref), history.of(db, ref))

    def changes(self, after: int, limit: int = 1000) -> Changes:
        """Where nothing was written since the feed was read to its end, no table is read."""
        wanted = max(1, min(limit, PAGE_MAX))
        version, end = self._engine.data_version(), self._end
        if end is not None and end[0] == version and after >= end[1]:
            return Changes((), end[1])
        with self._engine.reading() as db:
            events = history.after(db, limits.integer(after), wanted)
            if len(events) == wanted:
                return Changes(events, events[-1].event.id)
            last = history.last(db)
        self._end = (version, last)
        return Changes(events, last)

    def projects(self) -> dict[str, dict[State, int]]:
        counts: dict[str, dict[State, int]] = defaultdict(dict)
        with self._engine.reading() as db:
            for project, state, count in tickets.counted(db):
                counts[project][state] = count
            return {name: counts[name] for name in people.project_names(db)}

    def project(self, name: str) -> ProjectInfo:
        with self._engine.reading() as db:
            need_project(db, name)
            return ProjectInfo(name, people.members(db, name))


def need_ticket(db: Transaction, ref: Ref) -> Ticket:
    limits.need_possible(ref)
    ticket = tickets.one(db, ref)
    if ticket is None:
        raise NotFound(f"there is no ticket {ref}")
    return ticket


def need_project(db: Transaction, name: str) -> None:
    if not limits.is_project(name) or not people.has_project(db, name):
        raise limits.no_project(name)
