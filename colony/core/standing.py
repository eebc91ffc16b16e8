"""Where a session stands with its ticket: is the lease still its own?"""

from __future__ import annotations

from typing import Literal

from colony.core.lease import is_mine
from colony.core.markers import LeaseExpired, LeaseLine, marker_of
from colony.core.ticket import History

Standing = Literal["mine", "moved", "taken"]
"""`moved`: a person changed the state and nobody else took the ticket. `taken`: the lease expired,
or another session holds or held it since."""


def standing_of(history: History, session: str, token: int) -> Standing:
    """Read from the history alone; `token` is the id of the event that took the lease."""
    if is_mine(history.ticket.state, history.events, session):
        return "mine"
    for event in history.events:
        if event.id <= token:
            continue
        marker = marker_of(event)
        if isinstance(marker, LeaseLine) and marker.session != session:
            return "taken"
        if isinstance(marker, LeaseExpired) and marker.session == session:
            return "taken"
    return "moved"
