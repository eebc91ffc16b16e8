"""Tickets and histories for tests, as they would come from a tracker."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from colony.core.lease import view_of
from colony.core.markers import LeaseLine, Marker, format
from colony.core.people import People
from colony.core.project import Project
from colony.core.survey import Survey
from colony.core.ticket import Event, History, Ref, Related, State, Ticket

S1, S2, S3 = "s-20260101T0900-00000a", "s-20260101T1000-00000b", "s-20260101T1100-00000c"
HOST = "oak"
SHA = "0123456789ab"
MINUTE = 60_000
TTL = 120 * MINUTE
ANNA, BOB, EVE = ("anna", "u1"), ("bob", "u2"), ("eve", "u3")
PEOPLE = People(frozenset({"u1"}), frozenset({"u2"}), frozenset({"anna"}), frozenset({"bob"}))


def line(marker: Marker, words: str = "Something happened.") -> str:
    return f"{words}\n\n{format(marker)}"


@dataclass
class Story:
    """A ticket's history, written one event after the other, a minute apart."""

    state: State = "open"
    now: int = 1_000_000_000_000
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._add("created", ANNA, "", after=self.state)

    def _add(self, kind: Any, who: tuple[str, str] | None, text: str, **more: Any) -> Story:
        self.now += MINUTE
        author, user_id = who or ("colony", "u0")
        self.events.append(
            Event(len(self.events) + 1, kind, author, user_id, who is None, self.now, text, **more)
        )
        return self

    @property
    def last(self) -> Event:
        return self.events[-1]

    def wait(self, ms: int) -> Story:
        self.now += ms
        return self

    def says(self, text: str, by: tuple[str, str] = ANNA) -> Story:
        return self._add("comment", by, text)

    def moves(self, state: State, text: str = "", by: tuple[str, str] | None = ANNA) -> Story:
        before, self.state = self.state, state
        return self._add("state", by, text, before=before, after=state)

    def notes(self, marker: Marker) -> Story:
        """A comment of Colony with this machine line."""
        return self._add("comment", None, line(marker))

    def turns(self, state: State, marker: Marker | None = None) -> Story:
        """A state change by Colony."""
        return self.moves(state, line(marker) if marker else "Something happened.", by=None)

    def starts(self, session: str = S1, ttl: int = TTL, host: str = HOST) -> Story:
        until = self.now + MINUTE + ttl
        return self.turns("progress", LeaseLine(session, host, "started", until))

    def renews(self, session: str = S1, ttl: int = TTL) -> Story:
        return self.notes(LeaseLine(session, HOST, "renewed", self.now + MINUTE + ttl))

    def history(self, **row: Any) -> History:
        events = tuple(self.events)
        first, last = events[0], events[-1]
        ticket = make_ticket(
            state=self.state,
            author=first.author,
            user_id=first.user_id,
            created_ms=first.at_ms,
            updated_ms=last.at_ms,
            last_event=last.id,
            lease=view_of(events),
            **row,
        )
        return History(ticket, events)


def make_ticket(number: int = 1, project: str = "shop", **row: Any) -> Ticket:
    values: dict[str, Any] = {
        "ref": Ref(project, number),
        "subject": "Make the basket remember",
        "summary": "",
        "state": "open",
        "author": "anna",
        "user_id": "u1",
        "machine": False,
        "source": "",
        "created_ms": 1_000_000_000_000 + number,
        "updated_ms": 1_000_000_000_000 + number,
        "last_event": 1,
        "version": 1,
    }
    return Ticket(**{**values, **row})


def related(number: int, state: State = "open", subject: str = "Part", source: str = "") -> Related:
    return Related(Ref("shop", number), state, subject, source)


def question(number: int, state: State = "pending") -> Related:
    return related(
        number, state, "Question (shop#1): which colour?", f"colony-report:{S1}:questions:0"
    )


SHOP = Project("shop", concept="CONCEPT.md", dev_folder="/srv/shop", dev_host="Oak")


def make_survey(*tickets: Ticket, **facts: Any) -> Survey:
    values: dict[str, Any] = {
        "tickets": tickets,
        "registry": {"shop": SHOP},
        "host": HOST,
        "now_ms": 1_000_000_000_000,
        "people": {"shop": PEOPLE},
    }
    return Survey(**{**values, **facts})


def survey_of(*histories: History, **facts: Any) -> Survey:
    """A survey that read the history of each of its tickets."""
    read = {history.ticket.ref: history for history in histories}
    return make_survey(*(history.ticket for history in histories), histories=read, **facts)


def with_children(history: History, *children: Related) -> History:
    return replace(history, ticket=replace(history.ticket, children=children))
