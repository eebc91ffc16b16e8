"""`colony tracker backup`, `restore`: a copy of what a home cannot make anew, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from colony.cli.opening import fresh_file, new_path
from colony.cli.tracker.group import app
from colony.cli.verb import Context, verb
from colony.core.lines import Json, Line
from colony.flow.keeping.backup import Home, back_up
from colony.flow.keeping.restore import Restored, put_back
from colony.flow.wiring.stores import need_database
from colony.host.clock import SystemClock
from colony.host.files import make_folder


@verb(app)
def backup(
    context: Context,
    target: Annotated[str, typer.Argument(metavar="FILE", help="The copy; it must not exist yet.")],
) -> None:
    """Write a copy of the tracker, the librarian's folder and reports not yet posted.

    Others may go on using the tracker. Where FILE ends in .db it is the database alone.
    """
    need_database(context.settings, "a backup is made")
    path = new_path(target)
    kept = back_up(_home(context), path, SystemClock().wall_ms())
    facts: dict[str, Json] = {
        "path": str(path),
        "bytes": kept.size,
        "librarianFiles": kept.librarian,
        "sessions": list(kept.sessions),
    }
    more = _more(kept.librarian, len(kept.sessions))
    context.show.line(Line("backup", f"{path} ({kept.size:,} bytes{more})", facts=facts))


@verb(app)
def restore(
    context: Context,
    source: Annotated[str, typer.Argument(metavar="FILE", help="What tracker backup wrote.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Put aside the database that is there.")
    ] = False,
) -> None:
    """Put back a copy that `tracker backup` wrote, all of it or nothing.

    Nobody may use the tracker meanwhile. What was there stays beside it, under a name with the
    time. A session's run folder that is there already is kept.
    """
    need_database(context.settings, "a backup is put back")
    path = Path(source).absolute()
    fresh_file(context.settings)
    home = _home(context)
    make_folder(home.home)
    now_ms = SystemClock().wall_ms()
    done = put_back(home, path, now_ms, replace=replace)
    for session in done.stayed:
        told = f"— session {session} is here already, its run folder stays as it is"
        context.show.problem(Line("warning", told, session=session))
    context.show.line(_told(path, done))


def _told(path: Path, done: Restored) -> Line:
    more = _more(done.kept.librarian, len(done.kept.sessions))
    aside = f"; the one before is {done.old}" if done.old else ""
    facts: dict[str, Json] = {
        "path": str(path),
        "librarianFiles": done.kept.librarian,
        "sessions": list(done.kept.sessions),
        "kept": None if done.old is None else str(done.old),
    }
    return Line("restore", f"from {path}{more}{aside}", facts=facts)


def _more(librarian: int, sessions: int) -> str:
    files = f", {librarian} of the librarian's files" if librarian else ""
    word = "session" if sessions == 1 else "sessions"
    return files + (f", {sessions} {word} not posted yet" if sessions else "")


def _home(context: Context) -> Home:
    place = context.settings.place
    return Home(context.settings.tracker.url, place.home, place.runs_dir)
