"""`colony next`: which ticket is next, and why the others wait."""

from __future__ import annotations

from colony.cli.looking import looking, viewpoint_of
from colony.cli.options import Post
from colony.cli.verb import Context, verb, verbs
from colony.core.lines import Json, Line, clip
from colony.core.pick import Eligible, Next, pick
from colony.core.ticket import STATES, Ticket
from colony.flow.observe import look
from colony.host.pauses import pauses_of

app = verbs()

SUBJECT_MAX = 50


@verb(app, ("intake", "capabilities", "max_starts_per_hour", "max_cost_per_ticket", "max_review"))
def next_(context: Context, post: Post = False) -> None:
    """Say which ticket is next, and why the others wait.

    With --post, each project that is not set up gets one question for its creator.
    """
    with looking(context) as tracker:
        found = pick(look(tracker, viewpoint_of(context)))
    show(context, found)
    for held in filter(None, (_paused(context, found), _closed(context, found))):
        context.show.line(Line("note", held), "dim")
    hint = _hint(found, post=post)
    if hint:
        context.show.line(Line("note", hint), "dim")
    if post and found.unready:
        _ask(context, found)


def _ask(context: Context, found: Next) -> None:
    # What only writing needs costs as much again as all of plain `next`.
    from colony.cli.opening import new_key  # noqa: PLC0415
    from colony.cli.reaching import as_colony  # noqa: PLC0415
    from colony.flow.asking import ask_about_projects  # noqa: PLC0415

    with as_colony(context) as tracker:
        inbox = context.settings.tracker.inbox_project
        for line in ask_about_projects(tracker, found.unready, inbox, new_key):
            context.show.line(line)


def show(context: Context, found: Next) -> None:
    """The answer, then a line for each ticket that waits, then the counts."""
    chosen, *others = found.eligible or (None,)
    if chosen is None:
        context.show.line(Line("next", "nothing to do", facts={"chosen": None}))
    else:
        context.show.line(
            Line(
                "next",
                f"{_named(chosen.ticket)}{_words(chosen)}",
                str(chosen.ticket.ref),
                facts={"subject": chosen.ticket.subject},
            ),
            "bold",
        )
    for one in others:
        if one is not None:
            context.show.line(_waits(one.ticket, f"comes later{_words(one, '; ')}", "later"))
    for each in found.waiting:
        context.show.line(_waits(each.ticket, each.waits.reason, each.waits.code))
    by_state: dict[str, Json] = {
        state: found.counts[state] for state in STATES if state in found.counts
    }
    told = ", ".join(f"{count} {state}" for state, count in by_state.items())
    text = f"in all: {told}" if told else "no tickets at all"
    context.show.line(Line("next.counts", text, facts={"counts": by_state}), "dim")


def _hint(found: Next, *, post: bool) -> str:
    """What a person can do now."""
    if found.chosen is not None:
        ref = found.chosen.ticket.ref
        return f"start it: colony work {ref.project} {ref.number} --post"
    if not found.counts:
        return 'write one: colony ticket new "…"'
    if found.unready and not post:
        return "ask what is missing: colony next --post"
    return ""


def _paused(context: Context, found: Next) -> str:
    """What a running `colony run` waits for; by hand it can be started all the same."""
    pauses = pauses_of(context.settings.place.home)
    if pauses.everything:
        return "everything is paused: colony resume"
    project = found.chosen.ticket.ref.project if found.chosen is not None else ""
    return f"{project} is paused: colony resume {project}" if pauses.holds(project) else ""


def _closed(context: Context, found: Next) -> str:
    """When `colony run` starts it; by hand it can be started at once."""
    if context.settings.run.hours is None or found.chosen is None:
        return ""
    # Time zones cost as much as a short command.
    from colony.core.opening import closed  # noqa: PLC0415
    from colony.flow.wiring.hours import opening_of  # noqa: PLC0415
    from colony.host.clock import SystemClock  # noqa: PLC0415

    until_ms = opening_of(context.settings).closed_until_ms(SystemClock().wall_ms())
    return "" if until_ms is None else f"colony run starts nothing: {closed(until_ms)}"


def _named(ticket: Ticket) -> str:
    return f'{ticket.ref} "{clip(ticket.subject, SUBJECT_MAX)}"'


def _words(one: Eligible, before: str = " — ") -> str:
    return f"{before}{'; '.join(one.ready.words)}" if one.ready.words else ""


def _waits(ticket: Ticket, reason: str, code: str) -> Line:
    text = f"{_named(ticket)} — {reason}"
    return Line("next.waits", text, str(ticket.ref), facts={"code": code, "reason": reason})
