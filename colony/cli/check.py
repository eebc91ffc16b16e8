"""`colony check`: the controller for a session that has a report, and its outcome."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from colony.cli.options import CONTROLLER, LEASE, Post
from colony.cli.sessions_desk import outfit_of, refusals
from colony.cli.verb import Context, verb, verbs
from colony.errors import Refused
from colony.flow.starting import check_session

app = verbs()

Folder = Annotated[str, typer.Argument(metavar="DIR", help="The session's run folder.")]
Again = Annotated[bool, typer.Option("--again", help="A new check, whatever the last one said.")]


@verb(app, (*CONTROLLER, *LEASE))
def check(context: Context, folder: Folder, post: Post = False, again: Again = False) -> int:
    """Check the report of a session; with --post, write the outcome into the tracker.

    A verdict that is there already is used again, unless --again asks for a new one.
    """
    with refusals(context, "check", None):
        path = run_folder(context, folder)
        with outfit_of(context) as outfit:
            ended = check_session(outfit, path, post=post, again=again)
    context.show.line(ended.line, "bold")
    return ended.exit_code


def run_folder(context: Context, given: str) -> Path:
    """As given; a session's bare id, or `runs/…`, is looked for in the runs folder too."""
    path = Path(given).absolute()
    inside = context.settings.place.runs_dir / path.name
    for folder in (path, inside):
        if folder.is_dir():
            return folder
    raise Refused(f"{path} is no run folder")
