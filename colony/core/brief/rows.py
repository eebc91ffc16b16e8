"""Lists of other tickets: their titles and answers, one fence a list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from colony.core.brief.facts import BriefFacts, Dependency, Sibling
from colony.core.brief.quote import clean, code, cut, fence
from colony.core.brief.voices import voice_of
from colony.core.lines import clip
from colony.core.markers import utc
from colony.core.people import People
from colony.core.relations import blockers, is_question
from colony.core.ticket import Related, Ticket

LIST_MAX: Final = 40
"""Tickets in one list, newest first."""
ANSWER_MAX: Final = 2_000
"""Characters of one answer."""
ANSWERS: Final = 5
"""Answers shown of one question, the last ones."""


def relations(facts: BriefFacts, room: int) -> str:
    """Parent, children, blockers and blocked tickets; empty where there are none."""
    ticket = facts.history.ticket
    lines = [f"parent: {_related(ticket.parent)}"] if ticket.parent else []
    for child in ticket.children:
        kind = "question to the creator" if is_question(child) else "child"
        lines.append(f"{kind}: {_related(child)}")
    blocking = blockers(ticket)
    for other in ticket.blocked_by:
        still = "BLOCKING" if other in blocking else "free"
        lines.append(f"blocked by ({still}): {_related(other)}")
    lines += [f"blocks: {_related(other)}" for other in ticket.blocks]
    return _listed(lines, room, "more relations") if lines else ""


def siblings(facts: BriefFacts, room: int) -> str:
    """The project's other tickets, newest first, an answered question with its answers."""
    others = [one for one in facts.siblings if one.ticket.ref != facts.ref]
    newest = sorted(others, key=lambda one: _age(one.ticket))[:LIST_MAX]
    blocks = [_sibling(one, facts.people) for one in newest]
    return _listed(blocks, room, "older tickets", len(others)) if blocks else ""


def dependency(one: Dependency, room: int) -> str:
    """A dependency's open tickets, newest first, with its folder."""
    waiting = [row for row in one.tickets if row.state not in ("done", "canceled")]
    folder = f" · folder {code(one.folder)}, which you may read and not write" if one.folder else ""
    head = f"### {code(one.name)}{folder}"
    if not waiting:
        return f"{head}\n\nNo open tickets."
    newest = sorted(waiting, key=_age)[:LIST_MAX]
    lines = [_related(row.related()) for row in newest]
    return f"{head}\n\n{_listed(lines, room - len(head), 'older tickets', len(waiting))}"


def _age(row: Ticket) -> tuple[int, int]:
    return -row.created_ms, -row.ref.number


def _related(other: Related) -> str:
    return f"{other.ref} · {clip(other.state, 20)} · {clip(other.subject, 200)}"


def _sibling(one: Sibling, people: People) -> str:
    lines = [_related(one.ticket.related())]
    answers = [e for e in one.answers if e.kind == "comment" and voice_of(e, people) == "creator"]
    for event in answers[-ANSWERS:]:
        lines.append(f"  answer of {clip(event.author, 80)}, {utc(event.at_ms)}:")
        lines += _indented(event.text)
    return "\n".join(lines)


def _indented(text: str) -> Iterable[str]:
    short, _ = cut(clean(text.strip()).text, ANSWER_MAX)
    return (f"    {line}" for line in short.splitlines())


def _listed(blocks: Sequence[str], room: int, what: str, total: int | None = None) -> str:
    """The first blocks that fit `room`, in one fence, and how many of `total` are missing."""
    room -= 220
    shown: list[str] = []
    for block in blocks:
        if len(block) > room and shown:
            break
        shown.append(cut(block, room)[0])
        room -= len(block) + 1
    text = fence("\n".join(shown))
    gone = (len(blocks) if total is None else total) - len(shown)
    return f"{text}\n({gone:,} {what} are not listed.)" if gone else text
