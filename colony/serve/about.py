"""Routes about the server: whether it works, its figures, and whom it takes the asker for."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from starlette.responses import Response

import colony
from colony.serve import answers
from colony.serve.answers import READ, documented, ok, said
from colony.serve.asking import BEARER, Asker, Guarded, Open, Personal
from colony.serve.desk import AtDesk
from colony.serve.metrics import CONTENT_TYPE
from colony.tracker.wire import write

health_router = APIRouter(route_class=Open, tags=["about"])
me_router = APIRouter(route_class=Personal, dependencies=[Depends(BEARER)], tags=["about"])
metrics_router = APIRouter(route_class=Guarded, dependencies=[Depends(BEARER)], tags=["about"])


@health_router.get("/api/health", responses=ok(answers.Health) | documented(503))
def health(desk: AtDesk) -> Response:
    """Whether the server can read its store."""
    return said({"ok": True, "version": colony.__version__, "schema": desk.service.schema()})


@me_router.get("/api/me", responses=ok(answers.Me) | READ)
def me(desk: AtDesk, me: Asker) -> Response:
    """Whom the tracker takes you for, and your role in each project."""
    return said(write.me(me, desk.service.roles(me)))


@metrics_router.get(
    "/metrics",
    responses={
        200: {
            "description": "Figures in Prometheus' text form.",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        },
        **documented(401, 503),
    },
)
def metrics(desk: AtDesk) -> Response:
    """Figures of this server and of the tracker."""
    return Response(
        desk.metrics.text(desk.service.counts(), desk.bell.waiting),
        headers={"content-type": CONTENT_TYPE},
    )
