"""`colony sessions`: list sessions, look into one, remove what nobody needs any more."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated

import typer

from colony.cli.options import DryRun
from colony.cli.reaching import looking_at_sessions
from colony.cli.show import Row, Show
from colony.cli.verb import Context, verb, verbs
from colony.core.lines import Line
from colony.core.prune import Bounds
from colony.core.records import SessionRecord
from colony.core.spans import parse_span
from colony.errors import Busy, NotFound, Refused, Unreachable, UsageProblem
from colony.flow.pruning import Sweep
from colony.flow.pruning import prune as remove
from colony.flow.session_view import (
    COLUMNS,
    Viewer,
    cells,
    facts_line,
    in_full,
    told_in_full,
    word_of,
)
from colony.flow.sightings import (
    Elsewhere,
    Here,
    Sighting,
    Unreadable,
    in_order,
    sighted,
    sightings,
    told_elsewhere,
)
from colony.host.chance import SESSION
from colony.host.clock import SystemClock
from colony.host.journal import RunFolder
from colony.host.pauses import Pauses, pauses_of

app = verbs()

COUNT_MAX = 10**6

SessionName = Annotated[
    str | None, typer.Argument(metavar="[S]", help="One session in full.", show_default=False)
]
Last = Annotated[str | None, typer.Option("--last", metavar="N", help="List the newest N only.")]
Prune = Annotated[
    bool, typer.Option("--prune", help="Remove run folders that nobody needs any more.")
]
Keep = Annotated[
    str | None, typer.Option("--keep", metavar="N", help="With --prune: the newest N stay.")
]
OlderThan = Annotated[
    str | None,
    typer.Option(
        "--older-than", metavar="D", help="With --prune: only what ended so long ago: 30d, 12h."
    ),
]


@verb(app)
def sessions(
    context: Context,
    session: SessionName = None,
    last: Last = None,
    prune: Prune = False,
    keep: Keep = None,
    older_than: OlderThan = None,
    dry_run: DryRun = False,
) -> int:
    """List the sessions of this home, newest last, or show one in full.

    With --prune, remove run folders of sessions whose ticket is done or canceled.
    """
    _check(session, last, keep, older_than, prune=prune, dry_run=dry_run)
    if prune:
        return _prune(context, _bounds(keep, older_than), dry_run=dry_run)
    if session is not None:
        return _one(context, session_named(session))
    return _list(context, None if last is None else _number("--last", last))


def session_named(text: str) -> str:
    """A session's name, also as the path of its run folder. UsageProblem: it is none."""
    name = text.rstrip("/").rpartition("/")[2]
    if SESSION.fullmatch(name) is None:
        raise UsageProblem(f"{text}: no session is named so (such as s-20260131T1819-abc123)")
    return name


def _check(
    session: str | None,
    last: str | None,
    keep: str | None,
    older_than: str | None,
    *,
    prune: bool,
    dry_run: bool,
) -> None:
    if prune and (session is not None or last is not None):
        raise UsageProblem("--prune takes neither a session nor --last")
    if prune and keep is None and older_than is None:
        raise UsageProblem("--prune needs --keep N, --older-than D, or both")
    if not prune and (keep is not None or older_than is not None or dry_run):
        raise UsageProblem("--keep, --older-than and --dry-run go with --prune")
    if session is not None and last is not None:
        raise UsageProblem("--last goes with the list, not with one session")


def _bounds(keep: str | None, older_than: str | None) -> Bounds:
    count = None if keep is None else _number("--keep", keep)
    span = None if older_than is None else parse_span(older_than)
    if older_than is not None and span is None:
        raise UsageProblem(f"--older-than {older_than}: must be a time such as 30d, 12h or 90m")
    return Bounds(count, span)


def _number(flag: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) <= COUNT_MAX):
        raise UsageProblem(f"{flag} {text}: must be a whole number from 0 to {COUNT_MAX}")
    return int(text)


# --- the list --------------------------------------------------------------------------------


def _list(context: Context, last: int | None) -> int:
    place = context.settings.place
    viewer = Viewer(place.host, SystemClock().wall_ms())
    here = sightings(place.runs_dir)
    others = _elsewhere(context, {one.session for one in here})
    everything = in_order((*here, *others))
    shown = (
        everything if last is None else everything[len(everything) - min(last, len(everything)) :]
    )
    _table(context.show, [one for one in shown if not isinstance(one, Unreadable)], viewer)
    for one in shown:
        if isinstance(one, Unreadable):
            context.show.line(facts_line(one, viewer))
    paused = _paused(pauses_of(place.home))
    if paused:
        context.show.line(Line("note", paused))
    context.show.line(_count(everything, len(shown), viewer))
    return 0


