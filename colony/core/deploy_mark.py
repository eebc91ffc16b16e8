"""The deploy mark: a creator's line that lets a session's worker reach the live site (seed 002).

It counts in the opening text of a ticket that a creator opened, and in a creator's comment; nobody
else's words, and no machine's, open that door.
"""

from __future__ import annotations

import re
from typing import Final

from colony.core.people import People, is_creator
from colony.core.ticket import Event, History

_MARK: Final = re.compile(r"^[ \t]{0,3}colony-deploy:[ \t]*yes[ \t]*$", re.MULTILINE)


def marked_for_deploy(history: History, people: People) -> bool:
    """A line of its own says `colony-deploy: yes`, and a creator wrote it."""
    return any(_MARK.search(event.text) and is_creator(event, people) for event in _texts(history))


def _texts(history: History) -> tuple[Event, ...]:
    return tuple(event for event in history.events if event.kind in ("created", "comment"))
