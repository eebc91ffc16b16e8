"""`colony test`: the tests of the checkout."""

from __future__ import annotations

from typing import Annotated

import typer

from colony.cli.checkout import PASSED_ON, become, runner_arguments
from colony.cli.verb import Context, verb, verbs

app = verbs(context_settings=PASSED_ON)

Arguments = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ARGS]...", help="As the test runner takes them.", show_default=False),
]


@verb(app)
def test(context: Context, arguments: Arguments = None) -> None:
    """Run the tests, in parallel. Paths are seen from the checkout's folder.

    Options that are not named here are the test runner's own: test tests/core -k lease -x
    """
    become(context, "tests", runner_arguments(arguments or ()), needs="pytest")
