"""A ticket with its history as one Markdown text.

Every text that somebody wrote stands in a block quote, a `> ` before each line, so that no fence,
heading or rule inside it can end it; control and format characters show as escapes. Times are UTC.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from colony.core.lines import clip, printable
from colony.core.markers.words import utc
from colony.core.ticket import SUBJECT_MAX, Event, History, Related, Ticket


def ticket_markdown(history: History) -> str:
    """The whole ticket, its events oldest first."""
    ticket = history.ticket
    parts = [f"# {ticket.ref} · {clip(ticket.subject, SUBJECT_MAX)}", "\n".join(_facts(ticket))]
    if ticket.summary.strip():
        parts.append(quoted(ticket.summary))
    parts.append("## History")
    for event in history.events:
        parts.append(f"### {utc(event.at_ms)} · {happened(event)} · {_who(event)}")
        # What a ticket was opened with is said above, unless it was rewritten since.
        repeated = event.kind == "created" and event.text == ticket.summary
        if event.text.strip() and not repeated:
            parts.append(quoted(event.text))
    return "\n\n".join(parts) + "\n"


def quoted(text: str) -> str:
    """`text` as a Markdown block quote that nothing in it can leave."""
    lines = (printable(line.expandtabs(4)) for line in text.strip("\r\n").splitlines())
    return "\n".join(f"> {line}".rstrip() for line in lines)


def _facts(ticket: Ticket) -> Iterator[str]:
    yield f"- state: {ticket.state}"
    kind = " (machine)" if ticket.machine else ""
    yield f"- opened by {clip(ticket.author, 80)}{kind}, {utc(ticket.created_ms)}"
    if ticket.priority:
        yield f"- priority: {ticket.priority}"
    if ticket.lease:
        lease = ticket.lease
        until = f" until {utc(lease.until_ms)}" if lease.until_ms is not None else ""
        held = clip(f"{lease.session} on {lease.host} ({lease.kind})", 200)
        yield f"- held by session {held}{until}"
    if ticket.parent:
        yield f"- part of {_named(ticket.parent)}"
    yield from (f"- child {_named(each)}" for each in ticket.children)
    yield from (f"- blocked by {_named(each)}" for each in ticket.blocked_by)
    yield from (f"- blocks {_named(each)}" for each in ticket.blocks)


def _named(each: Related) -> str:
    return f"{each.ref} ({each.state}): {clip(each.subject, SUBJECT_MAX)}"


def _who(event: Event) -> str:
    name = clip(event.author, 80)
    return f"{name} (machine)" if event.machine else name


def happened(event: Event) -> str:
    """What an event did, in a few words and without its text."""
    match event.kind:
        case "created":
            return "opened"
        case "comment":
            return "comment"
        case "state":
            return f"{event.before} → {event.after}"
        case "edit":
            old = clip(event.before, SUBJECT_MAX)
            return f"edited, was: {old}" if event.before != event.after else "edited"
        case "link":
            return clip(
                f"linked: {event.after}" if event.after else f"unlinked: {event.before}", 200
            )
        case "member" | "file":
            return event.kind
        case _:
            assert_never(event.kind)
