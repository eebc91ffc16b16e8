"""What can be done to a ticket, as values: the same ones from every edge."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from colony.core.ticket import NewTicket, Ref, Role, State, is_state
from colony.errors import Invalid
from colony.tracker import limits


@dataclass(frozen=True, slots=True)
class Comment:
    text: str


@dataclass(frozen=True, slots=True)
class Move:
    state: State
    text: str = ""
    on_behalf: int | None = None
    """Id of the person's comment that asks for it."""


@dataclass(frozen=True, slots=True)
class Edit:
    """None: stays as it is."""

    subject: str | None = None
    summary: str | None = None


@dataclass(frozen=True, slots=True)
class Block:
    by: Ref
    remove: bool = False


@dataclass(frozen=True, slots=True)
class SetParent:
    parent: Ref | None


TicketWrite = Comment | Move | Edit | Block | SetParent


@dataclass(frozen=True, slots=True)
class Membership:
    """What a user becomes in a project; None: no member."""

    user: str
    role: Role | None


def path_of(ref: Ref, write: TicketWrite) -> str:
    """Where the write goes: keys of one path know nothing of another's."""
    here = f"tickets/{ref.project}/{ref.number}"
    match write:
        case Comment():
            return f"{here}/comments"
        case Move():
            return f"{here}/state"
        case Edit():
            return here
        case Block():
            return f"{here}/blocked-by"
        case SetParent():
            return f"{here}/parent"
        case _:
            assert_never(write)


def storable(write: TicketWrite) -> TicketWrite:
    """The write with its texts made storable, or refused."""
    match write:
        case Comment(text):
            if not text.strip():
                raise Invalid("text: empty")
            return Comment(limits.text(text, "text"))
        case Move(state, text, on_behalf):
            return Move(_state(state), limits.text(text, "text"), on_behalf)
        case Edit(subject, summary):
            return Edit(
                None if subject is None else limits.subject(subject),
                None if summary is None else limits.text(summary, "summary"),
            )
        case Block(by, _):
            _relative(by, "blocked-by")
        case SetParent(parent):
            if parent is not None:
                _relative(parent, "parent")
        case _:
            assert_never(write)
    return write


def storable_new(new: NewTicket) -> NewTicket:
    """The new ticket with its texts made storable, or refused."""
    if new.parent is not None:
        _relative(new.parent, "parent")
    return replace(
        new,
        project=limits.project(new.project),
        subject=limits.subject(new.subject),
        summary=limits.text(new.summary, "summary"),
        source=limits.source(new.source),
        state=_state(new.state),
    )


def unknown(ref: Ref, field: str) -> Invalid:
    """A relative that is not there."""
    return Invalid(f"{field}: there is no ticket {ref}")


def _relative(ref: Ref, field: str) -> None:
    if not limits.may_exist(ref):
        raise Invalid(f"{field}: no such ticket")


def _state(word: str) -> State:
    if not is_state(word):
        raise Invalid(f"state: {word[:40]!a} is no state")
    return word
