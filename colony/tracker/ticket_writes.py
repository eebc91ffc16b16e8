"""The writes of a `Tracker` to one ticket: the same on every edge, each sent in its own way."""

from __future__ import annotations

from abc import ABC, abstractmethod

from colony.core.ticket import Ref, State
from colony.tracker.protocol import ANY, Conflict, Guard, Written
from colony.tracker.writes import Block, Comment, Edit, Move, SetParent, TicketWrite


class TicketWrites(ABC):
    """Makes values of them. `_write` is the edge's own."""

    @abstractmethod
    def _write(self, ref: Ref, write: TicketWrite, key: str, guard: Guard) -> Written | Conflict:
        """Done once under its key, while the guard holds."""

    def comment(self, ref: Ref, text: str, *, key: str, guard: Guard = ANY) -> Written | Conflict:
        return self._write(ref, Comment(text), key, guard)

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
        return self._write(ref, Move(state, text, on_behalf), key, guard)

    def edit(
        self,
        ref: Ref,
        *,
        key: str,
        subject: str | None = None,
        summary: str | None = None,
        guard: Guard = ANY,
    ) -> Written | Conflict:
        return self._write(ref, Edit(subject, summary), key, guard)

    def block(
        self, ref: Ref, by: Ref, *, key: str, remove: bool = False, guard: Guard = ANY
    ) -> Written | Conflict:
        return self._write(ref, Block(by, remove), key, guard)

    def set_parent(
        self, ref: Ref, parent: Ref | None, *, key: str, guard: Guard = ANY
    ) -> Written | Conflict:
        return self._write(ref, SetParent(parent), key, guard)
