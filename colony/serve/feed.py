"""The route of the feed: all events in their order, and waiting for the next one."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from colony.core.lines import Json
from colony.core.strict_json import SAFE
from colony.errors import Busy
from colony.serve import answers
from colony.serve.answers import READ, documented, ok, said, unchanged
from colony.serve.asking import BEARER, Guarded
from colony.serve.desk import AtDesk, Desk
from colony.serve.errors import RETRY_S, Refusal
from colony.serve.inputs import IfNoneMatch, Whole, limit_query, same
from colony.tracker.reads import PAGE_MAX, Changes
from colony.tracker.wire import write

WAIT_MAX_S: Final = 60
"""Shorter than what proxies allow a silent request."""

AfterQuery = Annotated[
    int, Whole, Query(ge=-SAFE, le=SAFE, description="Events behind the one of this id.")
]
WaitQuery = Annotated[
    int, Whole, Query(ge=0, le=WAIT_MAX_S, description="Seconds to wait where there is none yet.")
]

router = APIRouter(route_class=Guarded, dependencies=[Depends(BEARER)], tags=["feed"])


@router.get("/api/events", responses=ok(answers.Feed) | READ | documented(304))
async def events(
    request: Request,
    desk: AtDesk,
    after: Annotated[
        int, Whole, Query(ge=-SAFE, le=SAFE, description="Events behind this one.")
    ] = 0,
    limit: Annotated[int, Whole, limit_query(PAGE_MAX)] = 1000,
    wait: WaitQuery = 0,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Events of all tickets and projects, oldest first. `last` is what to ask after next.

    A `last` smaller than `after` says that the store was put back from an older copy: begin anew.
    """
    changes = await _changes(desk, request, (after, limit), wait)
    etag = f'"{changes.last}"'
    if not changes.events and same(if_none_match, etag):
        return unchanged(etag)
    # A page may hold megabytes: nobody else is to wait for their JSON.
    return await run_in_threadpool(_page, changes, etag)


def _page(changes: Changes, etag: str) -> Response:
    found: list[Json] = [write.feed_event(each) for each in changes.events]
    return said({"events": found, "last": changes.last}, etag=etag)


async def _changes(desk: Desk, request: Request, page: tuple[int, int], wait_s: int) -> Changes:
    """What is new behind `page` (after, limit), at once or when it is there; nothing new after
    `wait_s`."""
    if not wait_s:
        return await run_in_threadpool(desk.service.changes, *page)
    until_s = desk.world.boot_s() + wait_s
    gone = asyncio.create_task(_gone(request))
    try:
        async with desk.bell.listening():
            while True:
                ring = desk.bell.next
                changes = await run_in_threadpool(desk.service.changes, *page)
                left_s = until_s - desk.world.boot_s()
                # A smaller `last` is news too: the store was put back from an older copy.
                news = changes.events or changes.last < page[0]
                if news or left_s <= 0 or desk.bell.closed or gone.done():
                    return changes
                if desk.bell.full:
                    line = "too many requests wait for events already: try again"
                    raise Refusal(503, Busy.code, line, {"Retry-After": str(RETRY_S)})
                await desk.bell.wait(ring, left_s, gone)
                if gone.done():
                    return changes
    finally:
        gone.cancel()


async def _gone(request: Request) -> None:
    """Ends when whoever asked has hung up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
