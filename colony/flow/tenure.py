"""The lease as one process holds it: a thread keeps it alive, the session's owner looks at it."""

from __future__ import annotations

from collections.abc import Callable

from colony.core.session import LeaseFacts
from colony.core.standing import Standing
from colony.flow.hold import Holder, Keeper
from colony.flow.take import Hold

QUICK_S = 0.8
"""How long somebody who is being stopped waits for the tracker."""


class Tenure:
    """At most one lease at a time. Nothing is renewed before `keep` and after `release`."""

    def __init__(self, holder: Holder, wake: Callable[[], None], tell: Callable[[], None]) -> None:
        """`wake` and `tell` are called by the thread that renews, as `Keeper` says."""
        self._holder = holder
        self._wake = wake
        self._tell = tell
        self._keeper: Keeper | None = None
        self._written: LeaseFacts | None = None

    def keep(self, held: Hold, heartbeat_ms: int) -> None:
        """Keep this lease alive from now on."""
        self.release()
        self._written = held.lease
        self._keeper = Keeper(
            self._holder, held.lease, held.trusted_s, heartbeat_ms, self._wake, self._tell
        )
        self._keeper.start()

    def release(self, *, quick: bool = False) -> None:
        """Renew no more. `quick`: what is under way is not waited for."""
        if self._keeper is not None:
            self._keeper.stop(QUICK_S if quick else None)
            self._keeper = None

    def renewed(self) -> LeaseFacts | None:
        """The lease since it was last asked for; None: nothing new."""
        if self._keeper is None or self._keeper.lease == self._written:
            return None
        self._written = self._keeper.lease
        return self._written

    @property
    def over(self) -> bool:
        """It is kept, and lost or out of trust."""
        return self._keeper is not None and self._keeper.over()

    @property
    def lost(self) -> Standing | None:
        return self._keeper.lost if self._keeper is not None else None
