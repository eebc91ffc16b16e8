"""`colony ticket`: what a person does with tickets."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from colony.cli.opening import as_person, new_key, ref_of
from colony.cli.options import Number, Project
from colony.cli.ticket_view import COLUMNS, row, show_history, summed_up
from colony.cli.verb import Context, verb, verbs
from colony.core.keywords import keyword_trouble
from colony.core.lines import Line
from colony.core.relations import goes_on, is_question
from colony.core.spelling import hint
from colony.core.texts import moved
from colony.core.ticket import STATES, TEXT_MAX, NewTicket, Ref, State, is_state
from colony.errors import Busy, Refused, UsageProblem
from colony.host.registry import Registry, read_registry
from colony.tracker.protocol import Conflict, Guard, Tracker, Written

app = verbs(help="Write, read and answer tickets. You act as COLONY_PERSON.")

Text = Annotated[str, typer.Argument(metavar="TEXT", help="The text; - reads standard input.")]
Summary = Annotated[
    str | None, typer.Option("--summary", metavar="TEXT", help="- reads standard input.")
]
InProject = Annotated[str | None, typer.Option("--project", metavar="P", help="Project.")]
OtherProject = Annotated[str, typer.Argument(metavar="P2", help="The other ticket's project.")]
OtherNumber = Annotated[str, typer.Argument(metavar="N2", help="The other ticket's number.")]


@verb(app)
def new(
    context: Context,
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="One line.")],
    project: InProject = None,
    summary: Summary = None,
    parent: Annotated[
        tuple[str, str] | None,
        typer.Option("--parent", metavar="P N", help="The ticket that this one is a part of."),
    ] = None,
) -> None:
    """Open a ticket; with one registered project, in that."""
    above = ref_of(*parent) if parent else None
    place = context.settings.place
    registry = read_registry(place.projects_dir, place.home, place.host)
    name = _project_for(context, registry, project)
    ticket = NewTicket(name, subject, _text(summary or ""), parent=above)
    with as_person(context, create=True) as tracker:
        made = tracker.create(ticket, key=new_key()).ticket
        context.show.line(summed_up(made))


@verb(app, name="list")
def list_(
    context: Context,
    project: InProject = None,
    state: Annotated[
        list[str] | None,
        typer.Option("--state", metavar="STATE", help=f"One of {', '.join(STATES)}; repeatable."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also those that are done or canceled.")
    ] = False,
) -> None:
    """List tickets, oldest first."""
    wanted = [_state(each) for each in state or ()]
    with as_person(context) as tracker:
        found = tracker.tickets(project, wanted or None)
    closed = () if everything or wanted else ("done", "canceled")
    shown = [ticket for ticket in found if ticket.state not in closed]
    context.show.table(COLUMNS, [row(ticket) for ticket in shown])
    hidden = len(found) - len(shown)
    more = f", {hidden} done or canceled (--all shows them)" if hidden else ""
    facts = {"shown": len(shown), "hidden": hidden}
    context.show.line(Line("tickets", f"{len(shown)}{more}", facts=facts))


@verb(app)
def show(
    context: Context,
    project: Project,
    number: Number,
    full: Annotated[bool, typer.Option("--full", help="Show the machine lines too.")] = False,
) -> None:
    """Show a ticket with its history."""
    with as_person(context) as tracker:
        history = tracker.ticket(ref_of(project, number))
    show_history(context.show, history, context.settings.tracker.tz, full=full)


@verb(app)
def edit(
    context: Context,
    project: Project,
    number: Number,
    subject: Annotated[
        str | None, typer.Option("--subject", metavar="TEXT", help="The new subject.")
    ] = None,
    summary: Summary = None,
) -> None:
    """Change the subject or the summary."""
    ref = ref_of(project, number)
    if subject is None and summary is None:
        raise UsageProblem("nothing to change: give --subject or --summary")
    text = None if summary is None else _text(summary)
    with as_person(context) as tracker:
        _told(
            context, ref, tracker.edit(ref, key=new_key(), subject=subject, summary=text), "edited"
        )


@verb(app)
def comment(context: Context, project: Project, number: Number, text: Text) -> None:
    """Write a comment."""
    ref = ref_of(project, number)
    with as_person(context) as tracker:
        said = _text(text)
        _told(context, ref, tracker.comment(ref, said, key=new_key()), "comment written")
        told = keyword_trouble(said)
        if told:
            context.show.problem(Line("warning", f"— {told}", ticket=str(ref)))


@verb(app)
def answer(context: Context, project: Project, number: Number, text: Text) -> None:
    """Answer a question of Colony's: the ticket that waits for it goes on."""
    ref = ref_of(project, number)
    said = _text(text)
    # A text that begins with a slash would be taken for a keyword.
    said = f"/answer {said}" if said.lstrip().startswith("/") else said
    with as_person(context) as tracker:
        ticket = tracker.ticket(ref).ticket
        if not is_question(ticket):
            raise Refused(f"{ref} is no question (colony ticket comment writes to any ticket)")
        if ticket.state != "pending":
            raise Refused(f"{ref} is {ticket.state}, it waits for no answer")
        guard = Guard(event=ticket.last_event)
        written = _written(ref, tracker.comment(ref, said, key=new_key(), guard=guard))
        done = tracker.move(ref, "done", key=new_key(), guard=Guard(event=written.last_event))
        _told(context, ref, done, "answered")
        if ticket.parent is not None:
            _release(context, tracker, ticket.parent.ref, ref)


