"""What every request is answered with: the store, the settings, and what the server remembers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

import colony
from colony.config import ServeSettings
from colony.serve.bell import Bell
from colony.serve.metrics import Metrics
from colony.serve.write_limit import WriteLimit
from colony.tracker.service import Service
from colony.tracker.tokens import Tokens

DESK: Final = "colony.desk"
"""Where in a request's scope its desk lies."""


@dataclass(frozen=True, slots=True)
class World:
    """What the server takes from the machine."""

    boot_s: Callable[[], float]
    """Seconds that only go on: for durations."""
    new_key: Callable[[], str]
    """An idempotency key that nobody else has."""
    report: Callable[[Exception], None]
    """Told of each error that whoever runs the server must know. Called from any thread."""


@dataclass(frozen=True, slots=True)
class Desk:
    service: Service
    tokens: Tokens
    settings: ServeSettings
    world: World
    bell: Bell
    limit: WriteLimit
    metrics: Metrics

    def etag(self, version: str) -> str:
        """The strong entity tag of rows of that version: one for all servers that write rows alike,
        another one where program or public address differ."""
        form = f"{colony.__version__} {self.settings.public_url}"
        return f'"{version}-{hashlib.sha256(form.encode()).hexdigest()[:8]}"'


def set_up(service: Service, tokens: Tokens, settings: ServeSettings, world: World) -> Desk:
    return Desk(
        service=service,
        tokens=tokens,
        settings=settings,
        world=world,
        bell=Bell(service.watch),
        limit=WriteLimit(settings.write_limit, world.boot_s),
        metrics=Metrics(),
    )


def desk_of(request: HTTPConnection) -> Desk:
    """The desk at which the edge let this request in."""
    desk: Desk = request.scope[DESK]
    return desk


async def _desk(request: Request) -> Desk:
    # A coroutine, because FastAPI would run a plain function in a thread of its pool.
    return desk_of(request)


AtDesk = Annotated[Desk, Depends(_desk)]
