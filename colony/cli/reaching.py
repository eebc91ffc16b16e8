"""How a verb reaches the tracker, whatever kind it is. Only what that kind needs is loaded."""

# An HTTP client costs more than all of a command on a database file, and the other way round.
# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Callable

from colony.cli.verb import Context
from colony.config import Settings
from colony.core.lines import Line
from colony.tracker.protocol import Tracker
from colony.tracker.reads import Reads


def is_remote(settings: Settings) -> bool:
    """The tracker is behind a server: it has no file here, and tokens say who is who."""
    return settings.tracker.url.startswith(("http://", "https://"))


def tracker_of(context: Context, *, as_person: bool, create: bool = False) -> Tracker:
    """The tracker as the person at this shell or as Colony itself. `create`: the database is made
    where there is none; a server's never is."""
    settings = context.settings
    if is_remote(settings):
        from colony.flow.wiring.remote import open_remote

        return open_remote(settings, _warn(context), as_person=as_person)
    from colony.flow.wiring.trackers import open_tracker

    return open_tracker(settings, as_person=as_person, create=create)


def reads_of(context: Context) -> Reads:
    """The tracker's reads. They are the same for everybody."""
    settings = context.settings
    if is_remote(settings):
        from colony.flow.wiring.remote import remote_reader

        return remote_reader(settings, _warn(context))
    from colony.flow.wiring.readers import reader

    return reader(settings)


def _warn(context: Context) -> Callable[[str], None]:
    return lambda told: context.show.problem(Line("warning", f"— {told}"))
