"""Routes of what hosts tell: their sessions, the end of what one says, and themselves."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from colony.core.lines import Json
from colony.errors import Invalid
from colony.serve import answers
from colony.serve.answers import PUT, READ, documented, ok, said
from colony.serve.asking import BEARER, Asker, Guarded
from colony.serve.desk import AtDesk
from colony.serve.inputs import (
    HostBody,
    HostPath,
    NumberQuery,
    ProjectQuery,
    SessionBody,
    SessionPath,
    TailBody,
)
from colony.tracker.wire import write

router = APIRouter(route_class=Guarded, dependencies=[Depends(BEARER)], tags=["records"])


@router.get("/api/sessions", responses=ok(answers.Sessions) | READ)
def sessions(
    desk: AtDesk,
    project: ProjectQuery = None,
    number: NumberQuery = None,
    running: Annotated[bool, Query(alias="open", description="Not ended yet.")] = False,
) -> Response:
    """Sessions that hosts told of, oldest first."""
    found: list[Json] = [
        write.session(each) for each in desk.service.sessions(project, number, running=running)
    ]
    return said({"sessions": found})


@router.get("/api/sessions/{session}", responses=ok(answers.Session) | READ | documented(404))
def session(desk: AtDesk, session: SessionPath) -> Response:
    """One session, with report and verdict where they are there."""
    return said(write.session(desk.service.session(session)))


@router.get("/api/sessions/{session}/tail", responses=ok(answers.Tail) | READ)
def tail(desk: AtDesk, session: SessionPath) -> Response:
    """The last that a running session said; empty where nothing was told."""
    return said({"id": session, "text": desk.service.tail(session)})


@router.put("/api/sessions/{session}", responses=ok(answers.Session) | PUT)
def put_session(desk: AtDesk, me: Asker, session: SessionPath, body: SessionBody) -> Response:
    """Tell of a session; machines only. The newest word counts."""
    _check_name("id", body.id, session)
    return said(write.session(desk.service.put_session(me, body.record(session))))


@router.put("/api/sessions/{session}/tail", responses=ok(answers.Tail) | PUT)
def put_tail(desk: AtDesk, me: Asker, session: SessionPath, body: TailBody) -> Response:
    """Tell the end of what a session says; its last 64 KiB are kept. Machines only."""
    desk.service.put_tail(me, session, body.text)
    return said({"id": session, "text": desk.service.tail(session)})


@router.get("/api/hosts", responses=ok(answers.Hosts) | READ)
def hosts(desk: AtDesk) -> Response:
    """Machines that run sessions."""
    return said({"hosts": [write.host(each) for each in desk.service.hosts()]})


@router.put("/api/hosts/{host}", responses=ok(answers.Host) | PUT)
def put_host(desk: AtDesk, me: Asker, host: HostPath, body: HostBody) -> Response:
    """Tell of a host; machines only. The newest word counts."""
    _check_name("host", body.host, host)
    return said(write.host(desk.service.put_host(me, body.record(host))))


def _check_name(field: str, told: str | None, address: str) -> None:
    if told is not None and told != address:
        raise Invalid(f"{field}: is not the name in the address")
