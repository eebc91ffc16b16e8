"""`colony report`: a worker's report from a file: is it valid, and what posting it would say."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from colony.cli.looking import viewpoint_of
from colony.cli.options import Post
from colony.cli.reaching import as_colony
from colony.cli.verb import Context, verb, verbs
from colony.core.lines import Line
from colony.errors import ColonyError, Refused, UsageProblem
from colony.flow.hold import Holder
from colony.flow.reporting import ReportFile, ReportRefused, post_file, read_file
from colony.flow.wiring.sessions import schema
from colony.host.clock import SystemClock

app = verbs()

File = Annotated[str, typer.Argument(metavar="FILE", help="The report, as JSON.")]
Unchecked = Annotated[
    bool, typer.Option("--unchecked", help="Yes, post what no controller has seen.")
]


@verb(app, ("lease_ttl", "heartbeat"))
def report(context: Context, file: File, post: Post = False, unchecked: Unchecked = False) -> int:
    """Check a worker's report file, and with --post --unchecked write it into its ticket."""
    if post and not unchecked:
        raise UsageProblem("--post: no controller saw this report; say --unchecked to post it so")
    settings = context.settings
    view = viewpoint_of(context)
    try:
        read = read_file(
            Path(file).absolute(), schema(settings, "report"), view.registry, context.show.line
        )
    except ReportRefused as refused:
        return refused.exit_code
    if not post:
        return 0
    with as_colony(context) as tracker:
        holder = Holder(
            tracker=tracker,
            clock=SystemClock(),
            ref=read.ref,
            session=read.report.session,
            host=settings.place.host,
            ttl_ms=settings.lease.ttl * 1000,
            pause=time.sleep,
        )
        return _post(context, holder, read, frozenset(view.registry.projects))


def _post(context: Context, holder: Holder, read: ReportFile, known: frozenset[str]) -> int:
    written = False
    try:
        for line in post_file(holder, read, known):
            context.show.line(line)
            written = True
    except ColonyError as error:
        refused = isinstance(error, Refused) and not written
        kind = "post.refused" if refused else "post.failed"
        context.show.line(Line(kind, f"— {error.line}", str(read.ref), facts={"code": error.code}))
        return error.exit_code
    return 0
