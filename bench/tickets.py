"""A tracker full of tickets, as a team has them after a year: most are done."""

from __future__ import annotations

import itertools
from pathlib import Path

from colony.core.keywords import priority_of
from colony.core.lease import view_of
from colony.core.ticket import Me, NewTicket, Ref, State
from colony.tracker.embedded import Embedded
from colony.tracker.ledger import Derive
from colony.tracker.service import Service
from colony.tracker.sql import files

SHARES: tuple[State, ...] = ("open", "done", "review", "done", "pending", "open", "done", "done")
"""States of tickets, in turn; every tenth has a parent, every seventh a blocker."""


def home_with_tickets(home: Path, count: int) -> None:
    """A home with one project and `count` tickets in its embedded tracker."""
    folder = home / "shop"
    folder.mkdir(parents=True)
    (folder / "CONCEPT.md").write_text("# shop\n")
    (home / "projects").mkdir()
    entry = '{"name": "shop", "dev": {"folder": "shop"}, "concept": "CONCEPT.md"}'
    (home / "projects" / "shop.json").write_text(entry)
    now = itertools.count(1_790_000_000_000)
    engine = files.open_memory()
    service = Service(engine, lambda: next(now), Derive(view_of, priority_of))
    tracker = Embedded(service, Me("owner", "", machine=False, owner=True))
    for at in range(count):
        parent = Ref("shop", at - 3) if at % 10 == 9 else None
        new = NewTicket("shop", f"Ticket {at}: make it better", "As said.", parent=parent)
        made = tracker.create(new, key=f"make:{at}").ticket
        state = SHARES[at % len(SHARES)]
        if at % 7 == 6:
            tracker.block(made.ref, Ref("shop", at - 2), key=f"block:{at}")
        if state != "open":
            tracker.move(made.ref, state, key=f"move:{at}")
    # Written at once: a write at a time would wait for the disk tens of thousands of times.
    engine.connection().execute("VACUUM INTO ?", (str(home / "colony.db"),))
    tracker.close()
