"""`colony ready`: which tickets are built and wait for a deploy."""

from __future__ import annotations

from colony.cli.looking import looking
from colony.cli.verb import Context, verb, verbs
from colony.core.lines import Json, Line, clip
from colony.core.project import Project
from colony.core.ticket import Ticket
from colony.host.registry import read_project

app = verbs()

SUBJECT_MAX = 50
NOTE_MAX = 200


@verb(app)
def ready(context: Context) -> None:
    """Show which tickets are built and wait for a deploy, and what to call after it."""
    with looking(context) as tracker:
        rows = tracker.tickets(states=frozenset({"progress"}))
    count = 0
    for row in rows:
        if row.lease is not None and row.lease.kind == "ready":
            context.show.line(_line(context, row, row.lease.session))
            count += 1
    tickets = "1 ticket" if count == 1 else f"{count} tickets"
    context.show.line(Line("ready", f"{tickets} waiting for a deploy", facts={"count": count}))


def _line(context: Context, row: Ticket, session: str) -> Line:
    ref = row.ref
    found = read_project(context.settings.place.projects_dir / f"{ref.project}.json")
    project = found if isinstance(found, Project) else Project(ref.project)
    command = f"colony deployed {ref.project} {ref.number}"
    parts = (
        f"built by session {session}",
        f"live {project.live_url}" if project.live else "",
        f"deploy: {clip(project.deploy, NOTE_MAX)}" if project.deploy.strip() else "",
        f"after the deploy: {command}",
        row.url,
    )
    text = f'{ref} "{clip(row.subject, SUBJECT_MAX)}" — {" · ".join(filter(None, parts))}'
    facts: dict[str, Json] = {
        "subject": row.subject,
        "live": project.live_url or None,
        "deploy": project.deploy or None,
        "command": command,
        "url": row.url or None,
    }
    return Line("ready.row", text, str(ref), session, facts=facts)
