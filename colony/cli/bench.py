"""`colony bench`: the benchmarks of the checkout."""

from __future__ import annotations

from typing import Annotated

import typer

from colony.cli.checkout import PASSED_ON, become
from colony.cli.verb import Context, verb, verbs

app = verbs(context_settings=PASSED_ON)

Arguments = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ARGS]...", help="As the benchmarks take them.", show_default=False),
]


@verb(app)
def bench(context: Context, arguments: Arguments = None) -> None:
    """Run the benchmarks. Options that are not named here are theirs."""
    become(context, "bench/__main__.py", ["-m", "bench", *(arguments or ())])
