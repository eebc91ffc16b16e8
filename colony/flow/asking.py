"""Questions about whole projects: each is asked once, in the inbox project."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import assert_never

from colony.core.lines import Line, clip
from colony.core.pick import Unready
from colony.core.texts.layout import link
from colony.core.texts.question import Asked, no_concept, not_set_up
from colony.core.ticket import NewTicket
from colony.tracker.protocol import Tracker


def ask_about_projects(
    tracker: Tracker, unready: Iterable[Unready], inbox: str, new_key: Callable[[], str]
) -> Iterator[Line]:
    """One question for each project that cannot be worked on. Asked before: `HAVE`. What has no
    file here and is worked on a host is set up there: not asked.

    The source makes it one question for ever; its words may change with the tickets that wait.
    """
    for each in unready:
        host = _worked_on(tracker, each) if each.kind == "no file" else ""
        if host:
            yield Line("note", f"{each.project} is worked on host {host}: not asked")
            continue
        source = (
            f"colony:{'no-metadata' if each.kind == 'no file' else 'no-concept'}:{each.project}"
        )
        asked = _asked(tracker, each)
        new = NewTicket(inbox, asked.subject, asked.summary, source, state="pending")
        made = tracker.create(new, key=new_key())
        kind = "posted" if made.fresh else "have"
        ref = made.ticket.ref
        yield Line(kind, f"question {ref}: {made.ticket.subject}", str(ref))


def _worked_on(tracker: Tracker, each: Unready) -> str:
    """The host that last told of a session of this project; empty: none did."""
    if "sessions" not in tracker.features:
        return ""
    told = tracker.sessions(each.project)
    return clip(told[-1].host, 60) if told else ""


def _asked(tracker: Tracker, each: Unready) -> Asked:
    waiting = [link(ref, tracker.ticket(ref).ticket.url) for ref in each.tickets[:3]]
    match each.kind:
        case "no file":
            return not_set_up(each.project, waiting)
        case "no concept":
            return no_concept(each.project, waiting)
        case _:
            assert_never(each.kind)
