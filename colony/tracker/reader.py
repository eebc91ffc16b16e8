"""Reads over the store: one transaction each, fetched whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from typing import Final

from colony.core.records import HostRecord, SessionRecord
from colony.core.ticket import (
    STATES,
    FeedEvent,
    History,
    Me,
    ProjectInfo,
    Ref,
    Role,
    State,
    Ticket,
)
from colony.errors import Invalid, NotFound
from colony.tracker import limits
from colony.tracker.pages import Counts, Page, Wanted, page_of
from colony.tracker.reads import Changes
from colony.tracker.roles import role_of
from colony.tracker.sql import history, people, records, tickets, tokens
from colony.tracker.sql.engine import Engine, Transaction, Watch

PAGE_MAX: Final = 10_000
"""Events in one answer of the feed."""

FEATURES: Final = frozenset(
    {"relations", "markdown", "feed", "expect", "idempotency", "me", "onBehalf", "sessions"}
)


class Reader:
    """What the store holds, for everybody alike. `clock` gives milliseconds UTC."""

    features: Final = FEATURES

    def __init__(self, engine: Engine, clock: Callable[[], int]) -> None:
        self._engine = engine
        self._clock = clock

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
        _check_states(states)
        since = None if since_ms is None else limits.integer(since_ms)
        with self._engine.reading() as db:
            if project is not None:
                need_project(db, project)
            return tickets.some(db, project, states, since)

    def page(self, wanted: Wanted, *, known: Callable[[str], bool]) -> Page:
        """A part of the rows, and the store's version that they are of, in one transaction.

        `known`: whether the caller has the answer of that version; then no row is read.
        NotFound: no such project.
        """
        _check_states(wanted.states)
        with self._engine.reading() as db:
            version = history.version(db)
            if wanted.project is not None:
                need_project(db, wanted.project)
            if known(version):
                return Page(version)
            return page_of(db, wanted, version)

    def ticket(self, ref: Ref) -> History:
        with self._engine.reading() as db:
            return History(need_ticket(db, ref), history.of(db, ref))

    def changes(self, after: int, limit: int = 1000) -> Changes:
        wanted = max(1, min(limit, PAGE_MAX))
        with self._engine.reading() as db:
            events = history.after(db, limits.integer(after), wanted)
            full = len(events) == wanted
            return Changes(events, events[-1].event.id if full else history.last(db))

    def event(self, event: int) -> FeedEvent:
        """NotFound: there is none of this id."""
        with self._engine.reading() as db:
            for found in history.after(db, limits.integer(event) - 1, 1):
                if found.event.id == event:
                    return found
        raise NotFound(f"there is no event {event}")

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

    def roles(self, me: Me) -> dict[str, Role]:
        """The user's role in each project where it has one, whatever gives it."""
        with self._engine.reading() as db:
            given = tokens.roles(db, me.user_id)
            held = {name: role_of(me, given.get(name)) for name in people.project_names(db)}
        return {name: role for name, role in held.items() if role is not None}

    def version(self) -> str:
        """Changes with every change of what is shown, and differs between stores that went their
        own ways: `<store>-<last event>`."""
        with self._engine.reading() as db:
            return history.version(db)

    def schema(self) -> int:
        """The number of the store's schema."""
        with self._engine.reading() as db:
            return history.schema(db)

    def counts(self) -> Counts:
        """What the tracker holds, in numbers."""
        with self._engine.reading() as db:
            states: dict[State, int] = dict.fromkeys(STATES, 0)
            for _, state, count in tickets.counted(db):
                states[state] += count
            return Counts(states, history.last(db), records.running(db))

    def watch(self) -> Watch:
        """A look at whether other processes have written."""
        return self._engine.watch()

    def sessions(
        self, project: str | None = None, number: int | None = None, *, running: bool = False
    ) -> tuple[SessionRecord, ...]:
        if project == "" or (number is not None and number < 1):
            return ()
        wanted = None if number is None else limits.integer(number)
        with self._engine.reading() as db:
            return records.sessions(db, project, wanted, running=running)

    def session(self, session: str) -> SessionRecord:
        with self._engine.reading() as db:
            found = records.session(db, session)
        if found is None:
            raise NotFound(f"there is no session {session[:40]!a}")
        return found

    def tail(self, session: str) -> str:
        with self._engine.reading() as db:
            return records.tail(db, session)

    def hosts(self) -> tuple[HostRecord, ...]:
        with self._engine.reading() as db:
            return records.hosts(db)


def _check_states(states: Collection[State] | None) -> None:
    if states is not None and not set(states) <= set(STATES):
        raise Invalid("state: no such state")


def need_ticket(db: Transaction, ref: Ref) -> Ticket:
    if not limits.may_exist(ref):
        raise NotFound("no such ticket")
    ticket = tickets.one(db, ref)
    if ticket is None:
        raise NotFound(f"there is no ticket {ref}")
    return ticket


def need_project(db: Transaction, name: str) -> None:
    if not limits.is_project(name) or not people.has_project(db, name):
        raise NotFound(f"there is no project {name[:64]!a}")
