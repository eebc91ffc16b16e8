"""Tickets as a creator reads them: one line in a list, or the whole history."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import tzinfo
from typing import Final

from colony.cli.local_time import when
from colony.cli.machine import zone
from colony.cli.show import Row, Show
from colony.core.lines import Json, Line
from colony.core.markdown import happened
from colony.core.markers import marker_of
from colony.core.ticket import Event, History, Related, Ticket

_ESCAPED: Final = re.compile(r"\\([!-/:-@\[-`{-~])")

COLUMNS = ("ticket", "state", "prio", "subject")


def summed_up(ticket: Ticket) -> Line:
    """The ticket in one line."""
    return Line(
        "ticket",
        f"{ticket.ref} {ticket.state} — {ticket.subject}",
        ticket=str(ticket.ref),
        facts=_facts(ticket),
    )


def row(ticket: Ticket) -> Row:
    prio = f"{ticket.priority:+d}" if ticket.priority else "·"
    cells = (str(ticket.ref), ticket.state, prio, ticket.subject)
    return Row(summed_up(ticket), cells)


def show_history(show: Show, history: History, tz: str, *, full: bool) -> None:
    """Everything that was written, oldest first; `full` shows the machine lines too."""
    ticket = history.ticket
    there = zone(tz)
    show.line(summed_up(ticket), "bold")
    show.line(_note(f"opened by {ticket.author}, {when(ticket.created_ms, there)}"), "dim")
    for told in _relations(ticket):
        show.line(_note(told))
    if ticket.summary.strip():
        show.block(Line("ticket.text", "", ticket=str(ticket.ref)), ticket.summary)
    for event in history.events:
        if event.kind != "created":
            show.gap()
            body = _body(event, full=full)
            if not show.wide and not show.json:
                body = _plain(body, machine=event.machine)
            show.block(_heading(event, there, str(ticket.ref)), body)


def _note(text: str) -> Line:
    return Line("ticket.text", text)


def _facts(ticket: Ticket) -> dict[str, Json]:
    return {
        "project": ticket.ref.project,
        "number": ticket.ref.number,
        "state": ticket.state,
        "subject": ticket.subject,
        "priority": ticket.priority,
        "author": ticket.author,
        "createdMs": ticket.created_ms,
        "updatedMs": ticket.updated_ms,
        "lastEvent": ticket.last_event,
        "parent": str(ticket.parent.ref) if ticket.parent else None,
        "children": [str(each.ref) for each in ticket.children],
        "blockedBy": [str(each.ref) for each in ticket.blocked_by],
        "blocks": [str(each.ref) for each in ticket.blocks],
        "lease": ticket.lease.session if ticket.lease else None,
    }


def _relations(ticket: Ticket) -> Iterator[str]:
    def named(each: Related) -> str:
        return f"{each.ref} ({each.state}) — {each.subject}"

    if ticket.parent:
        yield f"part of {named(ticket.parent)}"
    yield from (f"blocked by {named(each)}" for each in ticket.blocked_by)
    yield from (f"blocks {named(each)}" for each in ticket.blocks)
    yield from (f"child {named(each)}" for each in ticket.children)
    if ticket.lease:
        yield f"held by session {ticket.lease.session} on {ticket.lease.host}"


def _heading(event: Event, there: tzinfo, ticket: str) -> Line:
    who = f"{event.author} (machine)" if event.machine else event.author
    text = f"{when(event.at_ms, there)} · {who} · {happened(event)}"
    facts: dict[str, Json] = {
        "event": event.id,
        "what": event.kind,
        "author": event.author,
        "machine": event.machine,
        "atMs": event.at_ms,
        "from": event.before,
        "to": event.after,
    }
    return Line("ticket.event", text, ticket=ticket, facts=facts)


def _body(event: Event, *, full: bool) -> str:
    """The event's text; the machine line, which is the last one, is for programs."""
    text = event.text.rstrip()
    if full or marker_of(event) is None:
        return text
    return "\n".join(text.splitlines()[:-1]).rstrip()


def _plain(text: str, *, machine: bool) -> str:
    """As it was meant to be read: Colony's texts are Markdown, with its signs escaped."""
    return _ESCAPED.sub(r"\1", text) if machine else text
