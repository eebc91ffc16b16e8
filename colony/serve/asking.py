"""Who is asking: the token of a request, looked up in the store each time, and its writes counted.

It happens before a body is read, so that nobody without a token costs more than a look.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Final

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from colony.core.ticket import Me
from colony.serve.bodies import StrictRequest
from colony.serve.desk import Desk, desk_of
from colony.serve.edge import ROUTE
from colony.serve.errors import Refusal

BEARER: Final = HTTPBearer(
    auto_error=False, description="A token of `colony tracker token`: `tkt_…`."
)
"""For the API's description: the token is looked at by `Guarded`."""
_COUNTED: Final = frozenset({"POST", "PATCH", "DELETE"})
"""What the write limit counts: a session's and a host's own records are none of it."""

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Open(APIRoute):
    """A route for everybody."""

    def get_route_handler(self) -> Handler:
        inner, route = super().get_route_handler(), self.path_format

        async def handle(request: Request) -> Response:
            request.scope[ROUTE] = route
            return await inner(request)

        return handle


class Guarded(APIRoute):
    """A route for those who have a token; with public reading, its GET is for everybody."""

    personal = False
    """Whether the answer is about the asker, and nothing without one."""

    def get_route_handler(self) -> Handler:
        inner, route, personal = super().get_route_handler(), self.path_format, self.personal

        async def handle(request: Request) -> Response:
            request.scope[ROUTE] = route
            desk = desk_of(request)
            public = desk.settings.public_read and request.method == "GET" and not personal
            request.state.asker = await _asker(request, desk, public=public)
            answer = await inner(StrictRequest(request.scope, request.receive))
            if request.method != "GET":
                desk.bell.ring()
            return answer

        return handle


class Personal(Guarded):
    personal = True


async def _asker(request: Request, desk: Desk, *, public: bool) -> Me | None:
    """None: somebody without a token, where that is enough."""
    given = request.headers.getlist("authorization")
    if not given:
        if public:
            return None
        raise _unknown("a token is needed: Authorization: Bearer tkt_…")
    if len(given) > 1:
        # A proxy may have looked at the other one.
        raise _unknown("Authorization: stands twice", ' error="invalid_request"')
    scheme, _, secret = given[0].partition(" ")
    me = None
    if scheme.lower() == "bearer":
        me = await run_in_threadpool(desk.tokens.holder, secret.strip())
    if me is None:
        raise _unknown("this token is not known, or no longer good", ' error="invalid_token"')
    if request.method in _COUNTED:
        wait_s = desk.limit.wait_s(hashlib.sha256(secret.strip().encode()).hexdigest())
        if wait_s:
            line = f"more than {desk.settings.write_limit} writes a second from this token"
            raise Refusal(429, "too_many", line, {"Retry-After": str(wait_s)})
    return me


def _unknown(line: str, more: str = "") -> Refusal:
    return Refusal(401, "unauthorized", line, {"WWW-Authenticate": f"Bearer{more}"})


async def _me(request: Request) -> Me:
    # A coroutine, because FastAPI would run a plain function in a thread of its pool.
    asker = request.state.asker
    assert isinstance(asker, Me)
    return asker


Asker = Annotated[Me, Depends(_me)]
