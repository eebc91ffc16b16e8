"""`colony resume`: starts are free again, or a parked session may go on."""

from __future__ import annotations

from typing import Annotated

import typer

from colony.cli.verb import Context, verb, verbs
from colony.core.lines import Line
from colony.core.session import go_on_now
from colony.core.ticket import is_name
from colony.errors import Refused, UsageProblem
from colony.flow.kept_session import changed
from colony.host.chance import SESSION
from colony.host.clock import SystemClock
from colony.host.control import Control

app = verbs()

What = Annotated[
    str | None,
    typer.Argument(
        metavar="[PROJECT|SESSION]", help="Only this one; default: everything.", show_default=False
    ),
]


@verb(app)
def resume(context: Context, what: What = None) -> None:
    """Let the loop start sessions again, or let a parked session go on now."""
    if what is not None and SESSION.fullmatch(what):
        _session(context, what)
        return
    if what is not None and not is_name(what):
        raise UsageProblem(f"{what}: neither a project nor a session is named so")
    was = Control(context.settings.place.home).go_on(what or "")
    where = f" of {what}" if what else ""
    text = f"— sessions{where} start again" if was else f"— nothing{where} was paused"
    context.show.line(Line("resume", text, facts={"project": what, "was": was}))


def _session(context: Context, session: str) -> None:
    place = context.settings.place
    now_ms = SystemClock().wall_ms()
    Control(place.home).done(session)
    facts = changed(place.runs_dir, session, lambda facts: go_on_now(facts, now_ms))
    if facts.parked is None:
        raise Refused(f"session {session} is not parked")
    ref = facts.ticket
    text = (
        f"— {ref} (session {session}) may go on: colony run takes it up,"
        f" or colony work {ref.project} {ref.number} --session {session}"
    )
    context.show.line(Line("resume", text, str(ref), session))
