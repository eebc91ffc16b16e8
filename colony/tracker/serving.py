"""What a server reads beside a `Tracker`'s reads: pages, one event, roles, figures, a watch."""

from __future__ import annotations

from collections.abc import Callable

from colony.core.ticket import STATES, FeedEvent, Me, Role, State
from colony.errors import NotFound
from colony.tracker import limits
from colony.tracker.pages import Counts, Page, Selection, page_of
from colony.tracker.reader import need_project
from colony.tracker.records.reader import RecordReader
from colony.tracker.roles import role_of
from colony.tracker.sql import history, people, records, tickets, tokens
from colony.tracker.sql.engine import Watch


class ServedReader(RecordReader):
    """The store, as it is shown to many."""

    def page(self, wanted: Selection, *, known: Callable[[str], bool]) -> Page:
        """A part of the rows, and the store's version that they are of, in one transaction.

        `known`: whether the caller has the answer of that version; then no row is read.
        NotFound: no such project.
        """
        limits.states(wanted.states)
        with self._engine.reading() as db:
            version = history.version(db)
            if wanted.project is not None:
                need_project(db, wanted.project)
            if known(version):
                return Page(version)
            return page_of(db, wanted, version)

    def event(self, event: int) -> FeedEvent:
        """NotFound: there is none of this id."""
        with self._engine.reading() as db:
            for found in history.after(db, limits.integer(event) - 1, 1):
                if found.event.id == event:
                    return found
        raise NotFound(f"there is no event {event}")

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
