"""`colony work`: one worker on one ticket, then its check."""

from __future__ import annotations

from typing import Annotated

import typer

from colony.cli.opening import ref_of
from colony.cli.options import WORK, DryRun, Number, Post, Project
from colony.cli.sessions_desk import outfit_of, refusals, warn_of_guard
from colony.cli.verb import Context, verb, verbs
from colony.core.lines import Line
from colony.core.ports import Range, parse_range
from colony.core.ticket import Ref
from colony.errors import UsageProblem
from colony.flow.starting import Order, rehearse, work_on
from colony.flow.wiring.account import standing_of
from colony.flow.wiring.sessions import Outfit
from colony.host.chance import SESSION

app = verbs()

Session = Annotated[
    str | None, typer.Option("--session", metavar="S", help="The session's id; default: a new one.")
]
Ports = Annotated[
    str | None,
    typer.Option("--ports", metavar="A-B", help="Its ports; default: a free range of the pool."),
]


@verb(app, tuple(name for name in WORK if name != "ports"))
def work(
    context: Context,
    project: Project,
    number: Number,
    post: Post = False,
    dry_run: DryRun = False,
    ports: Ports = None,
    session: Session = None,
) -> int:
    """Run one worker on one ticket, have its report checked, and with --post write the outcome.

    A session that was left unfinished on this ticket goes on.
    """
    order = Order(ref_of(project, number), post, ports_of(ports), session_of(session))
    with refusals(context, "work", str(order.ref)), outfit_of(context) as outfit:
        warn_of_guard(context)
        warn_of_account(context, outfit, order.ref, dry_run=dry_run)
        if dry_run:
            context.show.line(rehearse(outfit, order))
            return 0
        ended = work_on(outfit, order)
        context.show.line(ended.line, "bold")
        return ended.exit_code


def warn_of_account(context: Context, outfit: Outfit, ref: Ref, *, dry_run: bool) -> None:
    """Whoever starts a session by hand knows why: it is told what the loop would wait for."""
    standing = standing_of(outfit.settings, outfit.view.registry, outfit.environ)
    why = standing.against(standing.quota.seat_of(ref.project))
    if why is not None:
        done = "would be started all the same" if dry_run else "is started as you asked"
        text = f"— {why[1]}: the loop would start nothing now; {ref} {done}"
        context.show.problem(Line("warning", text, str(ref)))


def session_of(text: str | None) -> str | None:
    if text is not None and SESSION.fullmatch(text) is None:
        raise UsageProblem(f"--session {text}: must be a name such as s-20260131T1819-abc123")
    return text


def ports_of(text: str | None) -> Range | None:
    if text is None:
        return None
    found = parse_range(text)
    if found is None:
        raise UsageProblem(f"--ports {text}: must be a range of ports such as 8700-8709")
    return found
