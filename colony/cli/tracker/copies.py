"""`colony tracker backup`: a copy of the tracker's database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from colony.cli.tracker.group import app
from colony.cli.verb import Context, verb
from colony.core.lines import Json, Line
from colony.flow.wiring.stores import need_database
from colony.tracker.places import backup as copy_to


@verb(app)
def backup(
    context: Context,
    target: Annotated[str, typer.Argument(metavar="FILE", help="The copy; it must not exist yet.")],
) -> None:
    """Write a copy of the tracker's database, also while others use it.

    To go back to a copy, stop everything that uses the tracker and put the copy in the place of
    the database.
    """
    need_database(context.settings, "a copy of the database is made")
    path = Path(target).absolute()
    size = copy_to(context.settings.tracker.url, path)
    facts: dict[str, Json] = {"path": str(path), "bytes": size}
    context.show.line(Line("backup", f"{path} ({size:,} bytes)", facts=facts))
