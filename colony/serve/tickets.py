"""Routes of tickets: lists in parts, one with its history, and every write to one."""

from __future__ import annotations

import re
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Header, Query
from starlette.responses import JSONResponse, PlainTextResponse, Response

from colony.core.lines import Json
from colony.core.markdown import ticket_markdown
from colony.core.ticket import NAME_PATTERN, History, Me, NewTicket, Ref, State, is_state
from colony.errors import Invalid
from colony.serve import answers
from colony.serve.answers import READ, WRITE, documented, ok, said, unchanged
from colony.serve.asking import BEARER, Asker, Guarded
from colony.serve.desk import AtDesk, Desk
from colony.serve.inputs import (
    AtTicket,
    CommentBody,
    CursorQuery,
    EditBody,
    GuardedBody,
    IfNoneMatch,
    Key,
    NewTicketBody,
    ProjectQuery,
    RelationBody,
    SinceQuery,
    StateBody,
    StatesQuery,
    Whole,
    limit_query,
    same,
)
from colony.tracker.pages import Page, Selection
from colony.tracker.protocol import Conflict, Guard
from colony.tracker.sql.tickets import Position
from colony.tracker.wire import write
from colony.tracker.writes import Block, Comment, Edit, Move, SetParent, TicketWrite

ROWS_MAX: Final = 10_000
"""Tickets in one part of a list."""
MARKDOWN: Final = "text/markdown"
TICKET: Final = "/api/tickets/{project}/{number}"

router = APIRouter(route_class=Guarded, dependencies=[Depends(BEARER)], tags=["tickets"])

_WRITTEN: Final[answers.Documented] = (
    ok(answers.Written, "The event that was made.") | WRITE | documented(409)
)
_COMMENTED: Final[answers.Documented] = {201: _WRITTEN[200]} | WRITE | documented(409)


# --- reads ---------------------------------------------------------------------------------


async def _wanted(
    project: ProjectQuery = None,
    state: StatesQuery = None,
    since: SinceQuery = None,
    events: Annotated[bool, Query(description="Each with its history.")] = False,
    cursor: CursorQuery = None,
    limit: Annotated[int | None, Whole, limit_query(ROWS_MAX)] = None,
) -> Selection:
    return Selection(project, _states(state), since, events, _position(cursor), limit)


