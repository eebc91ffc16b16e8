"""`colony stop`: end a session and give its ticket back, or park it."""

from __future__ import annotations

from typing import Annotated

import typer

from colony.cli.orders_desk import desk_of
from colony.cli.sessions import session_named
from colony.cli.sessions_desk import outfit_of
from colony.cli.verb import Context, verb, verbs
from colony.core.lines import Line
from colony.core.session import Facts
from colony.flow.bench import Bench
from colony.flow.orders import act_here, ask, open_session, park_here
from colony.flow.wiring.sessions import bench_of
from colony.host.control import Asked
from colony.host.journal import RunFolder

app = verbs()

SessionName = Annotated[str, typer.Argument(metavar="S", help="The session's id.")]
ParkIt = Annotated[
    bool, typer.Option("--park", help="Park it until `colony resume S`; the ticket stays leased.")
]


@verb(app)
def stop(context: Context, session: SessionName, park: ParkIt = False) -> None:
    """End a session and give its ticket back, or park it with --park.

    What it has begun to post it posts.
    """
    asked: Asked = "park" if park else "stop"
    desk = desk_of(context)
    folder, _ = open_session(desk, session_named(session))
    line = ask(desk, folder, asked)
    if line is None and park:
        line = park_here(desk, folder)
    context.show.line(line or _here(context, folder, asked), "bold")


def _here(context: Context, folder: RunFolder, asked: Asked) -> Line:
    with outfit_of(context, warn=False) as outfit:

        def bench(facts: Facts) -> Bench:
            return bench_of(outfit, facts, folder)

        return act_here(bench, folder, asked)
