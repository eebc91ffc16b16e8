"""What the loop knows of the tracker: read whole once, then only what has changed since.

What is kept depends on no setting, and says nothing that a new look would not say: forgetting it
costs reading, and changes no decision. `core.fold` holds rows that were read at different moments
together.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from colony.core.attempts import HOUR_MS
from colony.core.fold import folded, one_sided
from colony.core.people import People, people_of
from colony.core.survey import Survey, in_review
from colony.core.ticket import Event, FeedEvent, History, ProjectInfo, Ref, Ticket
from colony.errors import NotFound
from colony.flow.observe import LOOKED_AT, Viewpoint, survey_of, unclear
from colony.tracker.reads import Reads

EVER: Final = 10**15 - 1
"""No event has a larger id: asked after it, the feed only says where it ends."""
PAGE: Final = 100
"""Events asked for at once: the longest comments there may be fit into one answer. And histories
that are read before any of them is kept."""
PAGES_MAX: Final = 20
"""So much has happened that reading whole is quicker."""
FEW: Final = 8
"""Changed tickets that are read one by one, each with its history; of more, the rows at once."""
BACK_MS: Final = 2000
"""How much later than its time a change may become visible in a tracker without a feed."""
WHOLE_MS: Final = 300_000
"""How long a tracker without a feed is not read whole again. Nothing there tells that a member
came or went, that a ticket was deleted, or that a change became visible late."""


class Watch:
    """The newest survey."""

    def __init__(self, tracker: Reads) -> None:
        self._tracker = tracker
        self._known: _Known | None = None

    def forget(self) -> None:
        self._known = None

    def survey(self, view: Viewpoint) -> Survey:
        """As the tracker is now. `NoAnswer`, `Busy`, …: it does not say."""
        if self._known is not None:
            try:
                if self._known.follow():
                    return self._known.survey(view)
            except NotFound:
                # What was there is gone: no feed tells of that.
                pass
        self._known = None
        self._known = _whole(self._tracker)
        return self._known.survey(view)


def _whole(tracker: Reads) -> _Known:
    known = _Feed(tracker) if "feed" in tracker.features else _Times(tracker)
    known.put(tracker.tickets())
    return known


class _Known(ABC):
    """Rows, events and people, each as it was when last read or later.

    Where reading breaks off, what has been read is kept, and the position stays: what happened
    since then is read once more.
    """

    def __init__(self, tracker: Reads) -> None:
        self._tracker = tracker
        self._rows: dict[Ref, Ticket] = {}
        self._ordered: tuple[Ticket, ...] = ()
        self._live: tuple[Ticket, ...] = ()
        """Those whose people or history can matter."""
        self._events: dict[Ref, tuple[Event, ...]] = {}
        self._infos: dict[str, ProjectInfo | None] = {}
        """None: the tracker does not know the project."""

    @abstractmethod
    def follow(self) -> bool:
        """Read what has changed since. False: that cannot be told, read whole. NotFound: what was
        there is gone."""

    def put(self, read: Iterable[Ticket]) -> None:
        self._rows = folded(self._rows, read)
        self._ordered = tuple(sorted(self._rows.values(), key=_age))
        self._live = tuple(row for row in self._ordered if row.state in LOOKED_AT)

    def survey(self, view: Viewpoint) -> Survey:
        """What is missing for it is read. NotFound: a ticket is gone."""
        while True:
            people = self._people(view)
            now_ms = self._tracker.now_ms()
            since_ms = now_ms - HOUR_MS if view.max_starts else None
            wanted = [row.ref for row in self._live if unclear(row, people, view, since_ms)]
            missing = [ref for ref in wanted if ref not in self._events]
            if not missing:
                break
            self._read(missing[:PAGE])
        self._events = {ref: self._events[ref] for ref in wanted}
        histories = [History(self._rows[ref], events) for ref, events in self._events.items()]
        survey = survey_of(self._tracker, view, self._ordered, people, histories)
        return replace(survey, reviews=in_review(self._ordered)) if view.max_review else survey

    def _people(self, view: Viewpoint) -> dict[str, People]:
        names = sorted({row.ref.project for row in self._live})
        for name in names:
            if name not in self._infos:
                try:
                    self._infos[name] = self._tracker.project(name)
                except NotFound:
                    self._infos[name] = None
        return {name: people_of(self._infos[name], view.creator_names) for name in names}

    def _read(self, refs: Iterable[Ref]) -> None:
        """Rows and histories."""
        found = [self._tracker.ticket(ref) for ref in refs]
        self._events |= {each.ticket.ref: each.events for each in found}
        self.put(each.ticket for each in found)

    def _settle(self, read: Collection[Ref]) -> None:
        """Tickets whose row was read before they became relatives of these, or ceased to be."""
        others = one_sided(self._rows, read)
        if others:
            self.put([self._tracker.ticket(ref).ticket for ref in others])


class _Feed(_Known):
    """Of a tracker whose feed tells of whatever rows and people show."""

    def __init__(self, tracker: Reads) -> None:
        super().__init__(tracker)
        # The end of the feed is asked for before the rows: what changes in between is seen once
        # more, never missed.
        self._last = tracker.changes(EVER, 1).last
        self._anchor = self._event_at(self._last)

    def follow(self) -> bool:
        last = self._last
        events: list[FeedEvent] = []
        for _ in range(PAGES_MAX):
            page = self._tracker.changes(last, PAGE)
            if page.last < last:
                return False
            events += page.events
            last = page.last
            if len(page.events) < PAGE:
                break
        else:
            return False
        if not events:
            self._last = last
            return True
        # A store that was put back from an older copy may have come further than before by now.
        if self._anchor != self._event_at(self._last) or not self._take(events):
            return False
        self._last = last
        self._anchor = events[-1] if events[-1].event.id == last else None
        return True

    def _event_at(self, last: int) -> FeedEvent | None:
        """None: no event has this id."""
        found = self._tracker.changes(last - 1, 1).events if last > 0 else ()
        return found[0] if found and found[0].event.id == last else None

    def _take(self, events: list[FeedEvent]) -> bool:
        """Read what these events name. False: that is not as they say."""
        named = {each.ref: each.event for each in events if each.ref is not None}
        projects = {each.project for each in events if each.ref is None}
        for ref in named:
            self._events.pop(ref, None)
        if len(named) <= FEW:
            self._read(named)
        else:
            # A ticket is as new as its newest event, or newer.
            since_ms = min(each.event.at_ms for each in events)
            self.put(self._tracker.tickets(since_ms=since_ms))
        for name in projects:
            # Who is a creator decides what priorities its tickets have.
            self._infos.pop(name, None)
            self.put(self._tracker.tickets(name))
        self._settle(named)
        return all(
            ref in self._rows and self._rows[ref].last_event >= each.id
            for ref, each in named.items()
        )


class _Times(_Known):
    """Of a tracker without a feed: rows that were changed lately, those known already left out."""

    def __init__(self, tracker: Reads) -> None:
        super().__init__(tracker)
        self._read_ms = self._position_ms = tracker.now_ms()

    def follow(self) -> bool:
        now_ms = self._tracker.now_ms()
        if not 0 <= now_ms - self._read_ms < WHOLE_MS:
            return False
        newest_ms = max((row.updated_ms for row in self._ordered), default=0)
        since_ms = min(newest_ms, self._position_ms) - BACK_MS
        found = self._tracker.tickets(since_ms=since_ms)
        changed = [row for row in found if self._rows.get(row.ref) != row]
        if changed:
            for row in changed:
                self._events.pop(row.ref, None)
            self.put(changed)
            self._settle([row.ref for row in changed])
        self._position_ms = now_ms
        return True


def _age(row: Ticket) -> tuple[int, Ref]:
    return row.created_ms, row.ref
