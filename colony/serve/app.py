"""The app: all routes, the API's description and its page, behind one edge."""

from __future__ import annotations

import functools
from typing import Final

from fastapi import APIRouter, FastAPI, Request
from fastapi_offline import FastAPIOffline
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp

import colony
from colony.serve import about, errors, feed, projects, records, tickets
from colony.serve.desk import Desk
from colony.serve.edge import Edge

ASSETS: Final = "/docs/assets"
ROUTERS: Final[tuple[APIRouter, ...]] = (
    tickets.router,
    feed.router,
    projects.router,
    records.router,
    about.me_router,
    about.health_router,
    about.metrics_router,
)
_ABOUT: Final = (
    "The tracker that Colony works from: tickets, their histories, sessions and hosts. Times are "
    "milliseconds UTC. Errors are one line and a code."
)


def make_app(desk: Desk) -> ASGIApp:
    """The server's whole answer to requests; it keeps nothing but what `desk` holds."""
    return Edge(_api(), desk, ASSETS)


@functools.cache
def _api() -> FastAPI:
    """The routes, which are the same at every desk: the edge says at which one a request is."""
    app: FastAPI = FastAPIOffline(
        docs_url="/docs",
        redoc_url=None,
        static_url=ASSETS,
        title="Colony's tracker",
        version=colony.__version__,
        description=_ABOUT,
        redirect_slashes=False,
    )
    errors.handle_errors(app)
    app.add_exception_handler(405, _not_this_method)
    for router in ROUTERS:
        app.include_router(router)
    return app


async def _not_this_method(request: Request, error: Exception) -> Response:
    """Names every method of the address: the framework knows those of its first route only."""
    assert isinstance(error, HTTPException)
    allowed = {
        method
        for router in ROUTERS
        for route in router.routes
        if route.matches(request.scope)[0] is not Match.NONE
        for method in getattr(route, "methods", None) or ()
    } or {"GET"}
    if "GET" in allowed:
        allowed.add("HEAD")
    words = ", ".join(sorted(allowed))
    return errors.answer(405, "method", f"this address takes {words} only", {"Allow": words})
