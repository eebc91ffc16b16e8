"""How a verb reaches the tracker to write, or to look at its sessions."""

# ruff: noqa: PLC0415

from __future__ import annotations

from contextlib import AbstractContextManager, closing

from colony.cli.looking import warning_of
from colony.cli.verb import Context
from colony.core.address import is_served
from colony.tracker.protocol import Tracker
from colony.tracker.records.reads import RecordReads


def tracker_of(
    context: Context, *, as_person: bool, create: bool = False, hasty: bool = False
) -> Tracker:
    """The tracker as the person at this shell or as Colony itself. `create`: the database is made
    where there is none; a server's never is. `hasty`: a server is asked once, not again and again.
    """
    settings = context.settings
    if is_served(settings.tracker.url):
        from colony.flow.wiring.remote import open_remote

        return open_remote(settings, warning_of(context), as_person=as_person, hasty=hasty)
    from colony.flow.wiring.trackers import open_tracker

    return open_tracker(settings, as_person=as_person, create=create)


def as_colony(context: Context, *, hasty: bool = False) -> AbstractContextManager[Tracker]:
    """The tracker as Colony sees it, which is a machine there, for as long as a block."""
    return closing(tracker_of(context, as_person=False, hasty=hasty))


def looking_at_sessions(context: Context) -> AbstractContextManager[RecordReads]:
    """The tracker's reads, with what hosts told of their sessions, for as long as a block."""
    settings = context.settings
    if is_served(settings.tracker.url):
        from colony.flow.wiring.remote import remote_reader

        return closing(remote_reader(settings, warning_of(context)))
    from colony.flow.wiring.records import record_reader

    return closing(record_reader(settings))
