"""`colony run`: the loop that works the queue."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated, Final

import typer

from colony.cli.config import listed
from colony.cli.looking import viewpoint_of
from colony.cli.options import RUN, WORK, DryRun
from colony.cli.reaching import as_colony
from colony.cli.sessions_desk import refusals, warn_of_guard
from colony.cli.verb import Context, Start, early_verb, verbs
from colony.core.iteration import planned
from colony.core.lines import Line
from colony.core.live import is_live
from colony.errors import Refused
from colony.flow.run import Loop, LoopSettings
from colony.flow.supervise import Supervisor
from colony.flow.wiring import limits
from colony.flow.wiring.loop import LOCK, command_of, loop_bench, loop_settings
from colony.flow.wiring.sessions import containment_of
from colony.host.cgroup import told
from colony.host.clock import SystemClock
from colony.host.lock import lock_file
from colony.host.log_file import LogFile
from colony.host.signals import LoopSignals

app = verbs()

SETTINGS: Final = ("inbox_project", *(name for name in WORK if name != "ports"), *RUN)

Once = Annotated[bool, typer.Option("--once", help="One iteration, and what it began.")]
Live = Annotated[bool, typer.Option("--live", help="The tracker may be one that others use, too.")]


@early_verb(app, SETTINGS, listed=True)
def run(start: Start, once: Once = False, dry_run: DryRun = False, live: Live = False) -> int:
    """Work the queue: look every minute, start what can be started, take up what was interrupted.

    Ctrl-C or SIGTERM once: nothing new starts, sessions finish. Twice: they are parked, and the
    next run goes on with them. --dry-run prints what an iteration would do, and does nothing.
    """
    context = start.context()
    with refusals(context, "run", None):
        _check(context, live=live)
        with ExitStack() as held:
            # The tracker first: where there is none, nothing is written.
            tracker = held.enter_context(as_colony(context, hasty=True))
            if not dry_run:
                held.enter_context(_home(context))
            signals = held.enter_context(LoopSignals(terminal=sys.stdin.isatty()))
            emit = _emitter(context)
            again = _reader(start)
            bench = loop_bench(context.settings, tracker, signals, start.environ, emit, again)
            supervisor = Supervisor(command_of(context.settings, start.environ, start.flags))
            settings = loop_settings(context.settings, viewpoint_of(context), start.environ)
            loop = Loop(bench, settings, supervisor)
            if dry_run:
                for line in planned(loop.plan_only()):
                    context.show.line(line)
                return 0
            _begin(start, context, emit)
            loop.run(once=once)
    return 0


def _check(context: Context, *, live: bool) -> None:
    """What keeps a loop from being started, before anything is written."""
    url = context.settings.tracker.url
    if is_live(url) and not live:
        raise Refused("COLONY_TICKETS_URL names a tracker that others use, too: add --live")
    containment = containment_of(context.settings, context.environ)
    if containment.warning:
        context.show.problem(Line("warning", f"— {containment.warning}"))
    warn_of_guard(context)


@contextmanager
def _home(context: Context) -> Iterator[None]:
    """This home, for one loop at a time."""
    home = context.settings.place.home
    home.mkdir(parents=True, exist_ok=True)
    with lock_file(home / LOCK, "another run works in this home"):
        yield


def _reader(start: Start) -> Callable[[], LoopSettings]:
    """What SIGHUP reads again: the `.env` and the registry; options and environment stand."""

    def read() -> LoopSettings:
        context = start.context()
        return loop_settings(context.settings, viewpoint_of(context), start.environ)

    return read


def _emitter(context: Context) -> Callable[[Line], None]:
    """Lines for whoever looks, and for `logs/colony.log`; trouble with that is said once."""
    clock = SystemClock()

    def complain(told: str) -> None:
        context.show.problem(Line("warning", f"— {told}"))

    book = LogFile(context.settings.place.home / "logs" / "colony.log", complain)

    def emit(line: Line) -> None:
        context.show.line(line)
        book.write(line.as_text(), clock.wall_ms())

    return emit


def _begin(start: Start, context: Context, emit: Callable[[Line], None]) -> None:
    """Every setting that is not its default, before anything happens."""
    place, run = context.settings.place, context.settings.run
    text = f"host {place.host}, home {place.home}, {run.parallel} at once, every {run.interval} s"
    emit(Line("run", text))
    # Before its first session: what is started from now on is started from where it is then.
    emit(Line("run", told(limits.here())))
    for row in listed(start).rows:
        if row.source != "default":
            emit(Line("run", f"{row.setting.variable} {row.setting.shown(row.text)}"))
