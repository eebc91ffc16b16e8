"""`colony tail`: follow a running session."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated, Final

import typer

from colony.cli.opening import ref_of
from colony.cli.reaching import looking_at_sessions
from colony.cli.sessions import no_session, session_named
from colony.cli.verb import Context, verb, verbs
from colony.core.lines import Line
from colony.core.project import Project
from colony.core.ticket import Ref
from colony.errors import NotFound
from colony.flow.sightings import Here, in_order, sightings, told_elsewhere
from colony.flow.tailing import Watcher, follow, follow_told
from colony.flow.wiring.agents import agent_for
from colony.flow.wiring.credentials import secrets_found
from colony.host.clock import SystemClock
from colony.host.journal import RunFolder
from colony.host.registry import read_project

app = verbs()

BACKLOG: Final = 20

First = Annotated[str, typer.Argument(metavar="S", help="The session; or P N, for a ticket's.")]
Second = Annotated[str | None, typer.Argument(metavar="[N]", show_default=False)]
All = Annotated[
    bool, typer.Option("--all", help=f"From its start; else its last {BACKLOG} steps, and on.")
]


@verb(app)
def tail(context: Context, session: First, number: Second = None, all_: All = False) -> None:
    """Follow a session: what it says and which tools it calls, until it ends or rests.

    `colony tail shop 3` follows the session that holds this ticket, or the last one that did.
    """
    place = context.settings.place
    name = (
        session_named(session) if number is None else _session_of(context, ref_of(session, number))
    )
    watcher = Watcher(
        host=place.host,
        clock=SystemClock(),
        pause=time.sleep,
        agent_for=agent_for,
        backlog=None if all_ else BACKLOG,
        secrets_of=lambda project: _secrets(context, project),
    )
    folder = RunFolder(place.runs_dir / name)
    if folder.path.is_symlink() or folder.path.exists():
        _show(context, follow(folder, watcher))
        return
    with looking_at_sessions(context) as tracker:
        try:
            _show(context, follow_told(tracker, name, watcher))
        except NotFound:
            raise no_session(context, name) from None


def _secrets(context: Context, name: str) -> dict[str, str]:
    place = context.settings.place
    project = read_project(place.projects_dir / f"{name}.json")
    return secrets_found(project, place.home) if isinstance(project, Project) else {}


def _show(context: Context, lines: Iterator[Line]) -> None:
    for line in lines:
        if line.kind == "warning":
            context.show.problem(line)
        else:
            context.show.line(line, "bold" if line.kind == "tail" else "")
        if context.show.out.gone:
            return


def _session_of(context: Context, ref: Ref) -> str:
    """The session that holds the ticket; else the newest of it, here or on another host."""
    here = [
        one
        for one in sightings(context.settings.place.runs_dir)
        if isinstance(one, Here) and one.facts.ticket == ref
    ]
    running = [one.session for one in here if one.running]
    if running:
        return running[-1]
    with looking_at_sessions(context) as tracker:
        lease = tracker.ticket(ref).ticket.lease
        host, known = context.settings.place.host, {one.session for one in here}
        others = told_elsewhere(tracker, host, known)
    if lease is not None and lease.session:
        return session_named(lease.session)
    found = in_order((*here, *(one for one in others if one.record.ref == ref)))
    if not found:
        raise NotFound(f"no session of {ref} is known here")
    return found[-1].session
