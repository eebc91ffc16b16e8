"""How a verb looks at the tracker and the registry without writing anything."""

# An HTTP client costs more than all of a command on a database file, and the other way round.
# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing

from colony.cli.verb import Context
from colony.core.address import is_served
from colony.core.lines import Line
from colony.flow.observe import Viewpoint
from colony.host.registry import read_registry
from colony.tracker.reads import Reads


def looking(context: Context) -> AbstractContextManager[Reads]:
    """The tracker's reads, for as long as a block. They are the same for everybody."""
    return closing(reads_of(context))


def reads_of(context: Context) -> Reads:
    settings = context.settings
    if is_served(settings.tracker.url):
        from colony.flow.wiring.remote import remote_reader

        return remote_reader(settings, warning_of(context))
    from colony.flow.wiring.readers import reader

    return reader(settings)


def warning_of(context: Context) -> Callable[[str], None]:
    """Says what a person should know of how the tracker is reached."""
    return lambda told: context.show.problem(Line("warning", f"— {told}"))


def viewpoint_of(context: Context) -> Viewpoint:
    """The registry as it is now, and who is who."""
    place, tracker, work = context.settings.place, context.settings.tracker, context.settings.work
    return Viewpoint(
        registry=read_registry(place.projects_dir, place.home, place.host),
        host=place.host,
        intake="all" if tracker.intake == "all" else "members",
        creator_names=frozenset(tracker.creator_names),
        max_starts=work.max_starts_per_hour,
        max_cost_cents=work.max_cost_per_ticket or 0,
        max_review=work.max_review,
        capabilities=frozenset(work.capabilities),
    )
