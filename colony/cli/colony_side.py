"""How a verb opens the tracker as Colony itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from colony.cli.verb import Context
from colony.flow.wiring.trackers import open_tracker
from colony.tracker.protocol import Tracker


@contextmanager
def as_colony(context: Context) -> Iterator[Tracker]:
    """The tracker as Colony sees it, which is a machine there."""
    tracker = open_tracker(context.settings, as_person=False, create=False)
    try:
        yield tracker
    finally:
        tracker.close()
