"""What the loop knows of the tracker: read whole once, and again when something has changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from colony.core.survey import Survey
from colony.flow.observe import Viewpoint, look
from colony.tracker.reads import Reads

EVER: Final = 10**15 - 1
"""No event has a larger id: asked after it, the feed only says where it ends."""


class Watch:
    """The newest survey. Forgetting it costs a look, and changes no decision."""

    def __init__(self, tracker: Reads) -> None:
        self._tracker = tracker
        self._last = 0
        self._survey: Survey | None = None

    def forget(self) -> None:
        self._survey = None

    def survey(self, view: Viewpoint) -> Survey:
        """As the tracker is now. `NoAnswer`, `Busy`, …: it does not say."""
        if "feed" not in self._tracker.features:
            return look(self._tracker, view)
        if self._survey is not None and self._same():
            return replace(self._survey, now_ms=self._tracker.now_ms())
        # The end of the feed is asked for before the rows: what changes in between is seen once
        # more, never missed.
        last = self._tracker.changes(EVER, 1).last
        self._survey = look(self._tracker, view)
        self._last = last
        return self._survey

    def _same(self) -> bool:
        changes = self._tracker.changes(self._last, 1)
        return not changes.events and changes.last == self._last
