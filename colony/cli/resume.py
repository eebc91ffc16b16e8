"""`colony resume`: take a pause away, or let a parked session go on."""

from __future__ import annotations

from typing import Annotated

import typer

from colony.cli.looking import viewpoint_of
from colony.cli.orders_desk import control_of, desk_of
from colony.cli.verb import Context, verb, verbs
from colony.core.lines import Line
from colony.errors import NotFound
from colony.flow.orders import resume as resume_session
from colony.host.chance import SESSION
from colony.host.control import Control

app = verbs()

What = Annotated[
    str | None,
    typer.Argument(
        metavar="[PROJECT|SESSION]", help="Default: the pause of everything.", show_default=False
    ),
]


@verb(app)
def resume(context: Context, what: What = None) -> None:
    """Take the pause of everything or of a project away, or let a parked session go on now."""
    if what is not None and SESSION.fullmatch(what) is not None:
        context.show.line(resume_session(desk_of(context), what), "bold")
        return
    control = control_of(context)
    gone = control.unpause(what)
    if not gone and what is not None and what not in viewpoint_of(context).registry.projects:
        raise NotFound(f"{what}: there is no project and no session of this name")
    text = f"{what or 'everything'} — {'goes on' if gone else 'was not paused'}{_left(control)}"
    context.show.line(Line("resume", text, facts={"project": what, "was": gone}), "bold")


def _left(control: Control) -> str:
    """What is paused all the same."""
    pauses = control.pauses()
    if pauses.everything:
        return "; everything is still paused: colony resume"
    names = ", ".join(sorted(pauses.projects))
    return f"; still paused: {names}" if names else ""
