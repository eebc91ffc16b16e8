"""Who is who in a project: its creators, and whose words are orders. Never a machine.

On a tracker with members people are known by their user ids; an event without one (an older
server) is matched by display name. On a tracker without members the configured creator names are
all there is, matched exactly.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Literal

from colony.core.ticket import Event, ProjectInfo, Role, Ticket

Intake = Literal["members", "all"]
"""Whose tickets are work at once: those of people who may order, or everybody's."""

STRANGER_SUFFIX: Final = ":stranger"
"""End of the source of a ticket that Colony filed while its brief held a stranger's words."""


@dataclass(frozen=True, slots=True)
class People:
    """The persons of one project. `admins` and `editors` are user ids, the others display names."""

    admins: frozenset[str] = frozenset()
    editors: frozenset[str] = frozenset()
    admin_names: frozenset[str] = frozenset()
    editor_names: frozenset[str] = frozenset()
    has_members: bool = True
    """False: the tracker knows no members; `admin_names` are the configured creators."""


NOBODY: Final = People()


def people_of(info: ProjectInfo | None, creator_names: Collection[str]) -> People:
    """The people of a project; None or no members: a tracker that has none."""
    if info is None or not info.members:
        return People(admin_names=frozenset(creator_names), has_members=False)

    def ids(role: Role) -> frozenset[str]:
        return frozenset(one.user_id for one in info.members if one.role == role and one.user_id)

    def names(role: Role) -> frozenset[str]:
        return frozenset(one.user for one in info.members if one.role == role and one.user)

    return People(ids("admin"), ids("edit"), names("admin"), names("edit"))


def is_creator(who: Event | Ticket, people: People) -> bool:
    """True for the author of an event, or the opener of a ticket, who may accept and reject."""
    return _is_one_of(who, people, people.admins, people.admin_names)


def may_order(who: Event | Ticket, people: People) -> bool:
    """True where the author's text is an instruction: admins and editors."""
    return is_creator(who, people) or _is_one_of(who, people, people.editors, people.editor_names)


def _is_one_of(
    who: Event | Ticket, people: People, ids: frozenset[str], names: frozenset[str]
) -> bool:
    if who.machine:
        return False
    if people.has_members and who.user_id:
        return who.user_id in ids
    return who.author in names


def needs_accept(ticket: Ticket, people: People, intake: Intake) -> bool:
    """True where the ticket is work only after `/accept` by somebody who may order.

    What Colony filed by itself is work, unless its source says that a stranger's words were in
    the brief it came from. Without members nobody could be told from a stranger: all are let in.
    """
    if intake == "all" or not people.has_members:
        return False
    if ticket.machine:
        return ticket.source.endswith(STRANGER_SUFFIX)
    return not may_order(ticket, people)
