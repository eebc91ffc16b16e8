"""What the verbs that run sessions share: the outfit, and how a refusal is said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from colony.cli.looking import viewpoint_of
from colony.cli.reaching import as_colony
from colony.cli.verb import Context
from colony.core.lines import Line
from colony.errors import Busy, Refused, Unreachable
from colony.flow.advance import Stopped
from colony.flow.following import ShowDoing
from colony.flow.room import OFF_SAID
from colony.flow.wiring import limits
from colony.flow.wiring.sessions import Outfit, containment_of, forms_of
from colony.flow.work import Kept, KeptBusy, KeptRefused
from colony.host.signals import StopSignals


@contextmanager
def outfit_of(context: Context, *, warn: bool = True) -> Iterator[Outfit]:
    """Tracker, containment and stop signals for as long as the verb runs.

    `warn`: say what the containment does not keep out.
    """
    containment = containment_of(context.settings, context.environ)
    tier = limits.here()
    with as_colony(context) as tracker, StopSignals() as signals, _live(context) as doing:
        for told in (containment.warning, limits.only_looked_at(context.settings, tier)):
            if warn and told:
                context.show.problem(Line("warning", f"— {told}"))
        yield Outfit(
            settings=context.settings,
            environ=context.environ,
            tracker=tracker,
            view=viewpoint_of(context),
            emit=context.show.line,
            doing=doing,
            signals=signals,
            containment=containment,
            forms=forms_of(context.settings),
            machine=limits.machine_with(tier),
        )


def warn_of_guard(context: Context) -> None:
    """Whoever starts sessions with the guard off is told."""
    if not context.settings.guard.on:
        context.show.problem(Line("warning", f"— {OFF_SAID}"))


@contextmanager
def _live(context: Context) -> Iterator[ShowDoing]:
    """The live line where a person looks at a terminal; nothing anywhere else."""
    if not context.show.err.is_terminal or context.environ.get("TERM") == "dumb":
        yield lambda _: None
        return
    from colony.cli.live import LiveLine  # noqa: PLC0415

    with LiveLine(context.environ) as line:
        yield line.show


@contextmanager
def refusals(context: Context, verb: str, ticket: str | None) -> Iterator[None]:
    """A refusal is the verb's own last line: `work: REFUSED — why`, with its exit status."""
    try:
        yield
    except Stopped as stopped:
        facts = stopped.facts
        line = Line("parked", f"— {stopped.line}", str(facts.ticket), facts.session)
        context.show.line(line, "bold")
        raise typer.Exit(stopped.exit_code) from None
    except (Kept, KeptBusy, KeptRefused) as kept:
        kind = "post.failed" if kept.posting else f"{verb}.failed"
        context.show.line(Line(kind, f"— {kept.line}", ticket, facts={"code": kept.code}))
        raise typer.Exit(kept.exit_code) from None
    except (Refused, Busy, Unreachable) as why:
        context.show.line(
            Line(f"{verb}.refused", f"— {why.line}", ticket, facts={"code": why.code})
        )
        raise typer.Exit(why.exit_code) from None
