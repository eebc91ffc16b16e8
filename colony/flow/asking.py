"""Questions about whole projects: each is asked once, in the inbox project."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import assert_never

from colony.core.lines import Line
from colony.core.pick import Unready
from colony.core.texts.layout import link
from colony.core.texts.question import Asked, no_concept, not_set_up
from colony.core.ticket import NewTicket
from colony.tracker.protocol import Tracker


def ask_about_projects(
    tracker: Tracker, unready: Iterable[Unready], inbox: str, new_key: Callable[[], str]
) -> Iterator[Line]:
    """One question for each project that cannot be worked on. Asked before: `HAVE`.

    The source makes it one question for ever; its words may change with the tickets that wait.
    """
    for each in unready:
        source = (
            f"colony:{'no-metadata' if each.kind == 'no file' else 'no-concept'}:{each.project}"
        )
        asked = _asked(tracker, each)
        new = NewTicket(inbox, asked.subject, asked.summary, source, state="pending")
        made = tracker.create(new, key=new_key())
        kind = "posted" if made.fresh else "have"
        ref = made.ticket.ref
        yield Line(kind, f"question {ref}: {made.ticket.subject}", str(ref))


def _asked(tracker: Tracker, each: Unready) -> Asked:
    waiting = [link(ref, tracker.ticket(ref).ticket.url) for ref in each.tickets[:3]]
    match each.kind:
        case "no file":
            return not_set_up(each.project, waiting)
        case "no concept":
            return no_concept(each.project, waiting)
        case _:
            assert_never(each.kind)
