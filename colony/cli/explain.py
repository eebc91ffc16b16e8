"""`colony explain`: every rule that speaks for or against starting a ticket now."""

from __future__ import annotations

from colony.cli.looking import looking, viewpoint_of
from colony.cli.opening import ref_of
from colony.cli.options import WORK, Number, Project
from colony.cli.verb import Context, verb, verbs
from colony.flow.wiring.explaining import explained

app = verbs()


@verb(app, ("hours", *WORK))
def explain(context: Context, project: Project, number: Number) -> None:
    """Say what speaks for and against starting this ticket now, the deciding rule first.

    Nothing is written, and nothing is started.
    """
    ref = ref_of(project, number)
    with looking(context) as tracker:
        view = viewpoint_of(context)
        for line in explained(context.settings, context.environ, tracker, view, ref):
            context.show.line(line, "bold" if line.kind == "explain" else "")
