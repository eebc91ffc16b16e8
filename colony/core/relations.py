"""What a ticket's relatives mean for it: questions, blockers, children.

Relations are data of the tracker; nothing is read out of prose.
"""

from __future__ import annotations

import re
from typing import Final

from colony.core.markers import Handled, marker_of
from colony.core.ticket import History, Ref, Related, Ticket

SPAWN_SOURCE: Final = "colony-spawn:"
_QUESTION_SUBJECT: Final = re.compile(r"\s*Questions?\b")


def is_question(ticket: Ticket | Related) -> bool:
    """True for a question to the creator: one that Colony filed, or a person whose subject begins
    with the word `Question`."""
    source = ticket.source
    if source.startswith("colony") and ":question" in source:
        return True
    return _QUESTION_SUBJECT.match(ticket.subject) is not None


def blockers(ticket: Ticket) -> tuple[Related, ...]:
    """What still blocks the ticket: only `done` frees it, a canceled blocker must be unlinked."""
    return tuple(one for one in ticket.blocked_by if one.state != "done")


def parts_of(ticket: Ticket) -> tuple[Related, ...]:
    """The children that make the ticket a parent: no questions, and no helpers of a worker."""
    return tuple(
        child
        for child in ticket.children
        if not is_question(child) and not child.source.startswith(SPAWN_SOURCE)
    )


def goes_on(history: History, answered: Ref) -> bool:
    """True for a ticket that waits for nothing but the question `answered`, and that Colony itself
    set to `pending`: a `pending` by a person, or by `/hold`, stays until a person moves it.

    What Colony moved for a person's keyword ends in that keyword's machine line.
    """
    ticket = history.ticket
    if ticket.state != "pending" or any(one.ref != answered for one in open_questions(ticket)):
        return False
    moves = [event for event in history.events if event.kind == "state"]
    return bool(moves) and moves[-1].machine and not isinstance(marker_of(moves[-1]), Handled)


def open_questions(ticket: Ticket) -> tuple[Related, ...]:
    """The ticket's questions that are neither answered (`done`) nor refused (`reopened`,
    `canceled`)."""
    return tuple(
        child
        for child in ticket.children
        if is_question(child) and child.state not in ("done", "reopened", "canceled")
    )
