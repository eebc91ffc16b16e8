"""Colony's side of a `BareTracker`: the edge for such servers, one process for each call."""

from __future__ import annotations

from colony.tracker.http.client import Http, Surroundings
from colony.tracker.http.dialect import dialect_of
from colony.tracker.http.foreign import Foreign, Side
from tests.fakes.bare_tracker import BareTracker
from tests.fakes.pretended import HandClock, HandToken

OWN = frozenset({"colony", *(f"m{at}" for at in range(10))})


def http_to(server: BareTracker, user: str, around: Surroundings | None = None) -> Http:
    hand = HandClock()
    token = HandToken(server.token(user))
    return Http(
        server.url,
        token=token,
        user_agent="colony/test",
        around=around or Surroundings(hand, lambda: 0.5, hand.pause),
    )


def foreign_to(
    server: BareTracker,
    user: str = "colony",
    *,
    machine: bool = True,
    own: frozenset[str] = OWN,
    creator: str = "",
    around: Surroundings | None = None,
) -> Foreign:
    """A process of this user's. `creator`: whose token it has besides."""
    http = http_to(server, user, around)
    dialect = dialect_of(http.get("/api/projects").value, own)
    by = http_to(server, creator, around) if creator else None
    side = Side(user, machine, frozenset(server.creators), by)
    return Foreign(http, dialect, side, server.clock)
