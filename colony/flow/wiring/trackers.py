"""Wiring for the tracker: the settings say which one, and who is asking."""

from __future__ import annotations

from typing import Final

from colony.config import Settings
from colony.core.keywords import priority_of
from colony.core.lease import view_of
from colony.core.ticket import Me
from colony.flow.wiring.readers import need_embedded
from colony.host.clock import SystemClock
from colony.tracker.embedded import open_tracker as open_embedded
from colony.tracker.ledger import Derive
from colony.tracker.protocol import Tracker

DERIVE: Final = Derive(view_of, priority_of)
"""What rows keep of their histories, by Colony's rules."""


def open_tracker(settings: Settings, *, as_person: bool, create: bool) -> Tracker:
    """The tracker, for the person at this shell (an owner) or for Colony itself (a machine).

    Without `create` a database that is not there is Unreachable.
    """
    need_embedded(settings)
    tracker = settings.tracker
    name = tracker.person if as_person else tracker.user
    me = Me(user=name, user_id="", machine=not as_person, owner=as_person)
    return open_embedded(
        tracker.url,
        me=me,
        clock=SystemClock().wall_ms,
        derive=DERIVE,
        create=create,
    )
