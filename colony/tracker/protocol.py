"""The tracker as the rest of Colony sees it: one protocol, several edges.

Every write takes an idempotency `key`: the same key and body again answers the first answer
and writes nothing. Writes to a ticket take a `Guard`; where it no longer holds the answer is
`Conflict` and nothing was written. Everything else that can go wrong is an error of
`colony.errors`: NotFound, Forbidden, Invalid, TooLarge, Busy, NoAnswer (the write may or may
not have happened: repeat the same bytes with the same key).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from colony.core.records import HostRecord, SessionRecord
from colony.core.ticket import LeaseView, Me, NewTicket, ProjectInfo, Ref, Role, State, Ticket
from colony.tracker.records.reads import RecordReads


@dataclass(frozen=True, slots=True)
class Guard:
    """What must still be true when the write happens."""

    state: State | None = None
    event: int | None = None
    """The last event id of the ticket, as the caller knows it."""


ANY = Guard()


@dataclass(frozen=True, slots=True)
class Written:
    """The write happened (now, or earlier with the same key)."""

    event: int
    """Id of the event that it made; 0 where it had nothing to change."""
    last_event: int
    """The ticket's last event after the write."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """The guard no longer held; nothing was written."""

    state: State
    last_event: int
    lease: LeaseView | None


@dataclass(frozen=True, slots=True)
class Created:
    ticket: Ticket
    fresh: bool
    """False: this source was there already, nothing was written."""


class Tracker(RecordReads, Protocol):
    """Reads and writes of one user."""

    def me(self) -> Me: ...

    def create(self, new: NewTicket, *, key: str) -> Created:
        """Its project is made with it where there is none."""
        ...

    def comment(
        self, ref: Ref, text: str, *, key: str, guard: Guard = ANY
    ) -> Written | Conflict: ...
    def move(
        self,
        ref: Ref,
        state: State,
        *,
        key: str,
        text: str = "",
        guard: Guard = ANY,
        on_behalf: int | None = None,
    ) -> Written | Conflict:
        """To the state that stands already: `text` becomes a comment; no text, no change.

        `on_behalf`: the id of a person's comment that asks for this move (`core.behalf`), where a
        machine may not make it by itself. Forbidden where that comment does not ask for it.
        """
        ...

    def edit(
        self,
        ref: Ref,
        *,
        key: str,
        subject: str | None = None,
        summary: str | None = None,
        guard: Guard = ANY,
    ) -> Written | Conflict: ...
    def block(
        self, ref: Ref, by: Ref, *, key: str, remove: bool = False, guard: Guard = ANY
    ) -> Written | Conflict: ...
    def set_parent(
        self, ref: Ref, parent: Ref | None, *, key: str, guard: Guard = ANY
    ) -> Written | Conflict: ...

    def add_project(self, name: str, *, key: str) -> ProjectInfo:
        """One that is there already is answered as it is."""
        ...

    def set_member(self, project: str, user: str, role: Role | None, *, key: str) -> ProjectInfo:
        """`role` None removes the member. A user that is not there yet is made, as a person."""
        ...

    def put_session(self, record: SessionRecord) -> None:
        """Tell of a session; machines only. No key: the newest word counts. One quick try, so
        that nobody who holds a lease waits for it; lost where `sessions` is no feature."""
        ...

    def put_tail(self, session: str, text: str) -> None:
        """The end of what a running session says; as `put_session`."""
        ...

    def put_host(self, record: HostRecord) -> None: ...
