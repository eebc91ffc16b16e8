"""The tracker as a loop follows it: read whole once, and again only when something happened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from colony.core.survey import Survey
from colony.errors import ColonyError
from colony.flow.observe import Viewpoint, look
from colony.tracker.protocol import Tracker

PAGE: Final = 1000


class Watched:
    """The tracker, opened when it can be, and the newest survey of it."""

    def __init__(self, opened: Callable[[], Tracker]) -> None:
        self._open = opened
        self._tracker: Tracker | None = None
        self._survey: Survey | None = None
        self._view: Viewpoint | None = None
        self._after = 0

    @property
    def tracker(self) -> Tracker:
        """ColonyError: it cannot be reached now."""
        if self._tracker is None:
            self._tracker = self._open()
        return self._tracker

    def look(self, view: Viewpoint) -> Survey:
        """What holds now. Nothing new is one question to the feed, and no row.

        ColonyError: it does not answer; what was known before is not thrown away.
        """
        tracker = self.tracker
        if self._survey is None or self._view is not view or self._news(tracker):
            survey = look(tracker, view)
            if self._survey is None:
                self._after = max((row.last_event for row in survey.tickets), default=0)
            self._survey, self._view = survey, view
        self._survey = replace(self._survey, now_ms=tracker.now_ms())
        return self._survey

    def close(self) -> None:
        if self._tracker is not None:
            self._tracker.close()

    def _news(self, tracker: Tracker) -> bool:
        """Something happened since the last question; the feed is followed to its end, before the
        rows are read. A feed that went back is that of an older copy."""
        if "feed" not in tracker.features:
            return True
        found = False
        while True:
            changes = tracker.changes(self._after, PAGE)
            found = found or bool(changes.events) or changes.last < self._after
            self._after = changes.last
            if len(changes.events) < PAGE:
                return found


def reason(problem: ColonyError) -> str:
    """Why the tracker cannot be read, for the line of an iteration."""
    return f"the tracker cannot be read: {problem.line}"
