"""Rows of sessions and hosts: the newest word replaces the one before it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from colony.core.lines import Json
from colony.core.records import HostRecord, SessionRecord
from colony.core.ticket import Ref
from colony.tracker.sql.engine import Transaction
from colony.tracker.sql.history import Stamp


def put_session(db: Transaction, record: SessionRecord, stamp: Stamp) -> None:
    """The row becomes the writer's."""
    db.run(
        "session_put",
        id=record.id,
        project=record.ref.project,
        number=record.ref.number,
        host=record.host,
        account=record.account,
        token=record.token,
        phase=record.phase,
        step=record.step,
        started_ms=record.started_ms,
        ended_ms=record.ended_ms,
        cost_usd=record.cost_usd,
        last_tool=record.last_tool,
        outcome=record.outcome,
        report=_dumped(record.report),
        verdict=_dumped(record.verdict),
        updated_ms=stamp.at_ms,
        user_id=stamp.me.user_id,
    )


def sessions(
    db: Transaction, project: str | None, number: int | None, *, running: bool
) -> tuple[SessionRecord, ...]:
    rows = db.rows("sessions", project=project or "", number=number or 0, running=int(running))
    return tuple(map(_session, rows))


def running(db: Transaction) -> int:
    """How many sessions have not ended."""
    [(count,)] = db.rows("sessions_running")
    return int(count)


def session(db: Transaction, name: str) -> SessionRecord | None:
    for row in db.rows("session", id=name):
        return _session(row)
    return None


@dataclass(frozen=True, slots=True)
class Owned:
    """Whose word a session's row is."""

    user_id: str | None
    """None: nobody was noted when it was written."""
    ref: Ref


def owned(db: Transaction, name: str) -> Owned | None:
    """None: no such session was told of."""
    for user_id, project, number in db.rows("session_owner", id=name):
        return Owned(user_id, Ref(project, number))
    return None


def put_tail(db: Transaction, name: str, text: str) -> None:
    db.run("tail_put", id=name, tail=text)


def tail(db: Transaction, name: str) -> str:
    for (text,) in db.rows("tail", id=name):
        return str(text)
    return ""


def put_host(db: Transaction, record: HostRecord, at_ms: int) -> None:
    db.run(
        "host_put",
        name=record.name,
        slots=record.slots,
        running=record.running,
        quota=json.dumps(record.quota),
        memory=json.dumps(record.memory),
        disk=json.dumps(record.disk),
        iteration=json.dumps(record.iteration),
        seen_ms=at_ms,
    )


def hosts(db: Transaction) -> tuple[HostRecord, ...]:
    return tuple(
        HostRecord(
            name=name,
            slots=slots,
            running=running,
            quota=json.loads(quota),
            memory=json.loads(memory),
            disk=json.loads(disk),
            iteration=json.loads(iteration),
            seen_ms=seen_ms,
        )
        for name, slots, running, quota, memory, disk, iteration, seen_ms in db.rows("hosts")
    )


def _dumped(value: Json) -> str | None:
    return None if value is None else json.dumps(value)


def _session(row: tuple[Any, ...]) -> SessionRecord:
    id_, project, number, host, account, token, phase, step, *rest = row
    started, ended, cost, last_tool, outcome, report, verdict, updated = rest
    return SessionRecord(
        id=id_,
        ref=Ref(project, number),
        host=host,
        account=account,
        token=token,
        phase=phase,
        step=step,
        started_ms=started,
        ended_ms=ended,
        cost_usd=cost,
        last_tool=last_tool,
        outcome=outcome,
        report=None if report is None else json.loads(report),
        verdict=None if verdict is None else json.loads(verdict),
        updated_ms=updated,
    )
