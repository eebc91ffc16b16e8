"""Who may do what: the roles of a project, and what no machine may do at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, assert_never

from colony.core.ticket import CLOSED, Me, Role, State
from colony.errors import Forbidden
from colony.tracker.writes import Block, Comment, Edit, Move, SetParent, TicketWrite

CREATORS_ONLY: Final[frozenset[State]] = frozenset({"done", "reopened", "canceled"})
"""States that a person decides."""
_USERS: Final[frozenset[tuple[State, State]]] = frozenset({("open", "review"), ("review", "open")})


@dataclass(frozen=True, slots=True)
class Actor:
    """A user with the role that holds in one project."""

    me: Me
    role: Role | None
    project: str

    def __str__(self) -> str:
        kind = "machine" if self.me.machine else "person"
        role = f"role {self.role}" if self.role else "no role"
        return f"{self.me.user} ({kind}, {role} in {self.project})"


def role_of(me: Me, given: Role | None) -> Role | None:
    """Owners are admins everywhere, machines may edit everywhere and never more."""
    if me.machine:
        return "edit"
    return "admin" if me.owner else given


def check_write(actor: Actor, write: TicketWrite, state: State, *, held_by_person: bool) -> None:
    """Forbidden where the write to a ticket in `state` is not the actor's to make.

    `held_by_person`: the ticket is pending, and a person put it there.
    """
    match write:
        case Comment():
            return
        case Move(wanted):
            if wanted != state:
                _check_move(actor, state, wanted)
                if held_by_person and actor.me.machine:
                    raise Forbidden(f"{actor} may not take a ticket that a person held")
        case Edit() | Block() | SetParent():
            if actor.role not in ("admin", "edit"):
                raise Forbidden(f"{actor} may not edit")
        case _:
            assert_never(write)


def check_first_state(actor: Actor, state: State, *, has_parent: bool) -> None:
    """Anybody opens tickets; more than that needs the role that would do it later."""
    if state != "open":
        _check_move(actor, "open", state)
    if has_parent and actor.role not in ("admin", "edit"):
        raise Forbidden(f"{actor} may not set a parent")


def check_admin(actor: Actor) -> None:
    if actor.role != "admin":
        raise Forbidden(f"{actor} may not change members")


def check_machine(me: Me) -> None:
    """Records of sessions and hosts, and moves on behalf of somebody, are Colony's own."""
    if not me.machine:
        raise Forbidden(f"{me.user} is a person: only a machine may do that")


def _check_move(actor: Actor, before: State, after: State) -> None:
    if actor.role == "admin":
        return
    if actor.role == "edit":
        if after in CREATORS_ONLY or before in CLOSED:
            raise Forbidden(f"{actor} may not move a ticket from {before} to {after}")
        return
    if actor.role != "use" or (before, after) not in _USERS:
        raise Forbidden(f"{actor} may not move a ticket from {before} to {after}")
