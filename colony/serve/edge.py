"""The app's outermost layer: headers of every answer, HEAD, figures, and errors nobody expected."""

from __future__ import annotations

import asyncio
from email.utils import formatdate
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from colony.errors import Busy, NoAnswer
from colony.serve.desk import DESK, Desk
from colony.serve.errors import RETRY_S, answer

ROUTE: Final = "colony.route"
"""Where in a request's scope its route is named, for the figures."""

_HEADERS: Final = {
    "server": "colony",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
_CLOSED: Final = "default-src 'none'; frame-ancestors 'none'"
_DOCS: Final = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'"
)
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
_KEPT_S: Final = 86_400


class Edge:
    """Wraps the app; only HTTP is served."""

    def __init__(self, app: ASGIApp, desk: Desk, assets: str) -> None:
        self._app = app
        self._desk = desk
        self._assets = f"{assets}/"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started_s = self._desk.world.boot_s()
        head = scope["method"] == "HEAD"
        inner = {**scope, DESK: self._desk, "method": "GET" if head else scope["method"]}
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._dress(MutableHeaders(scope=message), scope["path"])
            elif head:
                message = {**message, "body": b""}
            await send(message)

        try:
            await self._app(inner, receive, sending)
        except asyncio.CancelledError:
            if not self._desk.bell.closed or status:
                raise
            # The server ends, and the store has not answered in time: a write may still be kept.
            code = Busy.code if inner["method"] == "GET" else NoAnswer.code
            line = "the server is being stopped: try again, with the same key where there is one"
            refusal = answer(503, code, line, {"Retry-After": str(RETRY_S)})
            await refusal(scope, receive, sending)
        except Exception as error:  # noqa: BLE001 - the answer was given; the server goes on
            self._desk.world.report(error)
        seconds = self._desk.world.boot_s() - started_s
        # Names of methods are the client's own: the figures know those of the API only.
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._desk.metrics.answered(method, inner.get(ROUTE, "other"), status, seconds)

    def _dress(self, headers: MutableHeaders, path: str) -> None:
        """The time is the store's, so that clients can tell how far their clocks are from it."""
        headers["date"] = formatdate(self._desk.service.now_ms() // 1000, usegmt=True)
        for name, value in _HEADERS.items():
            headers[name] = value
        is_asset = path.startswith(self._assets)
        headers["cache-control"] = f"public, max-age={_KEPT_S}" if is_asset else "no-store"
        headers["content-security-policy"] = _DOCS if path == "/docs" else _CLOSED
