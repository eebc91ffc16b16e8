"""`colony pause`: start nothing new, of one project or at all."""

from __future__ import annotations

from typing import Annotated

import typer

from colony.cli.looking import viewpoint_of
from colony.cli.orders_desk import control_of
from colony.cli.verb import Context, verb, verbs
from colony.core.lines import Line
from colony.errors import NotFound

app = verbs()

ProjectName = Annotated[
    str | None,
    typer.Argument(metavar="[PROJECT]", help="Default: everything.", show_default=False),
]


@verb(app)
def pause(context: Context, project: ProjectName = None) -> None:
    """Start nothing new until `colony resume`. Sessions that run go on to their end."""
    control = control_of(context)
    if project is not None and project not in viewpoint_of(context).registry.projects:
        raise NotFound(f"project {project} has no registry file")
    control.pause(project)
    what, again = (project, f" {project}") if project is not None else ("everything", "")
    text = f"{what} — running sessions finish, nothing new starts, until: colony resume{again}"
    context.show.line(Line("pause", text, facts={"project": project}), "bold")
