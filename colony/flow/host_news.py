"""News of this host for whoever looks at the tracker: told after an iteration of the loop.

As news of a session they are no history, and nothing is decided by them. They are told by a thread
of their own; what cannot be told is no error, and keeps nothing waiting.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from colony.core.admission import Reading
from colony.core.host_record import host_record
from colony.core.iteration import Iteration
from colony.core.records import HostRecord
from colony.host.clock import Clock
from colony.host.threads import Thread, Threads
from colony.tracker.protocol import Tracker

EVERY_S: Final = 10.0
"""At least between two tries."""
STILL_S: Final = 300.0
"""Until what is as before is told again: an idle look costs one request, not two."""
LAST_S: Final = 0.5
"""How long the last word is waited for, when the loop ends."""


@dataclass(frozen=True, slots=True)
class Teller:
    """What the news go out with."""

    name: str
    """This host's."""
    tracker: Tracker
    clock: Clock
    threads: Threads
    read: Callable[[], Reading | None]
    """The machine as it is now."""


class HostNews:
    def __init__(self, teller: Teller) -> None:
        self._teller = teller
        self._try: Thread | None = None
        self._tried_s: float | None = None
        self._told: HostRecord | None = None
        self._last: Iteration | None = None

    def told(self, done: Iteration) -> None:
        """An iteration is over. Never waits, never fails."""
        self._last = done
        gist = replace(host_record(self._teller.name, done, None), iteration=None)
        now_s = self._teller.clock.boot_s()
        every_s = STILL_S if gist == self._told else EVERY_S
        if self._tried_s is None or now_s - self._tried_s >= every_s:
            self._begin(done, gist)

    def over(self, running: int) -> None:
        """The loop ends: nothing more begins here."""
        if self._last is not None:
            done = replace(self._last, parallel=0, running=running)
            self._join()
            self._begin(done, replace(host_record(self._teller.name, done, None), iteration=None))
            self._join()

    def _begin(self, done: Iteration, gist: HostRecord) -> None:
        if self._try is not None and self._try.is_alive():
            return
        self._tried_s = self._teller.clock.boot_s()
        try:
            put = functools.partial(self._put, done, gist)
            self._try = self._teller.threads.begin(put, "host news")
        except RuntimeError:
            return

    def _join(self) -> None:
        if self._try is not None:
            self._try.join(LAST_S)

    def _put(self, done: Iteration, gist: HostRecord) -> None:
        teller = self._teller
        try:
            teller.tracker.put_host(host_record(teller.name, done, teller.read()))
            self._told = gist
        except Exception:  # noqa: BLE001, S110 - the loop goes on, whatever becomes of its news
            pass
