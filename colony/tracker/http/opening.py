"""Open a tracker on a server: ask what the server can, and take the edge that fits."""

from __future__ import annotations

from colony.errors import Refused
from colony.tracker.http.client import Http, Surroundings, Token
from colony.tracker.http.edge import NEEDED, HttpTracker
from colony.tracker.http.reads import judged
from colony.tracker.wire import read as wire


def open_http(url: str, *, token: Token, user_agent: str, around: Surroundings) -> HttpTracker:
    """The tracker at `url`. NoAnswer, NotAccepted: it cannot be asked; Refused: it is of a kind
    that this version cannot work with."""
    http = Http(url, token=token, user_agent=user_agent, around=around)
    try:
        return edge_for(http, features_of(http), around)
    except BaseException:
        http.close()
        raise


def features_of(http: Http) -> frozenset[str]:
    """What the server says it can; none where it says nothing of that."""
    answer = http.get("/api/projects")
    with judged("GET /api/projects"):
        given = wire.fields(answer.value, "the answer").values.get("features")
    if not isinstance(given, list):
        return frozenset()
    return frozenset(each for each in given if isinstance(each, str))


def edge_for(http: Http, features: frozenset[str], around: Surroundings) -> HttpTracker:
    missing = sorted(NEEDED - features)
    if missing:
        raise Refused(f"the tracker's server lacks {', '.join(missing)}: it needs a newer version")
    return HttpTracker(http, features, around.clock.wall_ms)
