"""What was tried and did not go on: refused starts and failed tries, each with a growing pause."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from colony.core.plan import Refusal
from colony.core.ticket import Ref
from colony.flow.closing import Closing
from colony.flow.kept import Tries
from colony.flow.supervise import Member

REFUSED_MS: Final = (60_000, 300_000, 900_000)
"""Pause before a ticket whose start was refused is tried again."""


class BackOff:
    """In memory alone: a loop that begins anew tries at once. It forgets what is long over."""

    def __init__(self) -> None:
        self._refused: dict[Ref, tuple[int, Refusal]] = {}
        self.tries: dict[str, Tries] = {}
        """By session."""

    @property
    def refusals(self) -> dict[Ref, Refusal]:
        return {ref: refusal for ref, (_, refusal) in self._refused.items()}

    def keep(self, sessions: Collection[str]) -> None:
        """Only these sessions have not ended."""
        self.tries = {name: each for name, each in self.tries.items() if name in sessions}

    def remember(
        self, member: Member, told: Closing, now_ms: int, *, ordered: bool = False
    ) -> None:
        """What has not ended is tried again later, each time after a longer pause. `ordered`: what
        a person wants of it is still to be done."""
        self._refused = {
            ref: (count, each)
            for ref, (count, each) in self._refused.items()
            if now_ms - each.until_ms < REFUSED_MS[-1]
        }
        if told.refused:
            count = self._refused[member.ref][0] + 1 if member.ref in self._refused else 1
            until_ms = now_ms + REFUSED_MS[min(count, len(REFUSED_MS)) - 1]
            self._refused[member.ref] = (count, Refusal(until_ms, told.refused))
        elif told.stood:
            before = self.tries.get(member.session)
            count = before.count + 1 if before is not None and before.stood == told.stood else 1
            self.tries[member.session] = Tries(count, told.stood, now_ms, ordered)
        elif told.no_room is None:
            self.tries.pop(member.session, None)
