"""The lines of an export: one JSON object each, whose `row` says which (docs/export.md).

They stand in the order of `ROWS`: whatever a line names stands before it. The first line says the
version of the form, the last one how many lines there are and their hash, so that a file that was
cut or changed is known.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, get_args

from colony.core.codec import CodecProblem, from_json, to_json
from colony.core.lines import Json, clip
from colony.core.strict_json import WHOLE, Problems, load_json
from colony.core.ticket import EventKind, Role, State

VERSION: Final = 1
LINE_MAX: Final = 8 * 1024 * 1024
"""Bytes of a line: more than the longest texts of the tracker take, escaped."""


class Unfit(ValueError):
    """A line that cannot be used; the text names the place within it."""


@dataclass(frozen=True, slots=True)
class Head:
    version: int
    at_ms: int
    last_event: int


@dataclass(frozen=True, slots=True)
class User:
    id: str
    name: str
    machine: bool
    owner: bool
    created_ms: int


@dataclass(frozen=True, slots=True)
class Project:
    name: str
    last_number: int
    created_ms: int


@dataclass(frozen=True, slots=True)
class Member:
    project: str
    user_id: str
    role: Role


@dataclass(frozen=True, slots=True)
class Ticket:
    """What its history says (lease, priority) is not written: the reader works it out anew."""

    project: str
    number: int
    subject: str
    summary: str
    state: State
    author: str
    user_id: str
    machine: bool
    source: str
    created_ms: int
    updated_ms: int
    last_event: int
    version: int


@dataclass(frozen=True, slots=True)
class Parent:
    project: str
    number: int
    parent_project: str
    parent_number: int


@dataclass(frozen=True, slots=True)
class Block:
    project: str
    number: int
    by_project: str
    by_number: int


@dataclass(frozen=True, slots=True)
class Event:
    id: int
    project: str
    number: int | None
    kind: EventKind
    author: str
    user_id: str
    machine: bool
    at_ms: int
    text: str
    from_: str
    to: str
    on_behalf: int | None


@dataclass(frozen=True, slots=True)
class Session:
    """`report` and `verdict` are JSON texts, as they are kept; `user_id` is whose word it is."""

    id: str
    project: str
    number: int
    host: str
    account: str
    token: int | None
    phase: str
    step: str
    started_ms: int | None
    ended_ms: int | None
    cost_usd: float
    last_tool: str
    outcome: str
    report: str | None
    verdict: str | None
    tail: str
    updated_ms: int
    user_id: str | None = None
    """None: nobody was noted; exports before the field was there do not have it."""


@dataclass(frozen=True, slots=True)
class Host:
    """`quota`, `memory`, `disk` and `iteration` are JSON texts, as they are kept."""

    name: str
    slots: int
    running: int
    quota: str
    memory: str
    disk: str
    iteration: str
    seen_ms: int


@dataclass(frozen=True, slots=True)
class End:
    lines: int
    """Those before this one."""
    sha256: str
    """Of all bytes before this line."""


Row = (
    Head | User | Project | Member | Ticket | Parent | Block | Event | Session | Host | End
)  # fmt: skip
ROWS: Final[tuple[type[Row], ...]] = get_args(Row)
_NAMES: Final = {kind: "export" if kind is Head else kind.__name__.lower() for kind in ROWS}
_KINDS: Final = {name: kind for kind, name in _NAMES.items()}


def made(name: str, values: tuple[Any, ...]) -> Row:
    """The row of this name, of a database's values in the order of its fields."""
    kind: Callable[..., Row] = _KINDS[name]
    flags = _flags(name)
    return kind(*(bool(value) if at in flags else value for at, value in enumerate(values)))


@functools.cache
def _flags(name: str) -> frozenset[int]:
    found = dataclasses.fields(_KINDS[name])
    return frozenset(at for at, each in enumerate(found) if each.name in ("machine", "owner"))


def name_of(row: Row) -> str:
    return _NAMES[type(row)]


def line_of(row: Row) -> bytes:
    fields = to_json(row)
    assert isinstance(fields, dict)
    said = {"row": name_of(row), **fields}
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def row_of(line: bytes) -> Row:
    """Unfit: the line is no row."""
    try:
        value = load_json(line.decode("utf-8"), LINE_MAX)
    except UnicodeDecodeError as problem:
        raise Unfit(f"is not UTF-8 (byte {problem.start})") from None
    if isinstance(value, Problems):
        raise Unfit(value.lines[0].removeprefix(f"{WHOLE}: "))
    if not isinstance(value, dict):
        raise Unfit("is no JSON object")
    name: Json = value.pop("row", None)
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise Unfit(f"row: {clip(str(name), 40)} is none that this Colony knows")
    try:
        return from_json(kind, value, str(name))
    except CodecProblem as problem:
        raise Unfit(clip(str(problem), 200)) from None
