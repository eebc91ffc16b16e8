"""A tracker that lacks some of what Colony's own has: made good for here, feature by feature.

Every write is preceded by a read: do its conditions hold, and has it happened already? Between
that read and the write somebody else may write; nothing here can close that gap
(`docs/foreign-trackers.md`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote

from colony.core.lines import Json
from colony.core.texts import moved
from colony.core.ticket import (
    History,
    Me,
    NewTicket,
    ProjectInfo,
    Ref,
    Role,
    Ticket,
)
from colony.errors import ColonyError, Forbidden, Invalid, NoAnswer, NotFound
from colony.tracker import limits
from colony.tracker.http.client import Http
from colony.tracker.http.dialect import Dialect
from colony.tracker.http.foreign_reads import ForeignReads
from colony.tracker.http.outcome import conflict, holds, made, need_own_name, written
from colony.tracker.http.phrasing import (
    Body,
    check_behalf,
    conditions,
    is_so,
    may_have_made,
    need_relations,
    phrase,
)
from colony.tracker.http.reads import judged
from colony.tracker.http.recall import happened
from colony.tracker.http.remembered import Remembered
from colony.tracker.protocol import ANY, Conflict, Created, Guard, Written
from colony.tracker.ticket_writes import TicketWrites
from colony.tracker.wire import read
from colony.tracker.writes import (
    Move,
    SetParent,
    TicketWrite,
    path_of,
    storable,
    storable_new,
    unknown,
)

SOON_MS: Final = 2000
"""How far the clocks behind two times of one server may lie apart."""


@dataclass(frozen=True, slots=True)
class Side:
    """Who writes, and who may accept where the server knows no `on behalf`."""

    name: str
    machine: bool
    creator_names: frozenset[str]
    """Who may accept, where projects tell no members."""
    creator: Http | None = None
    """The server, with a creator's token."""


