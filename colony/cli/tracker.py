"""`colony tracker`: care for the tracker itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from colony.cli.verb import Context, verb, verbs
from colony.core.lines import Json, Line
from colony.flow.wiring.readers import need_embedded
from colony.tracker.places import backup as copy_to

app = verbs(help="Care for the tracker itself.")


@app.callback()
def group() -> None:
    """Care for the tracker itself."""


@verb(app)
def backup(
    context: Context,
    target: Annotated[str, typer.Argument(metavar="FILE", help="The copy; it must not exist yet.")],
) -> None:
    """Write a copy of the tracker's database, also while others use it.

    To go back to a copy, stop everything that uses the tracker and put the copy in the place of
    the database.
    """
    need_embedded(context.settings)
    path = Path(target).absolute()
    size = copy_to(context.settings.tracker.url, path)
    facts: dict[str, Json] = {"path": str(path), "bytes": size}
    context.show.line(Line("backup", f"{path} ({size:,} bytes)", facts=facts))
