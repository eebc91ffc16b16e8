"""The stop ladder of a loop: first sessions may finish, then they are parked, then killed."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Final

from colony.flow.supervise import Supervisor
from colony.host.clock import Clock
from colony.host.signals import LoopSignals

PARK: Final = 2
KILL: Final = 3
"""How many stops park the sessions, and how many kill them."""
FOR_EVER_S: Final = 3600.0
"""Longer than anybody waits at once."""


class StopLadder:
    """Each step reaches the sessions once: a second SIGTERM would kill what is being parked."""

    def __init__(
        self,
        signals: LoopSignals,
        supervisor: Supervisor,
        clock: Clock,
        say: Callable[[str], None],
    ) -> None:
        self._signals = signals
        self._supervisor = supervisor
        self._clock = clock
        self._say = say
        self._heard = 0
        self._rung = 0
        self._stopped_s = 0.0
        signals.on_stop = self._hurry

    @property
    def unheard(self) -> bool:
        """A stop came that was not acted on yet."""
        return self._signals.count > self._heard

    def mind(self, finish_s: int) -> bool:
        """Act on what came; True at the first stop. `finish_s`: so long sessions may go on after
        it, 0 for ever."""
        first = False
        while self.unheard:
            self._heard += 1
            first = first or self._heard == 1
            self._step(self._heard)
        if self._heard == 1 and self.until_parking_s(finish_s) <= 0:
            self._signals.count = max(self._signals.count, PARK)
            self._heard = PARK
            self._step(PARK)
        return first

    def until_parking_s(self, finish_s: int) -> float:
        """Seconds until what still runs is parked."""
        if self._heard != 1 or not finish_s:
            return FOR_EVER_S
        return self._stopped_s + finish_s - self._clock.boot_s()

    def _step(self, rung: int) -> None:
        members = len(self._supervisor.members)
        if rung >= KILL:
            self._say(f"killing {members} session(s)")
            self._climb(KILL)
        elif rung == PARK:
            self._say(f"parking {members} session(s)")
            self._climb(PARK)
        else:
            self._stopped_s = self._clock.boot_s()
            goes_on = f", {members} session(s) go on; once more parks them" if members else ""
            self._say(f"stop requested: nothing new starts{goes_on}")

    def _hurry(self, count: int) -> None:
        """In the handler: a second and a third stop reach the sessions at once, also while the loop
        waits for an answer of the tracker."""
        if count >= PARK:
            self._climb(min(count, KILL))

    def _climb(self, rung: int) -> None:
        if rung > self._rung:
            self._rung = rung
            self._supervisor.signal(signal.SIGTERM if rung == PARK else signal.SIGKILL)
