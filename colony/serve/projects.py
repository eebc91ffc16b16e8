"""Routes of projects and their members."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from starlette.responses import Response

from colony.core.lines import Json
from colony.core.ticket import STATES
from colony.serve import answers
from colony.serve.answers import READ, WRITE, documented, ok, said
from colony.serve.asking import BEARER, Asker, Guarded
from colony.serve.desk import AtDesk
from colony.serve.inputs import Key, MemberBody, ProjectBody, ProjectPath, UserPath
from colony.tracker.wire import write

router = APIRouter(route_class=Guarded, dependencies=[Depends(BEARER)], tags=["projects"])


@router.get("/api/projects", responses=ok(answers.Projects) | READ)
def projects(desk: AtDesk) -> Response:
    """Every project with its tickets by state, and what this server can do."""
    found: list[Json] = [
        {"name": name, "tickets": dict(tickets.items())}
        for name, tickets in desk.service.projects().items()
    ]
    features: list[Json] = [*sorted(desk.service.features)]
    return said({"projects": found, "states": list(STATES), "features": features})


@router.get("/api/projects/{project}", responses=ok(answers.Project) | READ | documented(404))
def project(desk: AtDesk, project: ProjectPath) -> Response:
    """A project with its members; owners of the tracker are admins of each."""
    return said(write.project(desk.service.project(project)))


@router.post("/api/projects", responses=ok(answers.Project) | WRITE)
def add_project(desk: AtDesk, me: Asker, key: Key, body: ProjectBody) -> Response:
    """Make a project; one that is there already is answered as it is."""
    return said(write.project(desk.service.add_project(me, body.name, key=key)))


@router.post("/api/projects/{project}/members", responses=ok(answers.Project) | WRITE)
def set_member(
    desk: AtDesk, me: Asker, key: Key, project: ProjectPath, body: MemberBody
) -> Response:
    """Give a user a role; one that the tracker does not know yet is made, as a person."""
    found = desk.service.set_member(me, project, body.user, body.role, key=key)
    return said(write.project(found))


@router.delete("/api/projects/{project}/members/{user:path}", responses=ok(answers.Project) | WRITE)
def drop_member(
    desk: AtDesk, me: Asker, key: Key, project: ProjectPath, user: UserPath
) -> Response:
    """Take a user's role away."""
    return said(write.project(desk.service.set_member(me, project, user, None, key=key)))
