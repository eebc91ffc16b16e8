"""Which events can change what a ticket's row keeps of its history: its lease and its priority.

`lease.view_of` and `keywords.priority_of` give the same for a history with and without the others,
so that a write to a ticket of thousands of comments need not read them all.
"""

from __future__ import annotations

from colony.core.keywords import Keyword, keyword_of
from colony.core.markers import marker_of
from colony.core.ticket import Event


def weighs(event: Event) -> bool:
    """False only where the event changes neither, whatever stands before and after it."""
    match event.kind:
        case "created" | "state":
            return True
        case "comment" if event.machine:
            return marker_of(event) is not None
        case "comment":
            said = keyword_of(event)
            return isinstance(said, Keyword) and said.word == "prio"
        case _:
            return False