@router.get("/api/tickets", responses=ok(answers.Rows) | READ | documented(304, 404))
def tickets(
    desk: AtDesk,
    wanted: Annotated[Selection, Depends(_wanted)],
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Tickets, ordered by when they were opened; without a `limit` all of them at once."""

    def known(version: str) -> bool:
        return same(if_none_match, desk.etag(version))

    page = desk.service.page(wanted, known=known)
    etag = desk.etag(page.version)
    if known(page.version):
        return unchanged(etag)
    rows: list[Json] = [_row(desk, page, at) for at in range(len(page.rows))]
    return said({"tickets": rows, "cursor": _cursor(page.rest)}, etag=etag)


def _row(desk: Desk, page: Page, at: int) -> write.Object:
    row, url = page.rows[at], desk.settings.public_url
    events = page.events.get(row.ref)
    return write.row(row, url) if events is None else write.history(History(row, events), url)


@router.get(
    TICKET,
    responses=READ
    | documented(404)
    | {
        200: {
            "description": "The ticket with its history, oldest event first.",
            "model": answers.RowWithEvents,
            "content": {MARKDOWN: {"schema": {"type": "string"}}},
        }
    },
)
def ticket(
    desk: AtDesk,
    ref: AtTicket,
    accept: Annotated[str, Header(description="`text/markdown`: as one text to read.")] = "",
) -> Response:
    """One ticket with its history."""
    history = desk.service.ticket(ref)
    vary = {"vary": "Accept"}
    if _prefers_markdown(accept):
        return PlainTextResponse(ticket_markdown(history), media_type=MARKDOWN, headers=vary)
    return JSONResponse(write.history(history, desk.settings.public_url), headers=vary)


def _prefers_markdown(accept: str) -> bool:
    """Whether Markdown is named, and JSON is not named as the better one (RFC 9110, 12.5.1)."""
    weights = {}
    for part in accept.lower().split(","):
        kind, *parameters = (each.strip() for each in part.split(";"))
        given = [each[2:] for each in parameters if each.startswith("q=")]
        fits = given and re.fullmatch(r"[01](\.[0-9]{0,3})?", given[0], re.ASCII)
        weights[kind] = float(given[0]) if fits else 1.0
    return weights.get(MARKDOWN, 0.0) > weights.get("application/json", 0.0)


def _states(given: list[str] | None) -> frozenset[State] | None:
    if given is None:
        return None
    words = [word for each in given for word in each.split(",")]
    return frozenset(word for word in words if is_state(word))


def _cursor(rest: Position | None) -> str | None:
    return None if rest is None else f"{rest.created_ms}.{rest.ref.number}.{rest.ref.project}"


def _position(cursor: str | None) -> Position | None:
    if cursor is None:
        return None
    found = re.fullmatch(rf"(-?[0-9]{{1,16}})\.([0-9]{{1,9}})\.({NAME_PATTERN})", cursor, re.ASCII)
    if found is None:
        raise Invalid("cursor: is none that this server gave")
    return Position(int(found[1]), Ref(found[3], int(found[2])))


# --- writes --------------------------------------------------------------------------------


@router.post(
    "/api/tickets",
    status_code=201,
    responses=WRITE
    | {
        201: {"description": "The new ticket.", "model": answers.Row},
        200: {"description": "The ticket that has this source already.", "model": answers.Row},
    },
)
def create(desk: AtDesk, me: Asker, key: Key, body: NewTicketBody) -> Response:
    """Open a ticket, and its project with it where there is none."""
    parent = body.parent.ref() if body.parent else None
    new = NewTicket(body.project, body.subject, body.summary, body.source, parent, body.state)
    created = desk.service.create(me, new, key=key)
    row = write.row(created.ticket, desk.settings.public_url)
    return said(row, 201 if created.fresh else 200)


class _Write:
    """A write to one ticket, by whom and under which key."""

    def __init__(self, desk: Desk, me: Me, ref: Ref, key: str) -> None:
        self._desk, self._me, self._ref, self._key = desk, me, ref, key

    def __call__(self, what: TicketWrite, guard: Guard, status: int = 200) -> Response:
        service = self._desk.service
        done = service.write(self._me, self._ref, what, key=self._key, guard=guard)
        if isinstance(done, Conflict):
            line = f"{self._ref} is {done.state} and its last event {done.last_event}: look again"
            return said(write.conflict(done, line), 409)
        # An event never changes: the answer is the same however often it is given.
        made = service.event(done.event).event if done.event else None
        return said(write.written(self._ref, done, made), status)


async def _write(desk: AtDesk, me: Asker, ref: AtTicket, key: Key) -> _Write:
    return _Write(desk, me, ref, key)


Writing = Annotated[_Write, Depends(_write)]


@router.post(f"{TICKET}/comments", status_code=201, responses=_COMMENTED)
def comment(writing: Writing, body: CommentBody) -> Response:
    """Say something about a ticket."""
    return writing(Comment(body.text), body.guard(), 201)


@router.post(f"{TICKET}/state", responses=_WRITTEN)
def state(writing: Writing, body: StateBody) -> Response:
    """Move a ticket; words to the state that it is in are a comment."""
    return writing(Move(body.state, body.text, body.onBehalf), body.guard())


@router.patch(TICKET, responses=_WRITTEN)
def edit(writing: Writing, body: EditBody) -> Response:
    """Say subject or summary anew; what is left out stays."""
    return writing(Edit(body.subject, body.summary), body.guard())


@router.post(f"{TICKET}/blocked-by", responses=_WRITTEN)
def block(writing: Writing, body: RelationBody) -> Response:
    """Let the ticket wait for another one."""
    return writing(Block(body.ref()), body.guard())


@router.delete(f"{TICKET}/blocked-by", responses=_WRITTEN)
def unblock(writing: Writing, body: RelationBody) -> Response:
    """Let the ticket wait for that one no longer."""
    return writing(Block(body.ref(), remove=True), body.guard())


@router.post(f"{TICKET}/parent", responses=_WRITTEN)
def set_parent(writing: Writing, body: RelationBody) -> Response:
    """Make the ticket part of another one, and of no other."""
    return writing(SetParent(body.ref()), body.guard())


@router.delete(f"{TICKET}/parent", responses=_WRITTEN)
def drop_parent(writing: Writing, body: GuardedBody | None = None) -> Response:
    """Make the ticket part of no other one."""
    return writing(SetParent(None), body.guard() if body else Guard())
