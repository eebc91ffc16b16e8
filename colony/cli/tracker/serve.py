"""`colony tracker serve`: the tracker's JSON API over HTTP."""

from __future__ import annotations

import os
import traceback
from typing import Final

from colony.cli.opening import check_person, file_of, fresh_file, made_line
from colony.cli.show import Show
from colony.cli.tracker.group import app
from colony.cli.verb import Context, verb
from colony.config import Settings
from colony.core.lines import Line, clip
from colony.errors import ColonyError, Refused
from colony.flow.wiring.stores import need_database, store_of
from colony.host.chance import SystemChance
from colony.host.clock import SystemClock

OPTIONS: Final = ("listen", "public_url", "public_read", "write_limit")


@verb(app, OPTIONS)
def serve(context: Context) -> None:
    """Serve the tracker's JSON API, for Colony on other hosts and for scripts.

    Whoever asks shows a token of `colony tracker token`. It speaks plain HTTP: put a proxy with
    TLS before it where others than this machine reach it.
    """
    # FastAPI costs five times what a short command takes.
    from colony.serve import app as serve_app  # noqa: PLC0415
    from colony.serve import desk, running  # noqa: PLC0415

    settings = context.settings
    need_database(settings, "the tracker is served")
    if not _is_there(settings):
        check_person(settings)
    address = running.address_of(*settings.serve.listen)
    if not address.is_loopback:
        _need_owner(context, str(address))
    listener = running.listen(address)
    with listener:
        if not address.is_loopback:
            _warn_of_plain_http(context, str(address))
        fresh = fresh_file(settings)
        with store_of(settings, create=fresh is not None) as store:
            if fresh:
                context.show.line(made_line(fresh))
            world = desk.World(SystemClock().boot_s, SystemChance().uuid4, _reporter(context))
            at_desk = desk.set_up(store.service, store.tokens, settings.serve, world)
            app_ = serve_app.make_app(at_desk)
            port = listener.getsockname()[1]
            running.run(app_, at_desk.bell, listener, lambda: _ready(context, port), world.report)


def _ready(context: Context, port: int) -> None:
    settings = context.settings.serve
    host = settings.listen[0]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    file = file_of(context.settings.tracker.url)
    public = f", public {settings.public_url}" if settings.public_url else ""
    open_to = "readers need no token" if settings.public_read else "every request needs a token"
    facts = {
        "url": url,
        "publicUrl": settings.public_url or None,
        "publicRead": settings.public_read,
        "pid": os.getpid(),
        "path": str(file),
    }
    text = f"{url} — {file}{public}; {open_to}; API: {url}/docs"
    context.show.line(Line("serve", text, facts=facts))


def _warn_of_plain_http(context: Context, address: str) -> None:
    told = f"— {address} is reached from other machines, and tokens come in plain HTTP"
    context.show.problem(Line("warning", f"{told}: put TLS before it (docs/serving.md)"))


def _is_there(settings: Settings) -> bool:
    file = file_of(settings.tracker.url)
    return file is not None and file.exists()


def _need_owner(context: Context, address: str) -> None:
    """Refused where nobody could ever decide anything on a server that others reach."""
    if _is_there(context.settings):
        with store_of(context.settings, create=False) as store:
            if store.tokens.owner_may_come():
                return
    raise Refused(
        f"{address} is reached from other machines, and no owner has a token that is still good: "
        f"colony tracker token {context.settings.tracker.person} --owner"
    )


def _reporter(context: Context) -> _Reporter:
    return _Reporter(context.show, debug=context.environ.get("COLONY_DEBUG") == "1")


class _Reporter:
    """Tells whoever runs the server of an error that its clients are told little of."""

    def __init__(self, show: Show, *, debug: bool) -> None:
        self._show = show
        self._debug = debug

    def __call__(self, error: Exception) -> None:
        if isinstance(error, ColonyError):
            self._show.problem(Line("warning", error.line))
            return
        if self._debug:
            traceback.print_exception(error)
        said = clip(f"{type(error).__name__}: {error}", 300)
        text = f"a bug in Colony: {said} (COLONY_DEBUG=1 shows where)"
        self._show.problem(Line("error", text, facts={"code": "bug"}))
