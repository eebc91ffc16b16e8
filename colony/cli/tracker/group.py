"""The group of the verbs under `colony tracker`."""

from __future__ import annotations

from colony.cli.verb import verbs

app = verbs(help="Care for the tracker itself.")


@app.callback()
def group() -> None:
    """Care for the tracker itself."""
