"""How what somebody wrote is heard in a brief: as an order, a record, or information."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from colony.core.people import People, is_creator, may_order
from colony.core.ticket import Event, Ticket

Voice = Literal["creator", "member", "machine", "stranger"]


def voice_of(who: Event | Ticket, people: People) -> Voice:
    """The voice of an event's author, or of a ticket's opener."""
    if who.machine:
        return "machine"
    if is_creator(who, people):
        return "creator"
    return "member" if may_order(who, people) else "stranger"


def any_stranger(written: Iterable[Event | Ticket], people: People) -> bool:
    """Are words of a stranger among these? Without members nobody can be told from one: no."""
    return people.has_members and any(
        voice_of(one, people) == "stranger" for one in written if _has_words(one)
    )


def _has_words(one: Event | Ticket) -> bool:
    return isinstance(one, Ticket) or bool(one.text.strip()) or one.kind == "edit"
