"""The tracker's rules in their order, one transaction a call, whoever calls.

A write is looked at in this order: what it says (limits), its key (a repetition gets the first
answer), whether the ticket is there, its conditions, the caller's role, what it would do.
Roles come after conditions: who acts on an old view of a ticket is told so first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from colony.core import behalf
from colony.core.codec import from_json, to_json
from colony.core.records import HostRecord, SessionRecord
from colony.core.ticket import (
    History,
    Me,
    NewTicket,
    ProjectInfo,
    Ref,
    Role,
    Ticket,
)
from colony.errors import Forbidden, Invalid, NotFound
from colony.tracker import ledger as book
from colony.tracker import limits, roles
from colony.tracker.ledger import Derive, Ledger
from colony.tracker.protocol import ANY, Conflict, Created, Guard, Written
from colony.tracker.reader import need_project, need_ticket
from colony.tracker.records import limits as record_limits
from colony.tracker.records import owner
from colony.tracker.roles import Actor
from colony.tracker.serving import ServedReader
from colony.tracker.sql import answers, history, people, records, tickets
from colony.tracker.sql.engine import Engine, Transaction
from colony.tracker.sql.history import Stamp
from colony.tracker.writes import Membership, Move, TicketWrite, path_of, storable, storable_new

AnswerT = TypeVar("AnswerT", Written, Created, ProjectInfo)


@dataclass(frozen=True, slots=True)
class Call:
    """A write as its caller names it. `body` is what is compared when the key comes again."""

    me: Me
    path: str
    key: str
    body: object

    def asked(self) -> answers.Asked:
        body = json.dumps(to_json(self.body), sort_keys=True).encode()
        digest = hashlib.sha256(body).hexdigest()
        return answers.Asked(self.me.user_id, self.path, limits.key(self.key), digest)


class Service(ServedReader):
    """All reads, and all writes of one user each.

    `me` is always somebody whom `sign_in` or a token gave. `clock` gives milliseconds UTC.
    """

    def __init__(self, engine: Engine, clock: Callable[[], int], derive: Derive) -> None:
        super().__init__(engine, clock)
        self._derive = derive

    def sign_in(self, me: Me) -> Me:
        """The user of this name, made on first use; `me.user_id` is not looked at.

        Forbidden where a person comes under a machine's name, or the other way round.
        """
        name = limits.user(me.user)
        with self._engine.reading() as db:
            known = people.user(db, name)
        if known is None or (me.owner and not me.machine and not known.owner):
            with self._writing(me) as ledger:
                known = book.make_user(ledger, name)
        if known.machine != me.machine:
            kind = "a machine" if known.machine else "a person"
            raise Forbidden(f"{name} is {kind} in this tracker: use another name")
        return Me(known.name, known.id, known.machine, known.owner)

    def create(self, me: Me, new: NewTicket, *, key: str) -> Created:
        new = storable_new(new)
        if new.source.startswith("colony") and not me.machine:
            raise Invalid("source: what begins with colony is taken from machines only")

        def make(ledger: Ledger) -> Created:
            db = ledger.db
            same = tickets.with_source(db, new.project, new.source) if new.source else None
            if same is not None:
                return Created(need_ticket(db, same), fresh=False)
            if not people.has_project(db, new.project):
                book.make_project(ledger, new.project)
            actor = _actor(db, me, new.project)
            roles.check_first_state(actor, new.state, has_parent=new.parent is not None)
            return Created(need_ticket(db, book.make_ticket(ledger, new)), fresh=True)

        return self._once(Call(me, "tickets", key, new), Created, make)

    def write(
        self, me: Me, ref: Ref, write: TicketWrite, *, key: str, guard: Guard = ANY
    ) -> Written | Conflict:
        limits.need_possible(ref)
        write = storable(write)

        def make(ledger: Ledger) -> Written:
            ticket = need_ticket(ledger.db, ref)
            _check_guard(guard, ticket)
            actor = _actor(ledger.db, me, ref.project)
            if isinstance(write, Move) and write.on_behalf is not None:
                _check_behalf(ledger.db, actor, ticket, write)
            else:
                held = ticket.state == "pending"
                held = held and not history.state_set_by_machine(ledger.db, ref)
                roles.check_write(actor, write, ticket.state, held_by_person=held)
            event = book.apply(ledger, ticket, write)
            return Written(event, event or ticket.last_event)

        try:
            return self._once(Call(me, path_of(ref, write), key, write), Written, make)
        except _Stale as stale:
            return stale.conflict

    def add_project(self, me: Me, name: str, *, key: str) -> ProjectInfo:
        """A project that is there already is answered as it is."""
        limits.project(name)

        def make(ledger: Ledger) -> ProjectInfo:
            if not people.has_project(ledger.db, name):
                book.make_project(ledger, name)
            return ProjectInfo(name, people.members(ledger.db, name))

        return self._once(Call(me, "projects", key, name), ProjectInfo, make)

    def set_member(
        self, me: Me, project: str, user: str, role: Role | None, *, key: str
    ) -> ProjectInfo:
        """A user that is not there yet is made, as a person."""
        membership = Membership(limits.user(user), role)
        limits.role(role)

        def make(ledger: Ledger) -> ProjectInfo:
            need_project(ledger.db, project)
            roles.check_admin(_actor(ledger.db, me, project))
            book.set_member(ledger, project, membership)
            return ProjectInfo(project, people.members(ledger.db, project))

        return self._once(
            Call(me, f"projects/{project}/members", key, membership), ProjectInfo, make
        )

    def put_session(self, me: Me, record: SessionRecord) -> SessionRecord:
        """The record as it is kept. NotFound: no such ticket. Forbidden: another machine's."""
        roles.check_machine(me)
        record = record_limits.session(record)
        with self._writing(me) as ledger:
            need_ticket(ledger.db, record.ref)
            owner.check(ledger.db, me, record.id, record.ref)
            records.put_session(ledger.db, record, ledger.stamp)
        return replace(record, updated_ms=ledger.stamp.at_ms)

    def put_tail(self, me: Me, session: str, text: str) -> None:
        """NotFound: no such session was told of. Forbidden: it is another machine's."""
        roles.check_machine(me)
        with self._writing(me) as ledger:
            row = records.owned(ledger.db, session)
            if row is None:
                raise NotFound(f"there is no session {session[:40]!a}")
            owner.check(ledger.db, me, session, row.ref)
            records.put_tail(ledger.db, session, record_limits.tail(text))

    def put_host(self, me: Me, record: HostRecord) -> HostRecord:
        roles.check_machine(me)
        record = record_limits.host(record)
        with self._writing(me) as ledger:
            records.put_host(ledger.db, record, ledger.stamp.at_ms)
        return replace(record, seen_ms=ledger.stamp.at_ms)

    @contextmanager
    def _writing(self, me: Me) -> Iterator[Ledger]:
        with self._engine.writing() as db:
            yield Ledger(db, Stamp(me, self._clock()), self._derive)

    def _once(self, call: Call, kind: type[AnswerT], make: Callable[[Ledger], AnswerT]) -> AnswerT:
        """The first answer to this key, in one transaction with what it tells of."""
        asked = call.asked()
        with self._writing(call.me) as ledger:
            db, at_ms = ledger.db, ledger.stamp.at_ms
            answers.forget(db, at_ms)
            earlier = answers.earlier(db, asked)
            if earlier is None:
                answer = make(ledger)
                answers.keep(db, asked, json.dumps(to_json(answer)), at_ms)
                return answer
        body, text = earlier
        if body != asked.body:
            raise Invalid("Idempotency-Key: it was used before, for something else")
        return from_json(kind, json.loads(text))


class _Stale(Exception):
    """A condition no longer holds; raised so that the transaction is rolled back."""

    def __init__(self, conflict: Conflict) -> None:
        super().__init__()
        self.conflict = conflict


def _check_guard(guard: Guard, ticket: Ticket) -> None:
    state_holds = guard.state is None or guard.state == ticket.state
    event_holds = guard.event is None or guard.event == ticket.last_event
    if not (state_holds and event_holds):
        raise _Stale(Conflict(ticket.state, ticket.last_event, ticket.lease))


def _actor(db: Transaction, me: Me, project: str) -> Actor:
    return Actor(me, roles.role_of(me, people.role(db, project, me.user_id)), project)


def _check_behalf(db: Transaction, actor: Actor, ticket: Ticket, move: Move) -> None:
    assert move.on_behalf is not None
    roles.check_machine(actor.me)
    seen = History(ticket, history.of(db, ticket.ref))
    admins = people.admins(db, ticket.ref.project)
    why = behalf.why_not(seen, move.on_behalf, move.state, admins)
    if why:
        raise Forbidden(f"onBehalf: {why}")
    if move.state not in behalf.ALLOWED:
        roles.check_write(actor, move, ticket.state, held_by_person=False)
