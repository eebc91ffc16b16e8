"""What each write changes: its rows, its event, and what rows keep of the history.

What events hold: `created` the first summary as text and the first state; `edit` the old and the
new subject and, as text, the summary as it stands now; `link` what was related before and after
(`parent shop#1`, `blocked-by shop#2`); `member` the user's name as text, the role before and
after. So nothing that a ticket ever said is lost. An event lies with the ticket that was
written, not with the relative that it names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from colony.core.ticket import Event, LeaseView, NewTicket, Ref, Ticket
from colony.core.weight import weighs
from colony.errors import Forbidden, Invalid, NotFound
from colony.tracker.sql import history, people, relations, tickets
from colony.tracker.sql.engine import Transaction
from colony.tracker.sql.history import Entry, Stamp
from colony.tracker.writes import (
    Block,
    Comment,
    Edit,
    Membership,
    Move,
    SetParent,
    TicketWrite,
    unknown,
)


@dataclass(frozen=True, slots=True)
class Derive:
    """What a row keeps of its history; `priority` is also given the ids of the project's admins."""

    lease: Callable[[tuple[Event, ...]], LeaseView | None]
    priority: Callable[[tuple[Event, ...], frozenset[str]], int]


@dataclass(frozen=True, slots=True)
class Ledger:
    """One writing transaction of one user."""

    db: Transaction
    stamp: Stamp
    derive: Derive

    def record(self, ref: Ref, entry: Entry) -> int:
        """Add to a ticket's history, with all that follows; the event's id."""
        event = history.add(self.db, self.stamp, ref, entry)
        tickets.touch(self.db, ref, event.id, self.stamp.at_ms)
        if weighs(event):
            refresh(self.db, self.derive, ref, people.admins(self.db, ref.project))
        return event.id

    def refresh_project(self, project: str) -> None:
        """The admins have changed: other words count now."""
        admins = people.admins(self.db, project)
        for ref in tickets.of_project(self.db, project):
            refresh(self.db, self.derive, ref, admins)


def refresh(db: Transaction, derive: Derive, ref: Ref, admins: frozenset[str]) -> None:
    """Write into the row what it keeps of its history."""
    events = history.weighing(db, ref)
    derived = tickets.Derived(derive.priority(events, admins), derive.lease(events))
    tickets.set_derived(db, ref, derived)


# --- tickets -------------------------------------------------------------------------------


def make_ticket(ledger: Ledger, new: NewTicket) -> Ref:
    """The project is there."""
    db = ledger.db
    if new.parent is not None and tickets.one(db, new.parent) is None:
        raise unknown(new.parent, "parent")
    ref = Ref(new.project, people.next_number(db, new.project))
    tickets.add(db, ledger.stamp, ref, new)
    ledger.record(ref, Entry("created", new.summary, after=new.state))
    if new.parent is not None:
        relations.set_parent(db, ref, new.parent)
        ledger.record(ref, Entry("link", after=f"parent {new.parent}"))
    return ref


def apply(ledger: Ledger, ticket: Ticket, write: TicketWrite) -> int:
    """The id of the write's event; 0 where it had nothing to change."""
    match write:
        case Comment(text):
            return ledger.record(ticket.ref, Entry("comment", text))
        case Move():
            return _move(ledger, ticket, write)
        case Edit():
            return _edit(ledger, ticket, write)
        case Block():
            return _block(ledger, ticket.ref, write)
        case SetParent(parent):
            return _set_parent(ledger, ticket, parent)
        case _:
            assert_never(write)


def _move(ledger: Ledger, ticket: Ticket, move: Move) -> int:
    """A state event is always a change: words to a state that stands are a comment."""
    if move.state == ticket.state:
        return ledger.record(ticket.ref, Entry("comment", move.text)) if move.text else 0
    tickets.set_state(ledger.db, ticket.ref, move.state)
    entry = Entry("state", move.text, ticket.state, move.state, move.on_behalf)
    return ledger.record(ticket.ref, entry)


