"""`colony pause`: nothing new starts, everywhere or in one project."""

from __future__ import annotations

from typing import Annotated

import typer

from colony.cli.verb import Context, verb, verbs
from colony.core.lines import Line
from colony.core.ticket import is_name
from colony.errors import UsageProblem
from colony.host.control import Control

app = verbs()

MaybeProject = Annotated[
    str | None, typer.Argument(metavar="[PROJECT]", help="Only this one.", show_default=False)
]


@verb(app)
def pause(context: Context, project: MaybeProject = None) -> None:
    """Hold back starts of the loop; sessions that run go on, and post.

    It lasts until `colony resume`, whatever is restarted meanwhile.
    """
    if project is not None and not is_name(project):
        raise UsageProblem(f"{project}: no project can be named so")
    Control(context.settings.place.home).pause(project or "")
    where = f"of {project} " if project else ""
    again = f"colony resume{f' {project}' if project else ''}"
    text = f"— nothing new {where}starts; what runs goes on. Go on: {again}"
    context.show.line(Line("pause", text, facts={"project": project}))
