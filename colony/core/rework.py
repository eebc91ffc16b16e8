"""Rejections: what a creator sent back, and whether it is still to be answered by work."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from colony.core.keywords import Keyword, Unknown, keyword_of
from colony.core.markers import LeaseLine, Report, marker_of, parse
from colony.core.people import People, is_creator
from colony.core.ticket import Event, History

_STARTS = ("started", "salvage", "queued")


@dataclass(frozen=True, slots=True)
class Rejection:
    """A result that was sent back and has not been answered by a report yet."""

    event: int
    """Id of the state event to `reopened`."""
    reason: str
    """The creator's words; empty where none were given."""
    author: str
    at_ms: int
    comments: tuple[Event, ...] = ()
    """What creators wrote from the last session's start to the rejection, keywords left out."""


def last_start(events: Iterable[Event]) -> Event | None:
    """The event with which the last session took the ticket."""
    last = None
    for event in events:
        if event.kind != "state" or event.after != "progress":
            continue
        marker = marker_of(event)
        if isinstance(marker, LeaseLine) and marker.kind in _STARTS:
            last = event
    return last


def last_rejection(events: Iterable[Event]) -> Event | None:
    """The last state event to `reopened`, by a person or on a person's behalf."""
    last = None
    for event in events:
        if event.kind == "state" and event.after == "reopened":
            last = event
    return last


def is_rework(history: History) -> bool:
    """True for a reopened ticket that no session has been started on since."""
    if history.ticket.state != "reopened":
        return False
    rejection, start = last_rejection(history.events), last_start(history.events)
    return rejection is not None and (start is None or start.id < rejection.id)


def rejection_of(history: History, people: People) -> Rejection | None:
    """The rejection that the next session has to answer; None where there is none.

    A report answers it, unless it was half done or late: a session without a usable report, or
    with half of the work, leaves it standing.
    """
    rejection = last_rejection(history.events)
    if rejection is None or any(
        _answers(event) for event in history.events if event.id > rejection.id
    ):
        return None
    before = tuple(event for event in history.events if event.id < rejection.id)
    start = last_start(before)
    since = start.id if start else 0
    written = tuple(event for event in before if event.id > since and is_creator(event, people))
    reason, author = _words(rejection, written)
    comments = tuple(event for event in written if _is_plain_comment(event))
    return Rejection(rejection.id, reason, author, rejection.at_ms, comments)


def news_of(history: History, rejection: Rejection | None) -> tuple[Event, ...]:
    """What people wrote since the last session had its brief, keywords left out.

    What stands with the rejection is not said twice.
    """
    start = last_start(history.events)
    if start is None:
        return ()
    since = max(start.id, rejection.event if rejection else 0)
    return tuple(
        event
        for event in history.events
        if event.id > since and not event.machine and _is_plain_comment(event)
    )


def _answers(event: Event) -> bool:
    marker = marker_of(event)
    return isinstance(marker, Report) and not marker.half_done and not marker.late


def _is_plain_comment(event: Event) -> bool:
    if event.kind != "comment" or not event.text.strip():
        return False
    said = keyword_of(event)
    return said is None or isinstance(said, Unknown)


def _words(rejection: Event, written: tuple[Event, ...]) -> tuple[str, str]:
    """Reason and author; of a rejection that Colony wrote for somebody, those of the comment."""
    if not rejection.machine:
        return rejection.text.strip(), rejection.author
    for event in reversed(written):
        said = keyword_of(event)
        if isinstance(said, Keyword) and said.word == "reject":
            return said.text, event.author
    lines = (line for line in rejection.text.splitlines() if parse(line) is None)
    return "\n".join(lines).strip(), rejection.author
