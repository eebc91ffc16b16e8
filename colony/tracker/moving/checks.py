"""What the fields of a line must be, whatever stands in the others: the limits of the store."""

from __future__ import annotations

import dataclasses
import json
from typing import Final

from colony.core.codec import camel
from colony.core.lines import Json
from colony.core.records import HostRecord, SessionRecord
from colony.core.strict_json import SAFE
from colony.core.ticket import Ref, is_state
from colony.tracker import limits
from colony.tracker.moving.form import (
    Event,
    Host,
    Project,
    Row,
    Session,
    Ticket,
    Unfit,
    User,
    name_of,
)
from colony.tracker.records import limits as record_limits

_NUMBER_MAX: Final = 999_999_999


def no_nul(row: Row) -> None:
    """No text may hold NUL. (Halves of characters and huge numbers no line can hold.)"""
    for each in dataclasses.fields(row):
        value = getattr(row, each.name)
        if isinstance(value, str) and "\0" in value:
            raise Unfit(f"{name_of(row)}.{each.name}: holds NUL")


def storable(row: Row) -> None:
    """Unfit, or an error of `limits` that names the field: the tracker would not have taken it."""
    spoken(row)
    match row:
        case User():
            _same(limits.user(row.name), row.name, "user.name")
            if row.machine and row.owner:
                raise Unfit("user.owner: a machine owns nothing")
        case Project():
            limits.project(row.name)
            if not 0 <= row.last_number <= _NUMBER_MAX:
                raise Unfit("project.lastNumber: is no count of tickets")
        case Ticket():
            _ticket(row)
        case Event():
            _event(row)
        case Host():
            quota, memory = _json(row.quota, "host.quota"), _json(row.memory, "host.memory")
            disk, at = _json(row.disk, "host.disk"), _json(row.iteration, "host.iteration")
            record_limits.host(
                HostRecord(row.name, row.slots, row.running, quota, memory, disk, at)
            )
        case _:
            pass


def spoken(row: Row) -> None:
    """Whole numbers must be those that the API, and every JSON program, holds exactly."""
    for each in dataclasses.fields(row):
        value = getattr(row, each.name)
        if isinstance(value, int) and abs(value) > SAFE:
            raise Unfit(f"{name_of(row)}.{camel(each.name)}: a number too large")


def session(row: Session) -> None:
    report = None if row.report is None else _json(row.report, "session.report")
    verdict = None if row.verdict is None else _json(row.verdict, "session.verdict")
    record = SessionRecord(
        id=row.id, ref=Ref(row.project, row.number), host=row.host, phase=row.phase,
        account=row.account, token=row.token, step=row.step, started_ms=row.started_ms,
        ended_ms=row.ended_ms, cost_usd=row.cost_usd, last_tool=row.last_tool,
        outcome=row.outcome, report=report, verdict=verdict,
    )  # fmt: skip
    if record_limits.session(record) != record:
        raise Unfit("session: a word of it is too long, or cannot be printed")
    _same(record_limits.tail(row.tail), row.tail, "session.tail")


def _ticket(row: Ticket) -> None:
    if not limits.may_exist(Ref(row.project, row.number)):
        raise Unfit("ticket.number: no ticket is named so")
    _same(limits.subject(row.subject), row.subject, "ticket.subject")
    _same(limits.text(row.summary, "ticket.summary"), row.summary, "ticket.summary")
    _same(limits.source(row.source), row.source, "ticket.source")
    if row.source.startswith("colony") and not row.machine:
        raise Unfit("ticket.source: what begins with colony is taken from machines only")
    _same(limits.user(row.author), row.author, "ticket.author")


def _event(row: Event) -> None:
    limits.text(row.text, "event.text")
    _same(limits.user(row.author), row.author, "event.author")
    if (row.number is None) != (row.kind == "member"):
        raise Unfit(f"event.number: does not go with the kind {row.kind}")
    if row.kind in ("created", "state") and not is_state(row.to):
        raise Unfit("event.to: is no state")
    if row.kind == "state" and not is_state(row.from_):
        raise Unfit("event.from: is no state")
    for name, value in (("from", row.from_), ("to", row.to)):
        limits.text(value, f"event.{name}")


def _same(taken: str, given: str, place: str) -> None:
    if taken != given:
        raise Unfit(f"{place}: is not as the tracker keeps it")


def _json(text: str, place: str) -> Json:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        raise Unfit(f"{place}: is no JSON text") from None
    return value
