"""Wiring for what is done where the tracker's database lies, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from colony.config import Settings
from colony.core.address import EMBEDDED, is_served
from colony.core.ticket import Me
from colony.errors import Refused
from colony.flow.wiring.readers import need_embedded
from colony.flow.wiring.trackers import DERIVE
from colony.host.clock import SystemClock
from colony.tracker.places import TIMEOUT_S, engine_at
from colony.tracker.service import Service
from colony.tracker.tokens import Tokens


@dataclass(frozen=True, slots=True)
class Store:
    """The tracker's database, by everything that is on it."""

    service: Service
    tokens: Tokens


def need_database(settings: Settings, what: str) -> None:
    """Refused for a tracker behind a server: `what` is done where its database lies."""
    if is_served(settings.tracker.url):
        raise Refused(
            f"COLONY_TICKETS_URL names a server: {what} where its database lies "
            f"(there it is {EMBEDDED}FILE)"
        )
    need_embedded(settings)


@contextmanager
def store_of(settings: Settings, *, create: bool) -> Iterator[Store]:
    """The tracker's database. `create` makes one, with `COLONY_PERSON` as its owner: one must be
    known before a machine makes a project."""
    clock = SystemClock().wall_ms
    engine = engine_at(settings.tracker.url, create=create, timeout_s=TIMEOUT_S)
    try:
        store = Store(Service(engine, clock, DERIVE), Tokens(engine, clock))
        if create:
            store.service.sign_in(Me(settings.tracker.person, "", machine=False, owner=True))
        yield store
    finally:
        engine.close()
