"""How a verb reaches the tracker as somebody who may write, or to look at its sessions."""

# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from colony.cli.looking import warning_of
from colony.cli.verb import Context
from colony.core.address import is_served
from colony.tracker.protocol import Tracker
from colony.tracker.records.reads import RecordReads


def tracker_of(context: Context, *, as_person: bool, create: bool = False) -> Tracker:
    """The tracker as the person at this shell or as Colony itself. `create`: the database is made
    where there is none; a server's never is."""
    settings = context.settings
    if is_served(settings.tracker.url):
        from colony.flow.wiring.remote import open_remote

        return open_remote(settings, warning_of(context), as_person=as_person)
    from colony.flow.wiring.trackers import open_tracker

    return open_tracker(settings, as_person=as_person, create=create)


@contextmanager
def looking_at_sessions(context: Context) -> Iterator[RecordReads]:
    """The tracker's reads, with what hosts told of their sessions."""
    reads = _record_reads(context)
    try:
        yield reads
    finally:
        reads.close()


def _record_reads(context: Context) -> RecordReads:
    settings = context.settings
    if is_served(settings.tracker.url):
        from colony.flow.wiring.remote import remote_reader

        return remote_reader(settings, warning_of(context))
    from colony.flow.wiring.records import record_reader

    return record_reader(settings)
