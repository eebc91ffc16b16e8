"""`colony retry`: starts, attempts and half-done rounds of a ticket count anew from now on."""

from __future__ import annotations

from colony.cli.opening import new_key, ref_of
from colony.cli.options import Number, Project
from colony.cli.reaching import as_colony
from colony.cli.verb import Context, verb, verbs
from colony.core.lines import Line
from colony.core.relations import open_questions
from colony.core.texts.retried import retried
from colony.core.ticket import Ticket
from colony.errors import Refused

app = verbs()


@verb(app)
def retry(context: Context, project: Project, number: Number) -> None:
    """Let a ticket be tried anew, however often it was tried before."""
    ref = ref_of(project, number)
    with as_colony(context) as tracker:
        ticket = tracker.ticket(ref).ticket
        if ticket.state in ("done", "canceled", "review"):
            raise Refused(f"{ref} is {ticket.state}: there is nothing to try")
        tracker.comment(ref, retried(tracker.now_ms()), key=new_key())
    text = f"— {ref}: starts, attempts, half-done rounds and failed checks count anew"
    context.show.line(Line("retry", f"{text}{_left(ticket)}", str(ref)))


def _left(ticket: Ticket) -> str:
    """What still keeps it from being worked on, with the command."""
    if ticket.state != "pending":
        return ""
    asked = open_questions(ticket)
    if asked:
        ref = asked[0].ref
        return f'. It waits for an answer: colony ticket answer {ref.project} {ref.number} "…"'
    return f". It is on hold: colony ticket state {ticket.ref.project} {ticket.ref.number} open"
