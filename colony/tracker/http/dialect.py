"""What a tracker over HTTP speaks, and its answers as values: what it does not say is worked out.

An event's id is the server's own. Where a history has none, its events are counted from 1: such a
number means "the history is so long", in that ticket alone. A condition on it holds as long as
nothing was added, and fails as it should when something was; an entry that is taken away and
another one added cannot be told.

A server that does not say which events are a machine's: those are whose author is one of Colony's
own names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, get_args

from colony.core.lines import Json
from colony.core.relations import is_question
from colony.core.ticket import EventKind, History, Ref, Related, State, Ticket
from colony.tracker.http import words
from colony.tracker.http.edge import NEEDED
from colony.tracker.wire import read
from colony.tracker.wire.read import Fields, fields

USED: Final = NEEDED - {"feed", "sessions"} | {"markdown"}
"""What is made use of where it is there and others are not."""
_KINDS: Final = get_args(EventKind)
_RELATIVES: Final = ("children", "blockedBy", "blocks")
_ANY: Final = Ref("any", 1)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one server speaks."""

    features: frozenset[str] | None
    """None: it has no such list."""
    old_words: bool
    own_users: frozenset[str]
    """Colony's own names there, former ones too."""

    @property
    def is_whole(self) -> bool:
        return self.features is not None and self.features >= NEEDED and not self.old_words

    def has(self, feature: str) -> bool:
        return feature in USED and feature in (self.features or ())

    def word(self, state: State, subject: str, source: str) -> str:
        """The server's word for a state of this ticket. Invalid: it has none."""
        if not self.old_words:
            return state
        return words.old_word(state, question=_asks(subject, source))

    def is_machine(self, author: str) -> bool:
        return author in self.own_users


@dataclass(frozen=True, slots=True)
class Heard:
    """A ticket as the server told of it."""

    ticket: Ticket
    history: History | None
    """None: its events were not told."""
    derived: bool
    """Whether the server itself told the lease and the priority."""
    related: bool
    """Whether it told of relatives."""


def dialect_of(projects: Json, own_users: frozenset[str]) -> Dialect:
    """Read from the answer to `GET /api/projects`. Strange: it is no such answer."""
    told = fields(projects, "projects")
    features, states = told.values.get("features"), told.values.get("states")
    known = None
    if isinstance(features, list):
        known = frozenset(each for each in features if isinstance(each, str))
    listed = [each for each in states if isinstance(each, str)] if isinstance(states, list) else []
    return Dialect(known, words.are_old(listed), own_users)


def hear(dialect: Dialect, value: Json, path: str) -> Heard:
    """A row, with or without its events. Strange: it is none."""
    row = fields(value, path)
    plain = _row(dialect, row)
    ticket = read.ticket(fields(plain, path))
    history = None
    if "events" in row.values:
        history = _history(dialect, row, ticket)
        ticket = history.ticket
    derived = "lease" in row.values and "priority" in row.values
    return Heard(ticket, history, derived, related="children" in row.values)


def _row(dialect: Dialect, row: Fields) -> dict[str, Json]:
    plain = dict(row.values)
    plain["state"] = _state(row.values, row.values.get("state"))
    if not dialect.has("me"):
        plain["machine"] = dialect.is_machine(row.text("author"))
    for name in _RELATIVES:
        related = plain.get(name)
        if isinstance(related, list):
            plain[name] = [_relative(each) for each in related]
    plain["parent"] = _relative(plain.get("parent"))
    return plain


def _relative(value: Json) -> Json:
    if not isinstance(value, dict):
        return value
    return {**value, "state": _state(value, value.get("state"))}


def _state(ticket: Mapping[str, Json], word: Json) -> Json:
    """Today's word; what is no word of any tracker is left to the reader, which refuses it."""
    subject, source = ticket.get("subject"), ticket.get("source")
    if not isinstance(word, str):
        return word
    question = _asks(str(subject or ""), str(source or ""))
    return words.read_state(word, question=question) or word


def _asks(subject: str, source: str) -> bool:
    return is_question(Related(_ANY, "open", subject, source))


def _history(dialect: Dialect, row: Fields, ticket: Ticket) -> History:
    told = row.list("events", lambda each: each)
    counted = not all(isinstance(each.values.get("id"), int) for each in told)
    events, last = [], 0
    for at, each in enumerate(told, 1):
        plain = _event(dialect, row.values, each)
        last = plain["id"] = at if counted else each.number("id")
        event = read.event(fields(plain, each.path))
        if event.kind == "state" and event.before == event.after and _differ(each):
            # Two older words for one state: `awaiting creator` became `answered`.
            if not event.text.strip():
                continue
            event = replace(event, kind="comment", before="", after="")
        events.append(event)
    ticket = replace(
        ticket,
        last_event=ticket.last_event or last,
        version=ticket.version or len(told),
    )
    return History(ticket, tuple(events))


def _differ(event: Fields) -> bool:
    return event.values.get("from") != event.values.get("to")


def _event(dialect: Dialect, ticket: Mapping[str, Json], event: Fields) -> dict[str, Json]:
    plain = dict(event.values)
    if not dialect.has("me"):
        plain["machine"] = dialect.is_machine(event.text("author"))
    if plain.get("kind") not in _KINDS:
        # Of another tracker's own making: it is shown, and decides nothing.
        plain |= {"kind": "edit", "from": None, "to": None}
    elif plain["kind"] in ("created", "state"):
        plain |= {name: _state(ticket, plain.get(name)) for name in ("from", "to")}
    return plain