def _release(context: Context, tracker: Tracker, parent: Ref, answered: Ref) -> None:
    """The ticket that waited for the answer goes on."""
    history = tracker.ticket(parent)
    if not goes_on(history, answered):
        return
    guard = Guard(event=history.ticket.last_event)
    text = moved.answered(answered)
    moved_on = tracker.move(parent, "open", key=new_key(), text=text, guard=guard)
    _told(context, parent, moved_on, "open again")


@verb(app)
def state(
    context: Context,
    project: Project,
    number: Number,
    new_state: Annotated[str, typer.Argument(metavar="STATE", help=f"One of {', '.join(STATES)}.")],
    text: Annotated[
        str, typer.Option("--text", metavar="TEXT", help="Why; - reads standard input.")
    ] = "",
) -> None:
    """Move a ticket to another state."""
    ref, to = ref_of(project, number), _state(new_state)
    with as_person(context) as tracker:
        why = _text(text)
        moved = tracker.move(ref, to, key=new_key(), text=why)
        _told(context, ref, moved, f"is {to} now", f"was {to} already")
    if to == "reopened" and not why.strip():
        told = "no reason given: the next worker learns nothing of why (colony ticket comment)"
        context.show.problem(Line("warning", f"— {told}", ticket=str(ref)))


@verb(app)
def block(
    context: Context,
    project: Project,
    number: Number,
    by_project: OtherProject,
    by_number: OtherNumber,
    remove: Annotated[bool, typer.Option("--remove", help="Take the link away.")] = False,
) -> None:
    """Say that P N cannot start before P2 N2 is done."""
    ref, by = ref_of(project, number), ref_of(by_project, by_number)
    with as_person(context) as tracker:
        written = tracker.block(ref, by, key=new_key(), remove=remove)
        word = "no longer blocked by" if remove else "blocked by"
        _told(context, ref, written, f"is {word} {by}", f"was {word} {by} already")


@verb(app)
def parent(
    context: Context,
    project: Project,
    number: Number,
    parent_project: Annotated[str | None, typer.Argument(metavar="P2", help="Its parent.")] = None,
    parent_number: Annotated[str | None, typer.Argument(metavar="N2", help="Its parent.")] = None,
    none: Annotated[bool, typer.Option("--none", help="Take the parent away.")] = False,
) -> None:
    """Make P N a part of P2 N2."""
    ref = ref_of(project, number)
    if none == (parent_project is not None) or (parent_project and not parent_number):
        raise UsageProblem("give the parent as P2 N2, or --none")
    above = ref_of(parent_project, parent_number) if parent_project and parent_number else None
    with as_person(context) as tracker:
        written = tracker.set_parent(ref, above, key=new_key())
        word = f"is a part of {above}" if above else "has no parent"
        _told(context, ref, written, f"{word} now", f"{word} already")


def _project_for(context: Context, registry: Registry, given: str | None) -> str:
    """The project of a new ticket: the given one, or the only one there is."""
    known = tuple(registry.projects)
    if given is not None:
        if given not in known:
            context.show.problem(
                Line("warning", f"project {given} has no registry file{hint(given, known)}")
            )
        return given
    if len(known) == 1:
        return known[0]
    if not known:
        raise UsageProblem("--project is needed: no project is registered (colony init makes one)")
    raise UsageProblem(f"--project is needed: one of {', '.join(known)}")


def _state(word: str) -> State:
    if not is_state(word):
        raise UsageProblem(f"state {word}: must be one of {', '.join(STATES)}{hint(word, STATES)}")
    return word


def _text(given: str) -> str:
    """The text itself, or standard input for `-`."""
    if given != "-":
        return given
    if sys.stdin is None:
        raise UsageProblem("there is no standard input to read the text from")
    # One byte too many is enough for the tracker to refuse it.
    return sys.stdin.buffer.read(TEXT_MAX + 1).decode("utf-8", "replace")


def _written(ref: Ref, answer: Written | Conflict) -> Written:
    if isinstance(answer, Conflict):
        raise Busy(f"{ref} was changed by somebody else just now; nothing was written")
    return answer


def _told(
    context: Context, ref: Ref, answer: Written | Conflict, did: str, already: str = "is unchanged"
) -> None:
    written = _written(ref, answer)
    text = f"{ref} {did if written.event else already}"
    facts = {"event": written.event, "lastEvent": written.last_event}
    context.show.line(Line("ticket", text, ticket=str(ref), facts=facts))
