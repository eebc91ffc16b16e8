"""The state words of older trackers, both ways, by the key (word, is it a question).

| older | a ticket's | a question's |
|---|---|---|
| open, in progress | open, progress | open, progress |
| awaiting creator | review | pending |
| answered | review | pending |
| on hold | pending | pending |
| confirmed, rejected | done, reopened | done, reopened |

`answered` is what an older tracker makes of `awaiting creator` when a creator comments: the ticket
still waits for the same person. Nothing there means `canceled`. A question is never in review, so
each state that can be written comes back as it was, but for that one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from colony.core.ticket import State, is_state
from colony.errors import Invalid

NEW_WORD: Final[State] = "review"
"""The word that every tracker with today's words has, and no older one."""

_READ: Final[Mapping[str, State]] = MappingProxyType(
    {
        "open": "open",
        "in progress": "progress",
        "awaiting creator": "review",
        "answered": "review",
        "on hold": "pending",
        "confirmed": "done",
        "rejected": "reopened",
    }
)
_WRITE: Final[Mapping[State, str]] = MappingProxyType(
    {
        "open": "open",
        "progress": "in progress",
        "review": "awaiting creator",
        "pending": "on hold",
        "done": "confirmed",
        "reopened": "rejected",
    }
)
_WAITS: Final = "awaiting creator"


def are_old(words: Collection[str]) -> bool:
    """Whether a server that lists these words for its states speaks the older ones. One that lists
    none is that old."""
    return NEW_WORD not in words


def read_state(word: str, *, question: bool) -> State | None:
    """Today's state for a word of either kind; None for a word that is no state anywhere."""
    if is_state(word):
        return word
    state = _READ.get(word)
    return "pending" if question and state == "review" else state


def old_word(state: State, *, question: bool) -> str:
    """The older word to write. Invalid: there is none."""
    if question and state == "pending":
        return _WAITS
    word = _WRITE.get(state)
    if word is None:
        raise Invalid(f"state: this tracker is an older one and knows no {state}")
    return word


def old_words(state: State) -> frozenset[str]:
    """Every older word that reads as this state, of whatever ticket."""
    both = (True, False)
    return frozenset(
        word for word in _READ if state in [read_state(word, question=each) for each in both]
    )
