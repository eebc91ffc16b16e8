"""`colony deployed`: a built ticket is on its live site now; its creator can try it."""

from __future__ import annotations

from colony.cli.opening import ref_of
from colony.cli.options import Number, Project
from colony.cli.reaching import as_colony
from colony.cli.verb import Context, verb, verbs
from colony.core.lines import Line
from colony.core.ticket import Ref
from colony.errors import Busy, NoAnswer, Refused, Unreachable
from colony.flow.deploy import Gate, tell_deployed
from colony.flow.wiring.sessions import schema
from colony.host.registry import live_url_of
from colony.tracker.protocol import Tracker

app = verbs()


@verb(app)
def deployed(context: Context, project: Project, number: Number) -> int:
    """Say that a built ticket is on its live site: how to try it, and into review.

    For deploy scripts, on any host that reaches the tracker; again changes nothing.
    """
    ref = ref_of(project, number)
    written = False
    try:
        with as_colony(context) as tracker:
            for line in tell_deployed(_gate(context, tracker, ref), ref):
                written = written or line.kind == "posted"
                context.show.line(line, "bold" if line.kind == "deployed" else "")
    except (Refused, Busy, Unreachable) as why:
        if written or isinstance(why, NoAnswer):
            kind, text = "post.failed", f"— {why.line}: run it again"
        else:
            kind, text = "deployed.refused", f"— {why.line}"
        context.show.line(Line(kind, text, str(ref), facts={"code": why.code}))
        return why.exit_code
    return 0


def _gate(context: Context, tracker: Tracker, ref: Ref) -> Gate:
    settings = context.settings
    return Gate(
        tracker=tracker,
        runs=settings.place.runs_dir,
        report=schema(settings, "report"),
        verdict=schema(settings, "verdict"),
        site=live_url_of(settings.place.projects_dir, ref.project),
    )
