"""What a client asks for, as JSON objects of the API: the bodies of writes."""

from __future__ import annotations

from typing import assert_never

from colony.core.lines import Json
from colony.core.records import HostRecord, SessionRecord
from colony.core.ticket import NewTicket, Ref
from colony.tracker.protocol import Guard
from colony.tracker.wire import write as wire
from colony.tracker.wire.write import Object
from colony.tracker.writes import Block, Comment, Edit, Move, SetParent, TicketWrite


def new_ticket(new: NewTicket) -> Object:
    asked: Object = {"project": new.project, "subject": new.subject, "summary": new.summary}
    if new.source:
        asked["source"] = new.source
    if new.parent is not None:
        asked["parent"] = ref(new.parent)
    if new.state != "open":
        asked["state"] = new.state
    return asked


def body_of(write: TicketWrite, guard: Guard) -> Object:
    """What is written, and what must still be true then."""
    return {**_words_of(write), **_conditions(guard)}


def _words_of(write: TicketWrite) -> Object:
    match write:
        case Comment(text):
            return {"text": text}
        case Move(state, text, on_behalf):
            moved: Object = {"state": state, "text": text}
            return moved if on_behalf is None else {**moved, "onBehalf": on_behalf}
        case Edit(subject, summary):
            given: dict[str, Json] = {"subject": subject, "summary": summary}
            return {name: value for name, value in given.items() if value is not None}
        case Block(by, _):
            return ref(by)
        case SetParent(parent):
            return {} if parent is None else ref(parent)
        case _:
            assert_never(write)


def _conditions(guard: Guard) -> Object:
    asked: dict[str, Json] = {"expect": guard.state, "expectEvent": guard.event}
    return {name: value for name, value in asked.items() if value is not None}


def ref(named: Ref) -> Object:
    return {"project": named.project, "number": named.number}


def session(record: SessionRecord) -> Object:
    """Without what the path and the server say."""
    return {
        name: value
        for name, value in wire.session(record).items()
        if name not in ("id", "updatedMs")
    }


def host(record: HostRecord) -> Object:
    """Likewise."""
    return {
        name: value for name, value in wire.host(record).items() if name not in ("host", "seenMs")
    }
