"""`colony leases`: which session holds which ticket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from colony.cli.reaching import as_colony
from colony.cli.show import Row, Show
from colony.cli.verb import Context, verb, verbs
from colony.core.lease import Lease
from colony.core.lines import Line
from colony.core.session import Facts
from colony.core.ticket import Ref
from colony.flow.leases import give_back, lines
from colony.flow.leases import leases as find
from colony.flow.runs import facts_of
from colony.host.journal import RunFolder
from colony.host.lock import is_locked

app = verbs()

COLUMNS = ("ticket", "held by")

Expire = Annotated[
    bool, typer.Option("--expire", help="Give tickets back whose session is silent for too long.")
]


@verb(app)
def leases(context: Context, expire: Expire = False) -> None:
    """Show which session holds which ticket, and until when."""
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
    """A session of this host is taken up where it stands, never expired from here."""
    place = context.settings.place
    if lease.host.casefold() != place.host.casefold():
        return None
    folder = RunFolder(place.runs_dir / lease.session)
    if is_locked(folder.lock):
        return "its session is running on this host"
    facts = facts_of(folder)
    if isinstance(facts, Facts) and facts.outcome is None:
        ref: Ref = facts.ticket
        return f"its session is kept on this host: colony work {ref.project} {ref.number} goes on"
    return None
