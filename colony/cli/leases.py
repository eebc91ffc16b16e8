"""`colony leases`: which session holds which ticket."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Annotated

import typer

from colony.cli.reaching import as_colony
from colony.cli.show import Row, Show
from colony.cli.verb import Context, verb, verbs
from colony.core.lease import Lease
from colony.core.lines import Line
from colony.core.live import is_live
from colony.core.session import Facts
from colony.core.ticket import Ref
from colony.errors import Refused
from colony.flow.leases import give_back, lines
from colony.flow.leases import leases as find
from colony.flow.runs import facts_of
from colony.host.journal import Garbage, RunFolder
from colony.host.lock import is_locked

app = verbs()

COLUMNS = ("ticket", "held by")

Expire = Annotated[
    bool, typer.Option("--expire", help="Give tickets back whose session is silent for too long.")
]

Live = Annotated[
    bool, typer.Option("--live", help="With --expire: the tracker may be one that others use, too.")
]


@verb(app)
def leases(context: Context, expire: Expire = False, live: Live = False) -> None:
    """Show which session holds which ticket, and until when."""
    if expire and not live and is_live(context.settings.tracker.url):
        raise Refused("COLONY_TICKETS_URL names a tracker that others use, too: add --live")
    with as_colony(context) as tracker:
        seen = find(tracker)
        *rows, count = lines(seen, tracker.now_ms())
        _show(context.show, rows)
        context.show.line(count)
        if expire:
            for line in give_back(tracker, seen, lambda _, lease: _lives(context, lease)):
                context.show.line(line)
        elif count.facts["dead"]:
            context.show.line(Line("note", "give dead ones back: colony leases --expire"), "dim")


def _show(show: Show, rows: Sequence[Line]) -> None:
    """A drawn table on a terminal, else a line each."""
    if show.wide:
        show.table(COLUMNS, [Row(line, tuple(line.text.split(" — ", 1))) for line in rows])
        return
    for line in rows:
        show.line(line)


def _lives(context: Context, lease: Lease) -> str | None:
    """Whoever holds the run folder takes the session up, whatever the host was called then; only
    one that is missing or has ended leaves the ticket to others."""
    runs = context.settings.place.runs_dir
    if PurePath(lease.session).name != lease.session or not (runs / lease.session).is_dir():
        return None
    folder = RunFolder(runs / lease.session)
    if is_locked(folder.lock):
        return "its session is running on this host"
    facts = facts_of(folder)
    if isinstance(facts, Garbage):
        return f"its run folder on this host cannot be read ({facts.reason})"
    if isinstance(facts, Facts) and facts.outcome is None:
        ref: Ref = facts.ticket
        return f"its session is kept on this host: colony work {ref.project} {ref.number} goes on"
    return None