def _edit(ledger: Ledger, ticket: Ticket, edit: Edit) -> int:
    subject = ticket.subject if edit.subject is None else edit.subject
    summary = ticket.summary if edit.summary is None else edit.summary
    if (subject, summary) == (ticket.subject, ticket.summary):
        return 0
    tickets.set_words(ledger.db, ticket.ref, subject, summary)
    return ledger.record(ticket.ref, Entry("edit", summary, ticket.subject, subject))


def _block(ledger: Ledger, ref: Ref, block: Block) -> int:
    db, link = ledger.db, f"blocked-by {block.by}"
    if block.remove:
        if not relations.drop_block(db, ref, block.by):
            return 0
        return ledger.record(ref, Entry("link", before=link))
    if tickets.one(db, block.by) is None:
        raise unknown(block.by, "blocked-by")
    if relations.waits_for(db, block.by, ref):
        raise Invalid(f"blocked-by: {block.by} waits for {ref}, that would be a circle")
    if not relations.add_block(db, ref, block.by):
        return 0
    return ledger.record(ref, Entry("link", after=link))


def _set_parent(ledger: Ledger, ticket: Ticket, parent: Ref | None) -> int:
    db, ref = ledger.db, ticket.ref
    old = ticket.parent.ref if ticket.parent else None
    if parent == old:
        return 0
    if parent is not None:
        if tickets.one(db, parent) is None:
            raise unknown(parent, "parent")
        if relations.descends_from(db, parent, ref):
            raise Invalid(f"parent: {parent} belongs to {ref}, that would be a circle")
    relations.set_parent(db, ref, parent)
    before, after = (f"parent {each}" if each else "" for each in (old, parent))
    return ledger.record(ref, Entry("link", before=before, after=after))


# --- people --------------------------------------------------------------------------------


def make_project(ledger: Ledger, name: str) -> None:
    """Its maker is its admin; where a machine makes it, the owners are."""
    db, me = ledger.db, ledger.stamp.me
    makers = people.owners(db) if me.machine else {me.user_id: me.user}
    if not makers:
        raise Forbidden(
            f"project {name}: a machine cannot make it while the tracker has no owner, "
            "since nobody could accept its results"
        )
    people.add_project(db, name, ledger.stamp.at_ms)
    for user_id, user in makers.items():
        people.set_role(db, name, user_id, "admin")
        history.add(db, ledger.stamp, name, Entry("member", user, after="admin"))


def set_member(ledger: Ledger, project: str, membership: Membership) -> None:
    db, role = ledger.db, membership.role
    user = people.user(db, membership.user)
    if user is None:
        if role is None:
            raise NotFound("no such user")
        user = people.add_user(
            db, membership.user, machine=False, owner=False, at_ms=ledger.stamp.at_ms
        )
    if user.machine and role == "admin":
        raise Invalid("role: a machine is never an admin")
    if user.owner and role != "admin":
        raise Invalid(f"role: {user.name} owns the tracker and is admin in every project")
    before = people.role(db, project, user.id)
    if role == before:
        return
    people.set_role(db, project, user.id, role)
    if not people.admins(db, project):
        raise Invalid(f"role: {project} would have no admin")
    history.add(db, ledger.stamp, project, Entry("member", user.name, before or "", role or ""))
    if "admin" in (role, before):
        ledger.refresh_project(project)


def make_user(ledger: Ledger, name: str) -> people.User:
    """The transaction's own user, or that one become an owner."""
    db, me = ledger.db, ledger.stamp.me
    owner = me.owner and not me.machine
    known = people.user(db, name)
    if known is None:
        known = people.add_user(db, name, machine=me.machine, owner=owner, at_ms=ledger.stamp.at_ms)
    elif owner and not known.owner and not known.machine:
        people.make_owner(db, known.id)
    else:
        return known
    if owner:
        _admin_everywhere(ledger, known)
    return people.User(known.id, known.name, known.machine, known.owner or owner)


def _admin_everywhere(ledger: Ledger, owner: people.User) -> None:
    """What an owner's words weigh has changed in each project: that is an event there."""
    db, stamp = ledger.db, replace(ledger.stamp, me=replace(ledger.stamp.me, user_id=owner.id))
    for project in people.project_names(db):
        before = people.role(db, project, owner.id) or ""
        if before != "admin":
            history.add(db, stamp, project, Entry("member", owner.name, before, "admin"))
        ledger.refresh_project(project)
