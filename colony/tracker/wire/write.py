"""Values as JSON objects of the API. Times are integer milliseconds UTC, keys are camelCase."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from colony.core.codec import to_json
from colony.core.lines import Json
from colony.core.records import HostRecord, SessionRecord
from colony.core.ticket import (
    Event,
    FeedEvent,
    History,
    LeaseView,
    Me,
    ProjectInfo,
    Ref,
    Related,
    Role,
    Ticket,
)
from colony.tracker.protocol import Conflict, Written

Object = dict[str, Json]

_EVENT: Final = ("id", "kind", "author", "userId", "machine", "atMs", "text", "from", "to")


def url_of(ref: Ref, public_url: str) -> str:
    """Where a person reads the ticket; empty where the server has no address of its own."""
    return f"{public_url.rstrip('/')}/t/{ref.project}/{ref.number}" if public_url else ""


def row(ticket: Ticket, public_url: str = "") -> Object:
    return {
        "project": ticket.ref.project,
        "number": ticket.ref.number,
        "subject": ticket.subject,
        "summary": ticket.summary,
        "state": ticket.state,
        "author": ticket.author,
        "userId": ticket.user_id,
        "machine": ticket.machine,
        "source": ticket.source,
        "createdMs": ticket.created_ms,
        "updatedMs": ticket.updated_ms,
        "lastEvent": ticket.last_event,
        "version": ticket.version,
        "priority": ticket.priority,
        "lease": lease(ticket.lease),
        "url": url_of(ticket.ref, public_url),
        "parent": None if ticket.parent is None else related(ticket.parent),
        "children": [related(each) for each in ticket.children],
        "blockedBy": [related(each) for each in ticket.blocked_by],
        "blocks": [related(each) for each in ticket.blocks],
    }


def history(seen: History, public_url: str = "") -> Object:
    """The row with its `events`, oldest first."""
    return {**row(seen.ticket, public_url), "events": [event(each) for each in seen.events]}


def lease(view: LeaseView | None) -> Object | None:
    if view is None:
        return None
    return {
        "session": view.session,
        "host": view.host,
        "kind": view.kind,
        "token": view.token,
        "untilMs": view.until_ms,
    }


def related(each: Related) -> Object:
    return {
        "project": each.ref.project,
        "number": each.ref.number,
        "state": each.state,
        "subject": each.subject,
        "source": each.source,
    }


def event(each: Event) -> Object:
    return {
        "id": each.id,
        "kind": each.kind,
        "author": each.author,
        "userId": each.user_id,
        "machine": each.machine,
        "atMs": each.at_ms,
        "text": each.text,
        "from": each.before,
        "to": each.after,
    }


def feed_event(each: FeedEvent) -> Object:
    """An event with its ticket; `number` is null in a project's own events."""
    number = None if each.ref is None else each.ref.number
    return {"project": each.project, "number": number, **event(each.event)}


def written(ref: Ref, done: Written, made: Event | None) -> Object:
    """What a write to a ticket answers: the event that it made, all of it null where `id` is 0."""
    told = dict.fromkeys(_EVENT) if made is None else event(made)
    where: Object = {"project": ref.project, "number": ref.number}
    return {**where, "lastEvent": done.last_event, **told, "id": done.event}


def conflict(found: Conflict, error: str) -> Object:
    """What is so instead of what the write was made for."""
    return {
        "error": error,
        "code": "conflict",
        "state": found.state,
        "lastEvent": found.last_event,
        "lease": lease(found.lease),
    }


def me(user: Me, roles: Mapping[str, Role]) -> Object:
    return {
        "user": user.user,
        "userId": user.user_id,
        "machine": user.machine,
        "owner": user.owner,
        "roles": dict(roles),
    }


def project(info: ProjectInfo) -> Object:
    members: list[Json] = [
        {"user": one.user, "userId": one.user_id, "role": one.role} for one in info.members
    ]
    return {"name": info.name, "members": members}


def session(record: SessionRecord) -> Object:
    return {
        "id": record.id,
        "project": record.ref.project,
        "number": record.ref.number,
        "host": record.host,
        "account": record.account,
        "token": record.token,
        "phase": record.phase,
        "step": record.step,
        "startedMs": record.started_ms,
        "endedMs": record.ended_ms,
        "costUsd": record.cost_usd,
        "lastTool": record.last_tool,
        "outcome": record.outcome,
        "report": record.report,
        "verdict": record.verdict,
        "updatedMs": record.updated_ms,
    }


def host(record: HostRecord) -> Object:
    written = to_json(record)
    assert isinstance(written, dict)
    return {"host": written.pop("name"), **written}
