"""Parts of requests, by their shape alone: whether a value may stand is the store's to say."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from fastapi import Depends, Header, Path, Query, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from colony.core.lines import Json
from colony.core.records import HostRecord, SessionRecord
from colony.core.strict_json import SAFE
from colony.core.ticket import STATES, Ref, Role, State
from colony.errors import Invalid
from colony.serve.desk import AtDesk
from colony.tracker.protocol import Guard


def _digits(value: Any) -> Any:
    """Only plain digits: Python would take `1_0`, `+1` and ` 1 ` for numbers too."""
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,16}", value, re.ASCII) is None:
        raise ValueError("must be a whole number")
    return value


Whole: Final = BeforeValidator(_digits)
"""Of a parameter that is a whole number."""
Number = Annotated[int, Field(ge=-SAFE, le=SAFE)]
"""A whole number in a body."""

_STATE: Final = "|".join(STATES)

ProjectPath = Annotated[
    str, Path(alias="project", description="Name of a project.", examples=["shop"])
]
NumberPath = Annotated[
    int,
    Whole,
    Path(alias="number", ge=-SAFE, le=SAFE, description="Number of the ticket.", examples=[1]),
]
SessionPath = Annotated[str, Path(alias="session", description="Name of a session.")]
HostPath = Annotated[str, Path(alias="host", description="Name of a host.")]
UserPath = Annotated[str, Path(alias="user", description="Name of a user.")]

ProjectQuery = Annotated[str | None, Query(alias="project", description="Of this project only.")]
NumberQuery = Annotated[
    int | None, Whole, Query(alias="number", ge=-SAFE, le=SAFE, description="Of this ticket only.")
]
StatesQuery = Annotated[
    list[Annotated[str, Field(pattern=rf"^({_STATE})(,({_STATE}))*$")]] | None,
    Query(alias="state", description="In one of these states: repeated, or with commas."),
]
SinceQuery = Annotated[
    int | None,
    Whole,
    Query(alias="since", ge=-SAFE, le=SAFE, description="Changed then or later: ms, UTC."),
]
CursorQuery = Annotated[
    str | None, Query(alias="cursor", description="The `cursor` of the part before.")
]
IfNoneMatch = Annotated[
    str | None, Header(alias="If-None-Match", description="Entity tag of the answer one has.")
]


def limit_query(most: int) -> Any:
    return Query(alias="limit", ge=1, le=most, description="At most so many.")


def same(given: str | None, etag: str) -> bool:
    """Whether an If-None-Match names the entity tag (RFC 9110: weak comparison)."""
    if given is None:
        return False
    tags = [tag.strip().removeprefix("W/") for tag in given.split(",")]
    return etag in tags or tags == ["*"]


async def _ref(project: ProjectPath, number: NumberPath) -> Ref:
    return Ref(project, number)


AtTicket = Annotated[Ref, Depends(_ref)]


async def _key(
    desk: AtDesk,
    request: Request,
    idempotency_key: Annotated[
        str | None,
        Header(description="The same key and body again is answered as the first time."),
    ] = None,
) -> str:
    """The caller's key; where there is none, one that makes this a write of its own."""
    if len(request.headers.getlist("idempotency-key")) > 1:
        raise Invalid("Idempotency-Key: stands twice")
    if idempotency_key is None:
        return desk.world.new_key()
    # Header values come as Latin-1; keys are UTF-8 like everything else.
    raw = idempotency_key.encode("latin-1", "replace")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return idempotency_key


Key = Annotated[str, Depends(_key)]


class Body(BaseModel):
    """Nothing is guessed: no text for a number, no key that nobody knows."""

    model_config = ConfigDict(strict=True, extra="forbid")


class RefBody(Body):
    project: str = Field(examples=["shop"])
    number: Number = Field(examples=[2])

    def ref(self) -> Ref:
        return Ref(self.project, self.number)


class GuardedBody(Body):
    """What must still be true of the ticket when it is written."""

    expect: State | None = Field(None, description="Its state.")
    expectEvent: Number | None = Field(None, description="The id of its last event.")

    def guard(self) -> Guard:
        return Guard(self.expect, self.expectEvent)


class NewTicketBody(Body):
    project: str = Field(examples=["shop"])
    subject: str
    summary: str = ""
    source: str = ""
    parent: RefBody | None = None
    state: State = "open"


class CommentBody(GuardedBody):
    text: str


class StateBody(GuardedBody):
    state: State
    text: str = ""
    onBehalf: Number | None = Field(
        None, description="Id of a person's comment that asks for this; machines only."
    )


class EditBody(GuardedBody):
    subject: str | None = None
    summary: str | None = None


class RelationBody(GuardedBody):
    project: str = Field(examples=["shop"])
    number: Number = Field(examples=[2])

    def ref(self) -> Ref:
        return Ref(self.project, self.number)


class ProjectBody(Body):
    name: str


class MemberBody(Body):
    user: str
    role: Role


class SessionBody(Body):
    """A session as its host tells it. `id` and `updatedMs` may stand as they were read."""

    id: str | None = None
    project: str = Field(examples=["shop"])
    number: Number = Field(examples=[1])
    host: str
    account: str = ""
    token: Number | None = None
    phase: str
    step: str = ""
    startedMs: Number | None = None
    endedMs: Number | None = None
    costUsd: float = 0.0
    lastTool: str = ""
    outcome: str = ""
    report: Any = None
    verdict: Any = None
    updatedMs: Number | None = None

    def record(self, session: str) -> SessionRecord:
        return SessionRecord(
            id=session,
            ref=Ref(self.project, self.number),
            host=self.host,
            phase=self.phase,
            account=self.account,
            token=self.token,
            step=self.step,
            started_ms=self.startedMs,
            ended_ms=self.endedMs,
            cost_usd=self.costUsd,
            last_tool=self.lastTool,
            outcome=self.outcome,
            report=self.report,
            verdict=self.verdict,
        )


class TailBody(Body):
    text: str


class HostBody(Body):
    """A host as it tells of itself. `host` and `seenMs` may stand as they were read."""

    host: str | None = None
    slots: Number
    running: Number
    quota: Any = None
    memory: Any = None
    disk: Any = None
    iteration: Any = None
    seenMs: Number | None = None

    def record(self, host: str) -> HostRecord:
        quota: Json = self.quota
        return HostRecord(
            name=host,
            slots=self.slots,
            running=self.running,
            quota=quota,
            memory=self.memory,
            disk=self.disk,
            iteration=self.iteration,
        )