class Foreign(ForeignReads, TicketWrites):
    """A `Tracker` of one user on such a server."""

    def __init__(
        self, http: Http, dialect: Dialect, side: Side, wall_ms: Callable[[], int]
    ) -> None:
        super().__init__(http, dialect, side.creator_names, wall_ms)
        self._side = side
        self._tickets: Remembered[NewTicket, Created] = Remembered()
        self._writes: Remembered[TicketWrite, Written] = Remembered()

    def me(self) -> Me:
        if self._dialect.has("me"):
            value = self._ask("/api/me")
            with judged("/api/me"):
                return read.me(read.fields(value, "me"))
        return Me(self._side.name, "", machine=self._side.machine, owner=False)

    def close(self) -> None:
        super().close()
        if self._side.creator is not None:
            self._side.creator.close()

    def create(self, new: NewTicket, *, key: str) -> Created:
        new, key = storable_new(new), limits.key(key)
        if new.source.startswith("colony") and not self._side.machine:
            raise Invalid("source: what begins with colony is taken from machines only")
        self._dialect.word(new.state, new.subject, new.source)
        self._need_parent(new)
        tried = self._tickets.find("tickets", key, new)
        if tried is not None and tried.answer is not None:
            return tried.answer
        found = None if tried is None else self._made(new, tried.since)
        created = self._post_new(new, key) if found is None else Created(found, fresh=True)
        if created.fresh or created.ticket.machine:
            self._finish(created.ticket.ref, new, key)
        created = replace(created, ticket=self.ticket(created.ticket.ref).ticket)
        self._tickets.answered("tickets", key, new, created)
        return created

    def add_project(self, name: str, *, key: str) -> ProjectInfo:
        if limits.project(name) not in self._names():
            self._http.send(
                "POST", "/api/projects", {"name": name}, key=self._key(key), may_be_empty=True
            )
        return self.project(name)

    def set_member(self, project: str, user: str, role: Role | None, *, key: str) -> ProjectInfo:
        user = limits.user(user)
        limits.role(role)
        self._need_project(project)
        path, key = f"/api/projects/{project}/members", self._key(key)
        if role is None:
            path = f"{path}/{quote(user, safe='')}"
            self._http.send("DELETE", path, key=key, repeatable=True, may_be_empty=True)
        else:
            body: Json = {"user": user, "role": role}
            self._http.send("POST", path, body, key=key, repeatable=True, may_be_empty=True)
        self._people.pop(project, None)
        return self.project(project)

    # --- new tickets ----------------------------------------------------------------------

    def _post_new(self, new: NewTicket, key: str) -> Created:
        """What every server takes; state and parent follow (`_finish`)."""
        body: Body = {"project": new.project, "subject": new.subject, "summary": new.summary}
        if new.source:
            body["source"] = new.source
        tried = self._tickets.find("tickets", key, new)
        self._tickets.trying("tickets", key, new, self.now_ms())
        # The same source again makes nothing; without one a second try could make a second ticket.
        repeatable = bool(new.source) or self._dialect.has("idempotency")
        try:
            answer = self._http.send(
                "POST", "/api/tickets", body, key=self._key(key), repeatable=repeatable
            )
        except NoAnswer:
            raise
        except ColonyError:
            self._tickets.refused("tickets", key)
            raise
        ticket = self._hear(answer.value, "ticket").ticket
        ours = tried is not None and self._is_ours(ticket, tried.since)
        return Created(ticket, fresh=answer.status == 201 or ours)

    def _made(self, new: NewTicket, since_ms: int) -> Ticket | None:
        """The ticket that a try without an answer made, where no source tells."""
        if new.source:
            return None
        for each in self._rows({"project": new.project}):
            same = (each.ticket.subject, each.ticket.summary) == (new.subject, new.summary)
            if same and self._is_ours(each.ticket, since_ms):
                return each.ticket
        return None

    def _is_ours(self, ticket: Ticket, since_ms: int) -> bool:
        return ticket.machine == self._side.machine and ticket.created_ms >= since_ms - SOON_MS

    def _finish(self, ref: Ref, new: NewTicket, key: str) -> None:
        """Its first state and its parent. Nobody's move is ever undone."""
        history = self.ticket(ref)
        wants = history.ticket.state != new.state
        if wants and not any(each.kind == "state" for each in history.events):
            text = moved.asks() if new.state == "pending" else ""
            self._write(ref, Move(new.state, text), f"{key}:state", ANY)
        lonely = new.parent is not None and history.ticket.parent is None
        if lonely and "relations" in self.features:
            self._write(ref, SetParent(new.parent), f"{key}:parent", ANY)

    def _need_parent(self, new: NewTicket) -> None:
        """Invalid: there is no such parent. Asked before the ticket is made."""
        if new.parent is not None:
            try:
                self.ticket(new.parent)
            except NotFound:
                raise unknown(new.parent, "parent") from None

    # --- writes to a ticket ---------------------------------------------------------------

    def _write(self, ref: Ref, write: TicketWrite, key: str, guard: Guard) -> Written | Conflict:
        limits.need_possible(ref)
        write, path, key = storable(write), path_of(ref, write), limits.key(key)
        tried = self._writes.find(path, key, write)
        if tried is not None and tried.answer is not None:
            return tried.answer
        history = self.ticket(ref)
        since = None if tried is None else tried.since
        answer: Written | Conflict | None = self._done_before(history, write, key, since)
        if answer is None:
            if not holds(guard, history.ticket):
                return conflict(history)
            answer = self._send(history, write, key, guard)
        if isinstance(answer, Written):
            self._writes.answered(path, key, write, answer)
        return answer

    def _done_before(
        self, history: History, write: TicketWrite, key: str, since: int | None
    ) -> Written | None:
        """The answer to a try that happened although nobody heard of it."""
        ticket = history.ticket
        wanted = may_have_made(self._dialect, ticket, write, self._side.machine)
        found = (happened(history.events, each, key, since) for each in wanted)
        event = next((each for each in found if each is not None), None)
        if event is not None:
            return written(event, history)
        if not wanted and since is not None and is_so(ticket, write):
            return Written(ticket.last_event, ticket.last_event)
        return None

    def _send(
        self, history: History, write: TicketWrite, key: str, guard: Guard
    ) -> Written | Conflict:
        ticket = history.ticket
        need_relations(write, self.features)
        if is_so(ticket, write):
            return Written(0, ticket.last_event)
        request = phrase(self._dialect, ticket, write, self._side.machine)
        http = self._http
        if request.by_creator:
            assert isinstance(write, Move)
            http = self._creator_for(history, write)
        path = path_of(ticket.ref, write)
        self._writes.trying(path, key, write, ticket.last_event)
        try:
            answer = http.send(
                request.method,
                request.path,
                {**request.body, **conditions(self._dialect, guard)},
                key=self._key(key),
                repeatable=self._dialect.has("idempotency"),
                may_be_empty=True,
            )
        except NoAnswer:
            raise
        except ColonyError:
            self._writes.refused(path, key)
            after = self.ticket(ticket.ref)
            if holds(guard, after.ticket):
                raise
            return conflict(after)
        after = self.ticket(ticket.ref)
        if answer.status == 409:
            self._writes.refused(path, key)
            return conflict(after)
        need_own_name(request.wanted, after, ticket.last_event)
        return made(request.wanted, after, ticket.last_event)

    def _creator_for(self, history: History, write: Move) -> Http:
        """The server with a creator's token, where a comment of a creator asks for the move."""
        check_behalf(history, write, self._people_of(history.ticket.ref.project))
        if self._side.creator is None:
            raise Forbidden(
                f"this tracker takes {write.state} from a creator alone: COLONY_CREATOR_TOKEN_FILE "
                "must name a file with a creator's token"
            )
        return self._side.creator

    def _key(self, key: str) -> str:
        return limits.key(key) if self._dialect.has("idempotency") else ""
