"""`colony box`: what the agents of a project see, as the command that puts a program there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from colony.cli.looking import viewpoint_of
from colony.cli.options import Project
from colony.cli.verb import Context, verb, verbs
from colony.core.lines import Json, Line
from colony.errors import UsageProblem
from colony.flow.briefing import project_of
from colony.flow.wiring.walls import prefix_of, try_box

app = verbs()

Deploy = Annotated[
    bool, typer.Option("--deploy", help="As for a worker on a ticket marked for deploy.")
]
Folder = Annotated[
    str | None, typer.Option("--folder", metavar="F", help="Work here, not in the dev folder.")
]
Try = Annotated[bool, typer.Option("--try", help="Try it out, as before each session.")]


@verb(app, ("sandbox", "sandbox_ro", "agent"))
def box(
    context: Context,
    project: Project,
    deploy: Deploy = False,
    folder: Folder = None,
    tried: Try = False,
) -> None:
    """Print the command that starts a program in the box of a project, a word a line.

    `$(colony box P) sh -c 'ls /'` shows what a worker sees. The filter of system calls is not in
    it: that is given to bubblewrap by a file descriptor.
    """
    view = viewpoint_of(context)
    found = project_of(view.registry, project)
    works_in = Path(folder).absolute() if folder else None
    if works_in is not None and not works_in.is_dir():
        raise UsageProblem(f"--folder {folder}: no such folder")
    if tried:
        took_ms = try_box(context.settings, view.registry, found, context.environ, works_in)
        text = f"{project} — holds, tried out in {took_ms} ms"
        context.show.line(Line("box", text, facts={"project": project, "ms": took_ms}))
        return
    words = prefix_of(
        context.settings, view.registry, found, context.environ, works_in, deploy=deploy
    )
    if context.show.json:
        argv: list[Json] = list(words)
        context.show.line(Line("box", project, facts={"project": project, "argv": argv}))
    else:
        context.show.out.write("".join(f"{word}\n" for word in words))
