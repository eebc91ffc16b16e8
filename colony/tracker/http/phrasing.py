"""A write as the request that a server takes for it, by what that server speaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, assert_never

from colony.core import behalf
from colony.core.lines import Json
from colony.core.people import People, is_creator
from colony.core.ticket import History, Ref, State, Ticket
from colony.errors import Forbidden, Invalid
from colony.tracker.http.client import Method
from colony.tracker.http.dialect import Dialect
from colony.tracker.http.recall import Trace
from colony.tracker.protocol import Guard
from colony.tracker.writes import Block, Comment, Edit, Move, SetParent, TicketWrite

Body = dict[str, Json]
BY_CREATORS: Final[frozenset[State]] = frozenset({"done", "reopened"})
"""States that a server without `on behalf` takes from creators alone."""


@dataclass(frozen=True, slots=True)
class PhrasedWrite:
    method: Method
    path: str
    body: Body
    wanted: Trace | None
    """The event that it makes; None: one that cannot be told from others."""
    by_creator: bool = False
    """Sent with a creator's token."""


def is_so(ticket: Ticket, write: TicketWrite) -> bool:
    """Whether there is nothing left to change."""
    match write:
        case Comment():
            return False
        case Move(state, text):
            return state == ticket.state and not text
        case Edit(subject, summary):
            return subject in (None, ticket.subject) and summary in (None, ticket.summary)
        case Block(by, remove):
            return any(each.ref == by for each in ticket.blocked_by) != remove
        case SetParent(parent):
            return parent == (ticket.parent.ref if ticket.parent else None)
        case _:
            assert_never(write)


def phrase(dialect: Dialect, ticket: Ticket, write: TicketWrite, machine: bool) -> PhrasedWrite:
    """Invalid: the server knows no such thing."""
    path = path_to(ticket.ref)
    match write:
        case Comment(text):
            return _comment(path, text, machine)
        case Move(state, text) if state == ticket.state:
            return _comment(path, text, machine)
        case Move():
            return _move(dialect, ticket, write, machine)
        case Edit(subject, summary):
            body: Body = {"subject": subject, "summary": summary}
            return PhrasedWrite("PATCH", path, _given(body), None)
        case Block(by, remove):
            method: Method = "DELETE" if remove else "POST"
            return PhrasedWrite(method, f"{path}/blocked-by", _ref(by), None)
        case SetParent(parent):
            if parent is None:
                return PhrasedWrite("DELETE", f"{path}/parent", {}, None)
            return PhrasedWrite("POST", f"{path}/parent", _ref(parent), None)
        case _:
            assert_never(write)


def may_have_made(
    dialect: Dialect, ticket: Ticket, write: TicketWrite, machine: bool
) -> tuple[Trace, ...]:
    """The events that an earlier try of this write may have made, the likelier one first."""
    match write:
        case Comment(text):
            return (Trace("comment", "", text, machine),)
        case Move(state, text):
            mine = machine and not needs_creator(dialect, write)
            moved = Trace("state", state, text, mine)
            words = Trace("comment", "", text, machine)
            return (moved, words) if text and state == ticket.state else (moved,)
        case _:
            return ()


def needs_creator(dialect: Dialect, write: TicketWrite) -> bool:
    """Whether a creator's token has to stand in for `on behalf`."""
    if not isinstance(write, Move) or write.on_behalf is None or dialect.has("onBehalf"):
        return False
    return write.state in BY_CREATORS


def check_behalf(history: History, write: Move, people: People) -> None:
    """Forbidden where the comment that a move names does not ask for it. A creator's token could
    do anything: what the server would check is checked here."""
    assert write.on_behalf is not None
    said = next((each for each in history.events if each.id == write.on_behalf), None)
    admins = {said.user_id} if said is not None and is_creator(said, people) else set()
    why = behalf.why_not(history, write.on_behalf, write.state, admins)
    if why:
        raise Forbidden(f"onBehalf: {why}")


def conditions(dialect: Dialect, guard: Guard) -> Body:
    """The guard for a server that looks at it by itself."""
    if not dialect.has("expect"):
        return {}
    body: Body = {"expect": guard.state, "expectEvent": guard.event}
    return _given(body)


def need_relations(write: TicketWrite, features: frozenset[str]) -> None:
    """Invalid: the server serves no relations."""
    field = {Block: "blocked-by", SetParent: "parent"}.get(type(write))
    if field is not None and "relations" not in features:
        raise Invalid(f"{field}: this tracker serves no relations of tickets")


def path_to(ref: Ref) -> str:
    return f"/api/tickets/{ref.project}/{ref.number}"


def _comment(path: str, text: str, machine: bool) -> PhrasedWrite:
    wanted = Trace("comment", "", text, machine)
    return PhrasedWrite("POST", f"{path}/comments", {"text": text}, wanted)


def _move(dialect: Dialect, ticket: Ticket, move: Move, machine: bool) -> PhrasedWrite:
    body: Body = {"state": dialect.word(move.state, ticket.subject, ticket.source)}
    if move.text:
        body["text"] = move.text
    if move.on_behalf is not None and dialect.has("onBehalf"):
        body["onBehalf"] = move.on_behalf
    creator = needs_creator(dialect, move)
    wanted = Trace("state", move.state, move.text, machine and not creator)
    return PhrasedWrite("POST", f"{path_to(ticket.ref)}/state", body, wanted, creator)


def _given(body: Body) -> Body:
    return {name: value for name, value in body.items() if value is not None}


def _ref(ref: Ref) -> Body:
    return {"project": ref.project, "number": ref.number}
