"""Open a tracker on a server: ask what the server can, and take the edge that fits."""

from __future__ import annotations

from dataclasses import dataclass

from colony.tracker.http.client import PATIENT, Http, Patience, Surroundings, Token
from colony.tracker.http.dialect import Dialect, dialect_of
from colony.tracker.http.edge import HttpTracker
from colony.tracker.http.foreign import Foreign, Side
from colony.tracker.http.reads import judged
from colony.tracker.http.veil import Veil
from colony.tracker.protocol import Tracker
from colony.tracker.wire import read as wire


@dataclass(frozen=True, slots=True)
class Party:
    """Who asks, and what is to be known of a server that cannot tell it by itself."""

    name: str
    machine: bool
    own_users: frozenset[str] = frozenset()
    """Colony's own names there, former ones too."""
    creator_names: frozenset[str] = frozenset()
    """Who may accept, where projects tell no members."""
    creator: Token | None = None
    """A creator's token, where the server knows no `on behalf`."""


def open_http(
    url: str,
    *,
    token: Token,
    user_agent: str,
    around: Surroundings,
    party: Party,
    patience: Patience = PATIENT,
) -> Tracker:
    """The tracker at `url`. NoAnswer, NotAccepted: it cannot be asked."""
    veil = Veil()

    def http_of(whose: Token) -> Http:
        return Http(
            url, token=whose, user_agent=user_agent, around=around, veil=veil, patience=patience
        )

    http = http_of(token)
    try:
        dialect = dialect_at(http, party.own_users)
        if dialect.features is not None and dialect.is_whole:
            return HttpTracker(http, dialect.features, around.clock.wall_ms)
        by = None if party.creator is None else http_of(party.creator)
        side = Side(party.name, party.machine, party.creator_names, by)
        return Foreign(http, dialect, side, around.clock.wall_ms)
    except BaseException:
        http.close()
        raise


def dialect_at(http: Http, own_users: frozenset[str]) -> Dialect:
    """What the server at the other end speaks."""
    asked = "GET /api/projects"
    value = http.get("/api/projects").value
    with judged(asked):
        return dialect_of(dict(wire.fields(value, "the answer").values), own_users)
