"""Lines read into an empty store, in one transaction, each held against those before it."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass, field
from typing import IO, Final

from colony.core.lines import clip
from colony.core.ticket import Ref
from colony.errors import Damaged, Refused
from colony.tracker.ledger import Derive, refresh
from colony.tracker.moving import checks
from colony.tracker.moving.form import (
    LINE_MAX,
    ROWS,
    VERSION,
    Block,
    End,
    Event,
    Head,
    Member,
    Parent,
    Project,
    Row,
    Session,
    Ticket,
    Unfit,
    User,
    name_of,
    row_of,
)
from colony.tracker.sql import moving, people, relations, tickets
from colony.tracker.sql.engine import Engine, Transaction


@dataclass
class Arrived:
    """What came, and what the lines to come are held against."""

    head: Head
    stage: int = 0
    """Place in `ROWS` of the last line's row."""
    counts: dict[str, int] = field(default_factory=dict)
    users: dict[str, bool] = field(default_factory=dict)
    """User id -> whether it is a machine."""
    projects: dict[str, int] = field(default_factory=dict)
    """Name -> the last number given out."""
    last_event: int = 0


def take(engine: Engine, file: IO[bytes], derive: Derive) -> dict[str, int]:
    """Read an export into an empty store; how many rows of each name came.

    Refused: the store is not empty, or a line cannot be used, which is named; nothing is written.
    """
    with engine.writing() as db:
        if not moving.is_empty(db):
            raise Refused(
                "the tracker is not empty: an export is read into a new one (another --home)"
            )
        arrived = _rows(db, file)
        moving.set_counter(db, arrived.head.last_event)
        _settle(db, arrived, derive)
    return arrived.counts


def _rows(db: Transaction, file: IO[bytes]) -> Arrived:
    hashed = hashlib.sha256()
    arrived: Arrived | None = None
    number = 0
    while True:
        number += 1
        line = file.readline(LINE_MAX + 1)
        try:
            row = _read(line)
            if arrived is None:
                arrived = Arrived(_head(row))
            elif isinstance(row, End):
                _check_end(row, number, hashed.hexdigest(), file)
                return arrived
            else:
                _put(db, arrived, row)
        except Damaged:
            raise
        except (Unfit, Refused) as problem:
            raise Refused(f"line {number}: {clip(str(problem), 300)}; nothing was read") from None
        hashed.update(line)


def _read(line: bytes) -> Row:
    if not line:
        raise Unfit("the file ends before its last line: it was cut short")
    if len(line) > LINE_MAX:
        raise Unfit(f"is longer than {LINE_MAX} bytes")
    if not line.endswith(b"\n"):
        raise Unfit("the file ends within this line: it was cut short")
    return row_of(line)


def _head(row: Row) -> Head:
    if not isinstance(row, Head):
        raise Unfit("the first line of an export is missing (row: export)")
    if row.version != VERSION:
        raise Unfit(f"export.version: {row.version}, this Colony reads {VERSION}")
    if row.last_event < 0:
        raise Unfit("export.lastEvent: below 0")
    checks.spoken(row)
    return row


def _check_end(end: End, number: int, sha256: str, file: IO[bytes]) -> None:
    if end.lines != number - 1:
        raise Unfit(f"end.lines: {end.lines}, but {number - 1} came")
    if end.sha256 != sha256:
        raise Unfit("end.sha256: the lines before are not those that were written")
    if file.read(1):
        raise Unfit("something follows the last line")


_AT: Final = {kind: at for at, kind in enumerate(ROWS)}


def _put(db: Transaction, arrived: Arrived, row: Row) -> None:
    name, at = name_of(row), _AT[type(row)]
    if at < arrived.stage or isinstance(row, Head):
        raise Unfit(f"{name}: stands too late, after {ROWS[arrived.stage].__name__.lower()}")
    arrived.stage = at
    checks.no_nul(row)
    checks.storable(row)
    _check(db, arrived, row)
    values = {each.name: getattr(row, each.name) for each in dataclasses.fields(row)}
    try:
        moving.put(db, name, values)
    except moving.Misfit as problem:
        raise Unfit(f"{name} {problem}") from None
    arrived.counts[name] = arrived.counts.get(name, 0) + 1


def _check(db: Transaction, arrived: Arrived, row: Row) -> None:
    """What only the lines before can tell."""
    match row:
        case User():
            if row.id != f"u{len(arrived.users) + 1}":
                raise Unfit(f"user.id: must be u{len(arrived.users) + 1} here")
            arrived.users[row.id] = row.machine
        case Project():
            arrived.projects[row.name] = row.last_number
        case Member():
            if arrived.users.get(row.user_id) and row.role == "admin":
                raise Unfit("member.role: a machine is never an admin")
        case Ticket():
            _check_writer(arrived, row)
            if row.number > arrived.projects.get(row.project, 0):
                raise Unfit("ticket.number: its project has not given it out")
        case Event():
            _check_writer(arrived, row)
            if not arrived.last_event < row.id <= arrived.head.last_event:
                raise Unfit("event.id: must rise, up to export.lastEvent")
            if row.on_behalf is not None and row.on_behalf >= row.id:
                raise Unfit("event.onBehalf: is no earlier event")
            arrived.last_event = row.id
        case Parent() | Block():
            _check_circle(db, row)
        case Session():
            if row.user_id is not None and not arrived.users.get(row.user_id):
                raise Unfit("session.userId: is no machine")
            checks.session(row)
        case _:
            pass


def _check_writer(arrived: Arrived, row: Ticket | Event) -> None:
    """A person's words must not come as a machine's, nor the other way round."""
    machine = arrived.users.get(row.user_id)
    if machine is None:
        raise Unfit(f"{name_of(row)}.userId: no such user")
    if machine != row.machine:
        raise Unfit(f"{name_of(row)}.machine: is not what the user is")


def _check_circle(db: Transaction, row: Parent | Block) -> None:
    here = Ref(row.project, row.number)
    if isinstance(row, Block):
        circle = relations.waits_for(db, Ref(row.by_project, row.by_number), here)
    else:
        circle = relations.descends_from(db, Ref(row.parent_project, row.parent_number), here)
    if circle:
        raise Unfit(f"{name_of(row)}: would be a circle")


def _settle(db: Transaction, arrived: Arrived, derive: Derive) -> None:
    """Work out what rows keep of their histories, which must say what the rows say."""
    for project in arrived.projects:
        admins = people.admins(db, project)
        if not admins:
            raise Refused(f"project {project} has no admin; nothing was read")
        for ref in tickets.of_project(db, project):
            why = _why_not(db, ref)
            if why:
                raise Refused(f"ticket {ref}: {why}; nothing was read")
            refresh(db, derive, ref, admins)


def _why_not(db: Transaction, ref: Ref) -> str | None:
    row, seen = tickets.bare(db, ref), moving.summed(db, ref)
    if seen is None or not seen.begins:
        return "its history does not begin with the one event that made it"
    if seen.state != row.state:
        return f"is {row.state}, its history says {seen.state}"
    if seen.last != row.last_event:
        return f"lastEvent is {row.last_event}, its history ends with {seen.last}"
    if seen.events > row.version:
        return f"version is {row.version}, but it has {seen.events} events"
    return None
