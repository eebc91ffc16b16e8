"""People at the tracker: they open tickets, answer, take and send back results, and get in the way.

What they do happens at once; the network does not trouble them.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from colony.core.ticket import NewTicket, Ref, State, Ticket
from colony.tracker.embedded import Embedded
from tests.simulation.kernel import World


@dataclass
class Manner:
    """How people are, drawn for each seed."""

    tickets: int = 8
    until_s: float = 10 * 3600.0
    """When the last ticket is opened."""
    rejects: float = 0.25
    meddles: float = 0.0
    """Chance for each look that somebody moves a ticket that is being worked on."""
    patience_s: float = 3600.0


class People:
    def __init__(self, world: World, anna: Embedded, projects: tuple[str, ...], manner: Manner):
        self.world, self.anna, self.projects, self.manner = world, anna, projects, manner
        self.rejected: dict[Ref, int] = {}
        self.calm = False
        """They only answer from now on."""
        self._keys = (f"anna:{at}" for at in itertools.count(1))

    def begin(self) -> None:
        dice = self.world.dice
        for at in range(self.manner.tickets):
            project = dice.choice(self.projects)
            when_s = 0.0 if at == 0 else dice.uniform(0, self.manner.until_s)
            self.world.at(when_s, lambda project=project, at=at: self._opens(project, at))
        self.world.after(dice.uniform(60, 600), self._looks)

    def _opens(self, project: str, at: int) -> None:
        made = self.anna.create(
            NewTicket(project, f"Ticket {at}", "As said.", ""), key=next(self._keys)
        )
        self.world.tell(f"anna opens {made.ticket.ref}")
        if self.world.roll(0.2):
            word = self.world.dice.choice(("high", "low", "3"))
            self.anna.comment(made.ticket.ref, f"/prio {word}", key=next(self._keys))

    def _looks(self) -> None:
        """Somebody looks at the board, and does a little of what is to be done."""
        rows = self.anna.tickets(None, None, None)
        for row in rows:
            self._decides(row, rows)
        wait_s = self.world.dice.expovariate(1 / (600 if self.calm else self.manner.patience_s))
        self.world.after(60 + wait_s, self._looks)

    def _decides(self, row: Ticket, rows: tuple[Ticket, ...]) -> None:
        dice, roll = self.world.dice, self.world.roll
        match row.state:
            case "review" if self.calm or roll(0.7):
                often = self.rejected.get(row.ref, 0)
                if often < 2 and roll(self.manner.rejects):
                    self.rejected[row.ref] = often + 1
                    self.moves(row.ref, "reopened", "Not what was asked for.")
                else:
                    self.moves(row.ref, "done")
            case "pending" if self.calm or roll(0.7):
                if row.parent is not None and row.machine:
                    self.anna.comment(row.ref, "Red.", key=next(self._keys))
                    self.moves(row.ref, "done")
                elif all(each.state in ("done", "canceled") for each in row.children):
                    self.moves(row.ref, "open")
            case "progress" | "open" | "reopened" if not self.calm and roll(self.manner.meddles):
                self.meddles(row.ref, dice.choice(("pending", "open", "canceled", "says", "done")))

    def meddles(self, ref: Ref, how: str) -> None:
        """At any moment, without a look at what the machine is doing."""
        self.world.count(f"a person: {how}")
        if how == "says":
            self.anna.comment(ref, "One more thing: make it round.", key=next(self._keys))
        else:
            self.moves(ref, how, "")  # type: ignore[arg-type]

    def between(self, name: str, args: tuple[Any, ...]) -> None:
        """The worst moment: after the machine has read, before it writes."""
        if args and isinstance(args[0], Ref) and not self.calm:
            how = self.world.dice.choice(("says", "says", "pending", "open", "done"))
            self.meddles(args[0], how)

    def moves(self, ref: Ref, state: State, text: str = "") -> None:
        before = self.anna.ticket(ref).ticket.state
        if before == state:
            return
        self.world.tell(f"anna moves {ref} from {before} to {state}")
        self.anna.move(ref, state, key=next(self._keys), text=text)
