"""How a verb opens the tracker as Colony itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from colony.cli.reaching import tracker_of
from colony.cli.verb import Context
from colony.tracker.protocol import Tracker


@contextmanager
def as_colony(context: Context) -> Iterator[Tracker]:
    """The tracker as Colony sees it, which is a machine there."""
    tracker = tracker_of(context, as_person=False)
    try:
        yield tracker
    finally:
        tracker.close()
