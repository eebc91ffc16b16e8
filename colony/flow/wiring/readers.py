"""Wiring for commands that only read the tracker: nobody signs in, nothing is written."""

from __future__ import annotations

from colony.config import Settings
from colony.core.address import EMBEDDED, is_embedded
from colony.errors import UsageProblem
from colony.host.clock import SystemClock
from colony.tracker.places import open_reader
from colony.tracker.reads import Reads


def reader(settings: Settings) -> Reads:
    """The tracker's reads. A database that is not there is Unreachable."""
    need_embedded(settings)
    return open_reader(settings.tracker.url, clock=SystemClock().wall_ms)


def need_embedded(settings: Settings) -> None:
    """UsageProblem for a tracker that this version does not reach."""
    url = settings.tracker.url
    if not is_embedded(url):
        scheme = url.partition(":")[0]
        raise UsageProblem(f"COLONY_TICKETS_URL: {scheme} is not served yet, only {EMBEDDED}FILE")
