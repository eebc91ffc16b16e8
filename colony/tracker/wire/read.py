"""JSON objects of the API as values. What a server adds is ignored, what it lacks has a default.

Whatever cannot be that value is `Strange`: half an answer, another program's page, a number where
a word should be.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar, get_args

from colony.core.lines import Json, clip
from colony.core.records import HostRecord, SessionRecord
from colony.core.ticket import (
    ROLES,
    Event,
    EventKind,
    FeedEvent,
    History,
    LeaseKind,
    LeaseView,
    Me,
    Member,
    ProjectInfo,
    Ref,
    Related,
    Ticket,
    is_state,
)
from colony.tracker.protocol import Conflict, Written

T = TypeVar("T")

_KINDS: Final = get_args(EventKind)
_LEASES: Final = get_args(LeaseKind)


class Strange(ValueError):
    """An answer that is not what was asked for; the text names the place."""


@dataclass(frozen=True, slots=True)
class Fields:
    """An object of an answer, read field by field."""

    values: Mapping[str, Json]
    path: str

    def text(self, key: str, default: str | None = "") -> str:
        """A string; `default` where it is missing or null, None: it must be there."""
        return self._read(key, str, default)

    def number(self, key: str, default: int | None = None) -> int:
        return self._read(key, int, default)

    def maybe_number(self, key: str) -> int | None:
        return None if self.values.get(key) is None else self.number(key)

    def amount(self, key: str) -> float:
        value = self.values.get(key, 0.0)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Strange(f"{self.path}.{key}: not a number")
        if not math.isfinite(value):
            raise Strange(f"{self.path}.{key}: not a finite number")
        return float(value)

    def flag(self, key: str, default: bool | None = False) -> bool:
        return self._read(key, bool, default)

    def word(self, key: str, words: tuple[str, ...]) -> Any:
        """One of `words`."""
        value = self.text(key, None)
        if value not in words:
            raise Strange(f"{self.path}.{key}: {clip(value, 40)} is none of its words")
        return value

    def list(self, key: str, read: Callable[[Fields], T]) -> tuple[T, ...]:
        """The objects of a list; empty where it is missing or null."""
        return objects(self.values.get(key), f"{self.path}.{key}", read)

    def _read(self, key: str, kind: type[T], default: T | None) -> T:
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        # bool is an int to Python, but no number to JSON.
        if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
            raise Strange(f"{self.path}.{key}: not a {kind.__name__}")
        return value


def fields(value: Json, path: str) -> Fields:
    if not isinstance(value, dict):
        raise Strange(f"{path}: not an object")
    return Fields(value, path)


def objects(value: Json, path: str, read: Callable[[Fields], T]) -> tuple[T, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Strange(f"{path}: not a list")
    return tuple(read(fields(each, f"{path}[{at}]")) for at, each in enumerate(value))


def ticket(row: Fields) -> Ticket:
    parent = row.values.get("parent")
    lease = row.values.get("lease")
    return Ticket(
        ref=ref(row),
        subject=row.text("subject"),
        summary=row.text("summary"),
        state=_state(row, "state"),
        author=row.text("author"),
        user_id=row.text("userId"),
        machine=row.flag("machine"),
        source=row.text("source"),
        created_ms=row.number("createdMs", 0),
        updated_ms=row.number("updatedMs", 0),
        last_event=row.number("lastEvent", 0),
        version=row.number("version", 0),
        priority=row.number("priority", 0),
        lease=None if lease is None else lease_view(fields(lease, f"{row.path}.lease")),
        url=row.text("url"),
        parent=None if parent is None else related(fields(parent, f"{row.path}.parent")),
        children=row.list("children", related),
        blocked_by=row.list("blockedBy", related),
        blocks=row.list("blocks", related),
    )


def history(row: Fields) -> History:
    return History(ticket(row), row.list("events", event))


def ref(row: Fields) -> Ref:
    project, number = row.text("project", None), row.number("number")
    found = Ref.parse(f"{project}#{number}")
    if found is None:
        raise Strange(f"{row.path}: {clip(project, 40)}#{number} is no ticket's name")
    return found


def related(row: Fields) -> Related:
    return Related(ref(row), _state(row, "state"), row.text("subject"), row.text("source"))


def lease_view(row: Fields) -> LeaseView:
    return LeaseView(
        row.text("session", None),
        row.text("host"),
        row.word("kind", _LEASES),
        row.number("token"),
        row.maybe_number("untilMs"),
    )


def event(row: Fields) -> Event:
    return Event(
        id=row.number("id", 0),
        kind=row.word("kind", _KINDS),
        author=row.text("author"),
        user_id=row.text("userId"),
        machine=row.flag("machine"),
        at_ms=row.number("atMs", 0),
        text=row.text("text"),
        before=row.text("from"),
        after=row.text("to"),
    )


def feed_event(row: Fields) -> FeedEvent:
    number = row.maybe_number("number")
    where = None if number is None else ref(row)
    return FeedEvent(row.text("project", None), where, event(row))


def written(row: Fields) -> Written:
    """The answer of a write to a ticket."""
    return Written(row.number("id", 0), row.number("lastEvent"))


def conflict(row: Fields) -> Conflict:
    found = row.values.get("lease")
    lease = None if found is None else lease_view(fields(found, f"{row.path}.lease"))
    return Conflict(_state(row, "state"), row.number("lastEvent"), lease)


def me(row: Fields) -> Me:
    return Me(
        row.text("user", None), row.text("userId"), row.flag("machine", None), row.flag("owner")
    )


def project(row: Fields) -> ProjectInfo:
    return ProjectInfo(row.text("name", None), row.list("members", _member))


def _member(row: Fields) -> Member:
    return Member(row.text("user"), row.text("userId"), row.word("role", ROLES))


def session(row: Fields) -> SessionRecord:
    return SessionRecord(
        id=row.text("id", None),
        ref=ref(row),
        host=row.text("host"),
        phase=row.text("phase"),
        account=row.text("account"),
        token=row.maybe_number("token"),
        step=row.text("step"),
        started_ms=row.maybe_number("startedMs"),
        ended_ms=row.maybe_number("endedMs"),
        cost_usd=row.amount("costUsd"),
        last_tool=row.text("lastTool"),
        outcome=row.text("outcome"),
        report=row.values.get("report"),
        verdict=row.values.get("verdict"),
        updated_ms=row.number("updatedMs", 0),
    )


def host(row: Fields) -> HostRecord:
    return HostRecord(
        name=row.text("host", None),
        slots=row.number("slots", 0),
        running=row.number("running", 0),
        quota=row.values.get("quota"),
        memory=row.values.get("memory"),
        disk=row.values.get("disk"),
        iteration=row.values.get("iteration"),
        seen_ms=row.number("seenMs", 0),
    )


def _state(row: Fields, key: str) -> Any:
    value = row.text(key, None)
    if not is_state(value):
        raise Strange(f"{row.path}.{key}: {clip(value, 40)} is no state")
    return value
