"""`colony salvage`: the report of an ended session whose worker ran out before giving one."""

from __future__ import annotations

from colony.cli.check import Folder, run_folder
from colony.cli.options import CONTROLLER, FINALIZE, LEASE, Post
from colony.cli.sessions_desk import outfit_of, refusals
from colony.cli.verb import Context, verb, verbs
from colony.cli.work import Ports, ports_of
from colony.core.lines import Line
from colony.flow.salvaging import Wish, costs, salvage_session

app = verbs()


@verb(app, (*FINALIZE, *CONTROLLER, *LEASE))
def salvage(context: Context, folder: Folder, post: Post = False, ports: Ports = None) -> int:
    """Ask an ended session for the report that it could not write, check it, and post it.

    For a session whose worker ran out of steps or time, and whose ticket is open again.
    """
    span = ports_of(ports)
    with refusals(context, "salvage", None):
        path = run_folder(context, folder)
        with outfit_of(context) as outfit:
            ended = salvage_session(outfit, Wish(path, post, span))
    facts = ended.facts
    context.show.line(ended.line, "bold")
    context.show.line(costs(facts))
    outcome = str(facts.outcome) if facts.outcome else "not posted"
    text = f"— {facts.ticket}: {outcome}"
    told = {"outcome": str(facts.outcome) if facts.outcome else None}
    line = Line("salvage.end", text, str(facts.ticket), facts.session, facts=told)
    context.show.line(line)
    return ended.exit_code
