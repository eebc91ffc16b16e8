"""The way into the program: as little as possible before the verb is known."""

from __future__ import annotations

import gc


def main() -> int:
    """Run the program; the answer is its exit status."""
    # Importing makes no garbage: looking for it would cost a tenth of a short command. What a verb
    # has loaded, `cli.app` puts out of the collector's sight for good and turns it on again.
    gc.disable()
    from colony.cli.app import main as run  # noqa: PLC0415

    return run()
