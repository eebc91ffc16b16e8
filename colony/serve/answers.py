"""The shapes of answers, for the API's description, and how values become answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from colony.core.lines import Json
from colony.core.ticket import EventKind, LeaseKind, Role, State


class Error(BaseModel):
    error: str
    code: str


class Related(BaseModel):
    project: str
    number: int
    state: State
    subject: str
    source: str


class Lease(BaseModel):
    session: str
    host: str
    kind: LeaseKind
    token: int
    untilMs: int | None


class Conflict(Error):
    state: State
    lastEvent: int
    lease: Lease | None


class Row(BaseModel):
    project: str
    number: int
    subject: str
    summary: str
    state: State
    author: str
    userId: str
    machine: bool
    source: str
    createdMs: int
    updatedMs: int
    lastEvent: int
    version: int
    priority: int
    lease: Lease | None
    url: str
    parent: Related | None
    children: list[Related]
    blockedBy: list[Related]
    blocks: list[Related]


class Event(BaseModel):
    id: int
    kind: EventKind
    author: str
    userId: str
    machine: bool
    atMs: int
    text: str
    from_: str = Field(alias="from")
    to: str


class RowWithEvents(Row):
    events: list[Event]


class Rows(BaseModel):
    tickets: list[RowWithEvents | Row]
    cursor: str | None


class FeedEvent(Event):
    project: str
    number: int | None


class Feed(BaseModel):
    events: list[FeedEvent]
    last: int


class Written(BaseModel):
    """The event that a write made; where nothing had to change, `id` is 0 and the rest null."""

    project: str
    number: int
    lastEvent: int
    id: int
    kind: EventKind | None
    author: str | None
    userId: str | None
    machine: bool | None
    atMs: int | None
    text: str | None
    from_: str | None = Field(alias="from")
    to: str | None


class ProjectCounts(BaseModel):
    name: str
    tickets: dict[State, int]


class Projects(BaseModel):
    projects: list[ProjectCounts]
    states: list[State]
    features: list[str]


class Member(BaseModel):
    user: str
    userId: str
    role: Role


class Project(BaseModel):
    name: str
    members: list[Member]


class Session(BaseModel):
    id: str
    project: str
    number: int
    host: str
    account: str
    token: int | None
    phase: str
    step: str
    startedMs: int | None
    endedMs: int | None
    costUsd: float
    lastTool: str
    outcome: str
    report: Any
    verdict: Any
    updatedMs: int


class Sessions(BaseModel):
    sessions: list[Session]


class Tail(BaseModel):
    id: str
    text: str


class Host(BaseModel):
    host: str
    slots: int
    running: int
    quota: Any
    memory: Any
    disk: Any
    iteration: Any
    seenMs: int


class Hosts(BaseModel):
    hosts: list[Host]


class Me(BaseModel):
    user: str
    userId: str
    machine: bool
    owner: bool
    roles: dict[str, Role]


class Health(BaseModel):
    ok: bool
    version: str
    schema_: int = Field(alias="schema")


_WORDS: Final = {
    304: "Not changed since the answer that `If-None-Match` names.",
    400: "The body is not JSON, or could be read in two ways.",
    401: "No token, or one that is not good.",
    403: "This user may not do that.",
    404: "There is no such thing.",
    409: "A condition no longer holds; nothing was written.",
    408: "The body was not there whole in time.",
    413: "Larger than the tracker takes.",
    415: "The body is not called JSON.",
    422: "A value that cannot be used; the line begins with its place.",
    429: "More writes a second than one token may make.",
    503: "The database is busy or cannot be used; `Retry-After` says when to try again.",
}

Documented = dict[int | str, dict[str, Any]]


def documented(*statuses: int) -> Documented:
    """Errors as the API's description lists them."""
    found: Documented = {}
    for status in statuses:
        found[status] = {"description": _WORDS[status]}
        if status != 304:
            found[status]["model"] = Conflict if status == 409 else Error
    return found


READ: Final = documented(401, 422, 503)
WRITE: Final = documented(400, 401, 403, 404, 408, 413, 415, 422, 429, 503)
PUT: Final = documented(400, 401, 403, 404, 408, 413, 415, 422, 503)


def ok(model: type[BaseModel], words: str = "Done.") -> Documented:
    return {200: {"description": words, "model": model}}


def said(value: Mapping[str, Json], status: int = 200, **headers: str) -> JSONResponse:
    names = {name.replace("_", "-"): text for name, text in headers.items()}
    return JSONResponse(value, status, headers=names)


def unchanged(etag: str) -> Response:
    return Response(status_code=304, headers={"etag": etag})
