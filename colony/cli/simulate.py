"""`colony simulate`: the simulation of the checkout."""

from __future__ import annotations

from typing import Annotated

import typer

from colony.cli.checkout import PASSED_ON, become
from colony.cli.verb import Context, verb, verbs

app = verbs(context_settings=PASSED_ON)

Arguments = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ARGS]...", help="As the simulation takes them.", show_default=False),
]


@verb(app)
def simulate(context: Context, arguments: Arguments = None) -> None:
    """Simulate days full of faults: several schedulers, agents, people.

    --seeds N days (300) from seed --from N (0) on, --jobs N at once (one for each processor). Or
    one again with its story: --replay SEED.
    """
    become(
        context,
        "tests/simulation/__main__.py",
        ["-m", "tests.simulation", *(arguments or ())],
        needs="greenlet",
    )
