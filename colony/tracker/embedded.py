"""The embedded edge: the tracker in the calling process, on a database file or in memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import Final

from colony.core.records import HostRecord, SessionRecord
from colony.core.ticket import (
    History,
    Me,
    NewTicket,
    ProjectInfo,
    Ref,
    Role,
    State,
    Ticket,
)
from colony.tracker.ledger import Derive
from colony.tracker.places import TIMEOUT_S, engine_at
from colony.tracker.protocol import Conflict, Created, Guard, Written
from colony.tracker.reader import FEATURES
from colony.tracker.reads import Changes
from colony.tracker.service import Service
from colony.tracker.ticket_writes import TicketWrites
from colony.tracker.writes import TicketWrite


def open_service(
    url: str,
    *,
    clock: Callable[[], int],
    derive: Derive,
    create: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> Service:
    """The service on `sqlite:///relative`, `sqlite:////absolute` or `sqlite:///:memory:`.

    A database in memory belongs to this service alone: threads and users share the service.
    Unreachable, Damaged, Busy: see `sql.files.open_file`. UsageProblem: no such address.
    """
    return Service(engine_at(url, create=create, timeout_s=timeout_s), clock, derive)


def open_tracker(
    url: str,
    *,
    me: Me,
    clock: Callable[[], int],
    derive: Derive,
    create: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> Embedded:
    """One user's tracker. Who may make the database (`create`) is written down at once: an owner
    must be known before a machine makes a project."""
    service = open_service(url, clock=clock, derive=derive, create=create, timeout_s=timeout_s)
    tracker = Embedded(service, me)
    try:
        if create:
            tracker.me()
    except BaseException:
        service.close()
        raise
    return tracker


class Embedded(TicketWrites):
    """A `Tracker` of one user. `identity.user_id` is not looked at: the name decides, and its row
    is made by the first write or the first `me`."""

    features: Final = FEATURES

    def __init__(self, service: Service, identity: Me) -> None:
        self._service = service
        self._sign_in = functools.cache(functools.partial(service.sign_in, identity))

    def me(self) -> Me:
        return self._sign_in()

    def now_ms(self) -> int:
        return self._service.now_ms()

    def close(self) -> None:
        self._service.close()

    def tickets(
        self,
        project: str | None = None,
        states: Collection[State] | None = None,
        since_ms: int | None = None,
    ) -> tuple[Ticket, ...]:
        return self._service.tickets(project, states, since_ms)

    def ticket(self, ref: Ref) -> History:
        return self._service.ticket(ref)

    def changes(self, after: int, limit: int = 1000) -> Changes:
        return self._service.changes(after, limit)

    def projects(self) -> dict[str, dict[State, int]]:
        return self._service.projects()

    def project(self, name: str) -> ProjectInfo:
        return self._service.project(name)

    def sessions(
        self, project: str | None = None, number: int | None = None, *, running: bool = False
    ) -> tuple[SessionRecord, ...]:
        return self._service.sessions(project, number, running=running)

    def session(self, session: str) -> SessionRecord:
        return self._service.session(session)

    def tail(self, session: str) -> str:
        return self._service.tail(session)

    def hosts(self) -> tuple[HostRecord, ...]:
        return self._service.hosts()

    def create(self, new: NewTicket, *, key: str) -> Created:
        return self._service.create(self.me(), new, key=key)

    def add_project(self, name: str, *, key: str) -> ProjectInfo:
        return self._service.add_project(self.me(), name, key=key)

    def set_member(self, project: str, user: str, role: Role | None, *, key: str) -> ProjectInfo:
        return self._service.set_member(self.me(), project, user, role, key=key)

    def put_session(self, record: SessionRecord) -> None:
        self._service.put_session(self.me(), record)

    def put_tail(self, session: str, text: str) -> None:
        self._service.put_tail(self.me(), session, text)

    def put_host(self, record: HostRecord) -> None:
        self._service.put_host(self.me(), record)

    def _write(self, ref: Ref, write: TicketWrite, key: str, guard: Guard) -> Written | Conflict:
        return self._service.write(self.me(), ref, write, key=key, guard=guard)
