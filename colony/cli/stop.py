"""`colony stop`: end a session and give its ticket back, or park it."""

from __future__ import annotations

import signal
from typing import Annotated, Final

import typer

from colony.cli.sessions_desk import outfit_of, refusals
from colony.cli.verb import Context, verb, verbs
from colony.core.last_line import PARKED
from colony.core.lines import Line
from colony.core.session import Facts
from colony.errors import NotFound, UsageProblem
from colony.flow.kept_session import session_here
from colony.flow.runs import facts_of
from colony.flow.starting import Order, work_on
from colony.host.chance import SESSION
from colony.host.children import adopt
from colony.host.control import Control
from colony.host.identity import has_ended
from colony.host.journal import RunFolder

app = verbs()

WAIT_S: Final = 15.0
"""How long the end of a running session is waited for."""

Session = Annotated[str, typer.Argument(metavar="SESSION", help="Its id.")]
Park = Annotated[
    bool, typer.Option("--park", help="Keep the ticket; it waits for: colony resume SESSION.")
]


@verb(app)
def stop(context: Context, session: Session, park: Park = False) -> int:
    """End a session and give its ticket back; with --park, let it wait until it is resumed.

    What is being posted is posted.
    """
    if not SESSION.fullmatch(session):
        raise UsageProblem(f"{session}: must be a session such as s-20260131T1819-abc123")
    place = context.settings.place
    folder, facts = session_here(place.runs_dir, session)
    control = Control(place.home)
    control.order(session, "park" if park else "stop")
    child = adopt(folder.lock)
    if child is None:
        # Nobody works on it: this process does what is left to do.
        with refusals(context, "work", str(facts.ticket)), outfit_of(context) as outfit:
            order = Order(facts.ticket, facts.post, session=session)
            work_on(outfit, order)
    else:
        child.signal(signal.SIGTERM)
        ended = has_ended(child.pidfd, WAIT_S)
        child.close()
        if not ended:
            text = f"— {facts.ticket} (session {session}) was asked to; it has not ended yet"
            context.show.line(Line("stop", text, str(facts.ticket), session))
            return 0
    return _told(context, folder, facts)


def _told(context: Context, folder: RunFolder, before: Facts) -> int:
    facts = facts_of(folder)
    if not isinstance(facts, Facts):
        raise NotFound(f"session {before.session} had not begun, and is gone")
    ref, park = facts.ticket, facts.parked
    if facts.outcome is not None:
        how = f"has ended: {facts.outcome}"
    elif park is not None:
        how = f"is parked: {PARKED[park.reason]}. Go on: colony resume {facts.session}"
    else:
        how = "is kept as it stands"
    text = f"— {ref} (session {facts.session}) {how}"
    told = {"outcome": str(facts.outcome) if facts.outcome else None}
    context.show.line(Line("stop", text, str(ref), facts.session, facts=told))
    return 0
