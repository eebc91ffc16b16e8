"""On whose behalf a machine moves a ticket: what a creator's comment asks for.

A machine may not accept, send back, or take a ticket that a person holds. It may where it names
the comment of a creator that asks for just that, and where nobody moved the ticket since, nor did
a creator ask for something else.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from colony.core.keywords import Keyword, Word, keyword_of
from colony.core.relations import is_question
from colony.core.ticket import Event, History, State

_ASKED: Final[dict[Word, State]] = {
    "hold": "pending",
    "resume": "open",
    "confirm": "done",
    "reject": "reopened",
}
ALLOWED: Final[frozenset[State]] = frozenset({"done", "reopened"})
"""States that a machine reaches on somebody's behalf from any other. To the rest it goes from
where it might go by itself, and from what a person held."""


def asked_state(event: Event, history: History) -> State | None:
    """The state that a person's comment asks for; None where it asks for none.

    On a pending question whatever is no keyword is the answer, and asks for `done`.
    """
    if event.kind != "comment" or event.machine or not event.text.strip():
        return None
    ticket = history.ticket
    waits = ticket.state == "pending" and is_question(ticket)
    match keyword_of(event):
        case None:
            return "done" if waits else None
        case Keyword(word="answer"):
            return "done" if waits else None
        case Keyword(word):
            return _ASKED.get(word)
        case _:
            return None


def why_not(history: History, comment: int, wanted: State, admins: Collection[str]) -> str | None:
    """Why `comment` does not allow a move to `wanted`; None where it does. `admins`: user ids."""
    event = next((each for each in history.events if each.id == comment), None)
    if event is None:
        return f"event {comment} is none of this ticket's"
    if event.machine or event.user_id not in admins:
        return f"event {comment} is not by an admin of the project"
    if asked_state(event, history) != wanted:
        return f"event {comment} does not ask for {wanted}"
    moves = [each.id for each in history.events if each.kind in ("created", "state")]
    if moves and moves[-1] > comment:
        return f"the ticket was moved after event {comment}"
    for later in history.events:
        if later.id > comment and later.user_id in admins:
            asks = asked_state(later, history)
            if asks not in (None, wanted):
                return f"event {later.id} asks for {asks} since"
    return None
