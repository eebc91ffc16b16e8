"""What the verbs of a checkout share: an installed wheel has neither tests nor benchmarks."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from colony.cli.verb import Context
from colony.errors import Refused, Unreachable

PASSED_ON = {"ignore_unknown_options": True}
"""For a verb whose arguments are another program's, options too."""


def become(context: Context, entry: str, arguments: Sequence[str], needs: str = "") -> NoReturn:
    """Turn this process into Python with these arguments, in the checkout's folder.

    `entry` is the file or folder of the checkout that is run; `needs` the library that runs it.
    """
    root = context.settings.place.checkout
    if root is None:
        raise Refused(f"{entry} needs a checkout of Colony; this one is installed")
    if not (root / entry).exists():
        raise Refused(f"{root / entry} does not exist")
    if needs and importlib.util.find_spec(needs) is None:
        raise Unreachable(f"{needs} is not installed here: ./colony.sh test installs it")
    # A setting of this shell would change what is tested.
    kept = context.environ.items()
    environ = {name: value for name, value in kept if not name.startswith("COLONY_")}
    os.chdir(root)
    os.execve(sys.executable, [sys.executable, *arguments], environ)  # noqa: S606


def runner_arguments(given: Sequence[str]) -> list[str]:
    """The command line that runs the tests: one process more than there are processors, since some
    always wait, and whichever is done takes from the others; unless it says otherwise."""
    alone = any(each.startswith(("-n", "--numprocesses", "--pdb")) for each in given)
    spread = ["-n", str((os.cpu_count() or 1) + 1), "--dist", "worksteal"]
    if alone or "no:xdist" in " ".join(given):
        spread = []
    return ["-m", "pytest", *spread, *given]
