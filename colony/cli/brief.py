"""`colony brief`: the text that a worker starts with."""

from __future__ import annotations

from typing import Annotated

import typer

from colony.cli.looking import viewpoint_of
from colony.cli.opening import new_path, ref_of
from colony.cli.options import Number, Project
from colony.cli.reaching import looking_at_sessions
from colony.cli.verb import Context, verb, verbs
from colony.cli.work import Ports, Session, ports_of, session_of
from colony.core.eligible import no_work_ever
from colony.core.lines import Json, Line
from colony.errors import Refused
from colony.flow.briefing import Wanted, gather, project_of
from colony.flow.observe import look_at
from colony.flow.previous import told_to
from colony.flow.wiring.runners import runner_of
from colony.flow.wiring.sessions import forms_of, sources_of, tree_setup, trees_of
from colony.host.chance import SystemChance
from colony.host.clock import SystemClock
from colony.host.files import make_folder, write_private

app = verbs()

Out = Annotated[
    str | None,
    typer.Option("--out", metavar="FILE", help="Default: briefs/P-N.md in the home; - prints it."),
]


@verb(app, ("max_turns", "timeout", "brief_max_chars", "intake"))
def brief(
    context: Context,
    project: Project,
    number: Number,
    out: Out = None,
    ports: Ports = None,
    session: Session = None,
) -> None:
    """Write the text that a worker on this ticket would start with."""
    ref = ref_of(project, number)
    settings = context.settings
    with looking_at_sessions(context) as tracker:
        view = viewpoint_of(context)
        found = project_of(view.registry, ref.project)
        survey, history = look_at(tracker, view, ref)
        never = no_work_ever(history.ticket)
        if never:
            raise Refused(f"{ref} is {never}; no brief")
        runner = runner_of(settings, found)
        wanted = Wanted(
            session=session_of(session) or SystemChance().session_id(SystemClock().wall_ms()),
            ports=ports_of(ports) or settings.work.ports,
            max_turns=runner.max_turns,
            timeout_s=runner.timeout_s,
            max_usd=runner.max_budget_usd,
            tree=tree_setup(trees_of(settings, context.environ), settings, found, ref),
        )
        forms = forms_of(settings)
        sources = sources_of(settings, tracker, view.registry, forms, told_to(tracker))
        text = sources.templates.brief(gather(sources, survey, history, wanted))
    if out == "-":
        if context.show.json:
            line = Line("brief", text, str(ref), wanted.session, facts={"chars": len(text)})
            context.show.line(line)
        else:
            context.show.out.write(text)
        return
    path = new_path(out) if out else settings.place.briefs_dir / f"{project}-{number}.md"
    if not out:
        make_folder(path.parent)
    write_private(path, text.encode())
    facts: dict[str, Json] = {"path": str(path), "chars": len(text)}
    context.show.line(
        Line("brief", f"{path} ({len(text):,} characters)", str(ref), wanted.session, facts=facts)
    )
