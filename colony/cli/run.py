"""`colony run`: the loop that works the queue, until it is stopped."""

from __future__ import annotations

import os
from typing import Annotated, Final

import typer

from colony import config
from colony.cli.config import listed
from colony.cli.looking import viewpoint_of
from colony.cli.machine import env_text
from colony.cli.options import RUN, WORK, DryRun
from colony.cli.reaching import tracker_of
from colony.cli.sessions_desk import refusals
from colony.cli.verb import Context, verb, verbs
from colony.core.lines import Json, Line, clip
from colony.core.plan import Action, Ask, Expire, Resume, Start, Wait
from colony.core.ports import show_range
from colony.core.settings import BY_NAME
from colony.errors import Unreachable
from colony.flow.iterating import Iterations, Terms
from colony.flow.run import Loop, Outside
from colony.flow.wiring.loop import Given, edges_of, need_leave, only_loop, terms_of
from colony.host.clock import SystemClock
from colony.host.logbook import Logbook
from colony.host.notify import Notify
from colony.host.signals import LoopSignals
from colony.tracker.protocol import Tracker

app = verbs()

Once = Annotated[
    bool, typer.Option("--once", help="One iteration; wait for what it started, then end.")
]
Live = Annotated[
    bool, typer.Option("--live", help="The tracker is on another machine, and that is meant.")
]
SESSIONS: Final = tuple(name for name in WORK if name != "ports")
"""Options that are handed on to each session as they were given."""


@verb(app, ("intake", *SESSIONS, *RUN))
def run(context: Context, once: Once = False, live: Live = False, dry_run: DryRun = False) -> int:
    """Work the queue: start, watch and take up sessions, give silent tickets back, until stopped.

    The first Ctrl-C or SIGTERM lets sessions finish, a second parks them, a third kills them.
    """
    with refusals(context, "run", None):
        need_leave(context.settings, live=live)
        if dry_run:
            return _rehearse(context)
        with only_loop(context.settings):
            _loop(context, once=once)
    return 0


def _loop(context: Context, *, once: bool) -> None:
    told = _Telling(context)
    loop: Loop | None = None
    with LoopSignals(lambda count: loop.on_stop(count) if loop else None) as signals:
        opened = _opener(context, once=once)
        edges = edges_of(
            context.settings, _given(context), opened, told.line, lambda: signals.count > 0
        )
        notify = Notify.of(context.environ, os.getpid())
        loop = Loop(edges, _terms(context), Outside(signals, notify, lambda: _again(context)))
        told.settings()
        try:
            loop.run(once=once)
        finally:
            edges.watched.close()


def _rehearse(context: Context) -> int:
    """The plan, a line each."""
    opened = _opener(context, once=True)
    edges = edges_of(context.settings, _given(context), opened, context.show.line, lambda: False)
    try:
        actions = Iterations(edges, _terms(context)).planned()
    finally:
        edges.watched.close()
    for action in actions:
        context.show.line(_planned(action))
    if not actions:
        context.show.line(Line("run.action", "nothing to do"))
    return 0


def _planned(action: Action) -> Line:
    match action:
        case Expire(ref, lease):
            text, session = f"expire {ref}: session {lease.session} is silent", lease.session
        case Resume(session, ref, ports):
            text = f"resume {ref} ({session}{_on(ports)})"
        case Start(ref, ports):
            return Line(
                "run.action", f"start {ref} ({_on(ports)[2:]})", str(ref), facts={"action": "start"}
            )
        case Ask(unready):
            text = f"ask the creator about {unready.project}: {unready.kind}"
            return Line("run.action", text, facts={"action": "ask"})
        case Wait(ref, code, reason, session):
            told: dict[str, Json] = {"action": "wait", "code": code}
            text = f"wait {ref}: {reason}"
            return Line("run.action", text, str(ref), session or None, facts=told)
    name = type(action).__name__.lower()
    return Line("run.action", text, str(ref), session, facts={"action": name})


def _on(ports: tuple[int, int] | None) -> str:
    return f", ports {show_range(ports)}" if ports is not None else ", no agent"


class _Telling:
    """Lines go to whoever reads the output, and into the log."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._log = Logbook(context.settings.place.home / "logs")
        self._clock = SystemClock()
        self._trouble = ""

    def line(self, line: Line) -> None:
        show = self._context.show
        if line.kind == "warning":
            show.problem(line)
        else:
            show.line(line, "bold" if line.kind in ("session.end", "run.stopped") else "")
        self._log.write(self._clock.wall_ms(), line.as_text())
        if self._log.trouble and self._log.trouble != self._trouble:
            show.problem(Line("warning", f"— the log is not written: {self._log.trouble}"))
        self._trouble = self._log.trouble

    def settings(self) -> None:
        """Who runs where, then every setting that is not its default."""
        place = self._context.settings.place
        text = f"process {os.getpid()} on {place.host}, home {place.home}"
        self.line(Line("run", text, facts={"pid": os.getpid(), "home": str(place.home)}))
        for row in listed(self._context.start).rows:
            if row.source != "default":
                name = row.setting.flag.removeprefix("--")
                value = clip(row.setting.shown(row.text), 200) or "-"
                facts: dict[str, Json] = {"setting": name, "value": value, "source": row.source}
                self.line(Line("run", f"{name} {value} — {row.source}", facts=facts))


def _given(context: Context) -> Given:
    flags = context.start.flags
    options = [f"{BY_NAME[name].flag}={text}" for name, text in flags.items() if name in SESSIONS]
    # `work` has no such option: what a person asks for by name is judged by the settings alone.
    intake = {BY_NAME[name].variable: flags[name] for name in ("intake",) if name in flags}
    return Given(tuple(options), {**context.environ, **intake})


def _terms(context: Context) -> Terms:
    return terms_of(context.settings, viewpoint_of(context))


def _again(context: Context) -> Terms:
    """What an option or the environment set stays; `.env` and registry are read again."""
    start, home = context.start, context.settings.place.home
    settings = config.read(start.flags, start.environ, env_text(home), start.machine)
    return _terms(Context(settings, context.show, context.environ, start))


class _Opener:
    """Opens the tracker when it can be. Whoever waits for one iteration is told that it cannot."""

    def __init__(self, context: Context, *, once: bool) -> None:
        self._context = context
        self._found: Tracker | None = None
        if once:
            self._found = tracker_of(context, as_person=False)
            return
        try:
            self._found = tracker_of(context, as_person=False)
        except Unreachable:
            self._found = None

    def __call__(self) -> Tracker:
        found, self._found = self._found, None
        return found if found is not None else tracker_of(self._context, as_person=False)


def _opener(context: Context, *, once: bool) -> _Opener:
    return _Opener(context, once=once)
