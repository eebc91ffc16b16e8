"""How a verb looks at the tracker and the registry without writing anything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from colony.cli.reaching import reads_of
from colony.cli.verb import Context
from colony.flow.observe import Viewpoint
from colony.host.registry import read_registry
from colony.tracker.reads import Reads


@contextmanager
def looking(context: Context) -> Iterator[Reads]:
    """The tracker's reads. They are the same for everybody."""
    reads = reads_of(context)
    try:
        yield reads
    finally:
        reads.close()


def viewpoint_of(context: Context) -> Viewpoint:
    """The registry as it is now, and who is who."""
    place, tracker = context.settings.place, context.settings.tracker
    return Viewpoint(
        registry=read_registry(place.projects_dir, place.home, place.host),
        host=place.host,
        intake="all" if tracker.intake == "all" else "members",
        creator_names=frozenset(tracker.creator_names),
    )
