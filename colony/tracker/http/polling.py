"""Changes of a tracker that has no feed: what `updatedMs` shows, each event told once.

A position is a time. Tickets that changed since then, less two seconds, are read again, and of
each only the events that were not told before. What was told is remembered in this process; where
that memory does not reach back to the position that is asked after, events of the last two seconds
before it are told once more. Nothing tells that a server was put back from an older copy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from colony.core.ticket import FeedEvent, History, Ref
from colony.tracker.reads import Changes

BACK_MS: Final = 2000
"""How much later than its time a change may become visible."""

Since = Callable[[int], tuple[History, ...]]
"""Every ticket that changed at that time or later, with its history."""


class Polling:
    """One reader's way through the changes. Threads may share it."""

    def __init__(self, since: Since) -> None:
        self._since = since
        self._lock = threading.Lock()
        self._position = -1
        self._floor_ms = 0
        self._told: dict[Ref, int] = {}
        """How many events of each ticket have been told."""

    def after(self, position: int, limit: int) -> Changes:
        with self._lock:
            position = max(0, position)
            if position != self._position:
                self._told = {}
                self._floor_ms = position - BACK_MS if position else 0
            seen = self._since(max(0, position - BACK_MS))
            news = sorted((each for one in seen for each in self._news(one)), key=_by_time)
            page = news[: max(1, limit)]
            for _, each, at in page:
                assert each.ref is not None
                self._told[each.ref] = at
            newest = max((each.ticket.updated_ms for each in seen), default=0)
            reached = page[-1][0] if len(page) < len(news) else newest
            self._position = max(position, reached)
            return Changes(tuple(each for _, each, _ in page), self._position)

    def _news(self, history: History) -> list[tuple[int, FeedEvent, int]]:
        """Each event not told yet, with a time that never goes back, and its place."""
        ref, told = history.ticket.ref, self._told.get(history.ticket.ref)
        news, time_ms = [], history.ticket.created_ms
        for at, event in enumerate(history.events, 1):
            time_ms = max(time_ms, event.at_ms)
            known = at <= told if told is not None else time_ms < self._floor_ms
            if not known:
                news.append((time_ms, FeedEvent(ref.project, ref, event), at))
        return news


def _by_time(new: tuple[int, FeedEvent, int]) -> tuple[int, Ref, int]:
    time_ms, each, at = new
    assert each.ref is not None
    return time_ms, each.ref, at
