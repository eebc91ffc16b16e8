"""Records over the store: one transaction each, fetched whole."""

from __future__ import annotations

from colony.core.records import HostRecord, SessionRecord
from colony.errors import NotFound
from colony.tracker import limits
from colony.tracker.reader import Reader
from colony.tracker.sql import records


class RecordReader(Reader):
    """What the store holds, with what hosts told."""

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
