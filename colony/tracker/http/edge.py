"""The HTTP edge: a tracker on a server that has every feature of this version.

Texts are made storable before they are sent, by the rules of the service: what is refused here is
refused there, and with the same words.
"""

from __future__ import annotations

from typing import Final

from colony.core.lines import Json
from colony.core.records import HostRecord, SessionRecord
from colony.core.ticket import NewTicket, ProjectInfo, Ref, Role
from colony.tracker import limits
from colony.tracker.http.answer import Answer
from colony.tracker.http.client import QUICK, Method
from colony.tracker.http.reads import HttpReads, judged, segment
from colony.tracker.protocol import Conflict, Created, Guard, Written
from colony.tracker.records import limits as record_limits
from colony.tracker.ticket_writes import TicketWrites
from colony.tracker.wire import asks
from colony.tracker.wire import read as wire
from colony.tracker.writes import (
    Block,
    Edit,
    SetParent,
    TicketWrite,
    path_of,
    storable,
    storable_new,
)

NEEDED: Final = frozenset(
    {"relations", "feed", "expect", "idempotency", "me", "onBehalf", "sessions"}
)
"""What a server must have for this edge."""


class HttpTracker(HttpReads, TicketWrites):
    """A `Tracker` of the user whose token is sent. Every write carries its key, and is repeated
    with it while no answer comes."""

    def create(self, new: NewTicket, *, key: str) -> Created:
        answer = self._send("POST", "/api/tickets", asks.new_ticket(storable_new(new)), key)
        with judged("POST /api/tickets"):
            ticket = wire.ticket(wire.fields(answer.value, "the answer"))
        return Created(ticket, fresh=answer.status == 201)

    def add_project(self, name: str, *, key: str) -> ProjectInfo:
        answer = self._send("POST", "/api/projects", {"name": limits.project(name)}, key)
        return _project(answer, "POST /api/projects")

    def set_member(self, project: str, user: str, role: Role | None, *, key: str) -> ProjectInfo:
        user = limits.user(user)
        limits.role(role)
        if not limits.is_project(project):
            raise limits.no_project(project)
        path = f"/api/projects/{project}/members"
        if role is None:
            answer = self._send("DELETE", f"{path}/{segment(user)}", None, key)
        else:
            answer = self._send("POST", path, {"user": user, "role": role}, key)
        return _project(answer, path)

    def put_session(self, record: SessionRecord) -> None:
        record = record_limits.session(record)
        self._tell(f"/api/sessions/{segment(record.id)}", asks.session(record))

    def put_tail(self, session: str, text: str) -> None:
        self._tell(f"/api/sessions/{segment(session)}/tail", {"text": record_limits.tail(text)})

    def put_host(self, record: HostRecord) -> None:
        record = record_limits.host(record)
        self._tell(f"/api/hosts/{segment(record.name)}", asks.host(record))

    def _write(self, ref: Ref, write: TicketWrite, key: str, guard: Guard) -> Written | Conflict:
        limits.need_possible(ref)
        write = storable(write)
        path = f"/api/{path_of(ref, write)}"
        answer = self._send(_method(write), path, asks.body_of(write, guard), key)
        with judged(path):
            found = wire.fields(answer.value, "the answer")
            return wire.conflict(found) if answer.status == 409 else wire.written(found)

    def _send(self, method: Method, path: str, body: Json, key: str) -> Answer:
        return self._http.send(method, path, body, key=limits.key(key), repeatable=True)

    def _tell(self, path: str, body: Json) -> None:
        """One try: whoever tells holds a lease, and the next word will be newer."""
        self._http.send("PUT", path, body, repeatable=True, patience=QUICK)


def _method(write: TicketWrite) -> Method:
    match write:
        case Edit():
            return "PATCH"
        case Block(remove=True) | SetParent(parent=None):
            return "DELETE"
        case _:
            return "POST"


def _project(answer: Answer, asked: str) -> ProjectInfo:
    with judged(asked):
        return wire.project(wire.fields(answer.value, "the answer"))