def _paused(pauses: Pauses) -> str:
    if pauses.everything:
        return "everything is paused: colony resume"
    names = ", ".join(sorted(pauses.projects))
    return f"paused: {names} (colony resume PROJECT)" if names else ""


def _table(show: Show, found: Sequence[Here | Elsewhere], viewer: Viewer) -> None:
    rows = [Row(facts_line(one, viewer), cells(one, viewer)) for one in found]
    if not any(row.cells[-1] for row in rows):
        # All of them are of this host: a column less.
        show.table(COLUMNS[:-1], [Row(row.line, row.cells[:-1]) for row in rows])
    else:
        show.table(COLUMNS, rows)


def _elsewhere(context: Context, known: Collection[str]) -> tuple[Elsewhere, ...]:
    """What the tracker knows besides; that it cannot be asked hides nothing that lies here."""
    try:
        with looking_at_sessions(context) as tracker:
            return told_elsewhere(tracker, context.settings.place.host, known)
    except (Unreachable, Busy, Refused) as problem:
        text = f"— sessions of other hosts are not listed: {problem.line}"
        context.show.problem(Line("warning", text))
        return ()


def _count(found: tuple[Sighting, ...], shown: int, viewer: Viewer) -> Line:
    """Of every host: a session that runs elsewhere is running, too."""
    words = [word_of(one, viewer) for one in found if not isinstance(one, Unreadable)]
    running, silent = words.count("running"), words.count("silent")
    unreadable = sum(isinstance(one, Unreadable) for one in found)
    others = sum(isinstance(one, Elsewhere) for one in found)
    open_ = sum(word in ("unfinished", "not posted", "no verdict") for word in words)
    told = [f"{len(found)} in all", f"{running} running"]
    told += [f"{open_} unfinished or not posted"] if open_ else []
    told += [f"{silent} silent"] if silent else []
    told += [f"{others} on other hosts"] if others else []
    told += [f"{unreadable} unreadable"] if unreadable else []
    told += [f"the newest {shown} shown"] if shown < len(found) else []
    return Line(
        "sessions",
        ", ".join(told),
        facts={
            "count": len(found), "running": running, "unfinished": open_, "silent": silent,
            "elsewhere": others, "unreadable": unreadable,
        },
    )  # fmt: skip


# --- one -------------------------------------------------------------------------------------


def _one(context: Context, session: str) -> int:
    place = context.settings.place
    viewer = Viewer(place.host, SystemClock().wall_ms())
    folder = RunFolder(place.runs_dir / session)
    if folder.path.is_symlink() or folder.path.exists():
        found = sighted(folder)
        if isinstance(found, Unreadable):
            raise Refused(f"{folder.path} cannot be read: {found.reason}")
        for line in in_full(found, folder.path, viewer):
            context.show.line(line, "bold" if line.kind == "session" else "")
        return 0
    for line in told_in_full(_told_of(context, session), viewer):
        context.show.line(line, "bold" if line.kind == "session" else "")
    return 0


def _told_of(context: Context, session: str) -> SessionRecord:
    """A session that has no run folder here, as the tracker was told of it. `NotFound`."""
    with looking_at_sessions(context) as tracker:
        try:
            return tracker.session(session)
        except NotFound:
            raise no_session(context, session) from None


def no_session(context: Context, session: str) -> NotFound:
    runs = context.settings.place.runs_dir
    return NotFound(f"there is no session {session} in {runs}, nor in the tracker")


# --- removing --------------------------------------------------------------------------------


def _prune(context: Context, bounds: Bounds, *, dry_run: bool) -> int:
    place = context.settings.place
    with looking_at_sessions(context) as tracker:
        tickets = {ticket.ref: ticket for ticket in tracker.tickets()}
    sweep = Sweep(
        home=place.home,
        runs=place.runs_dir,
        tickets=tickets,
        bounds=bounds,
        now_ms=SystemClock().wall_ms(),
        dry_run=dry_run,
    )
    failed = False
    for line in remove(sweep):
        context.show.line(line)
        failed = failed or bool(line.facts.get("failed"))
    return 1 if failed else 0
