"""`colony tracker export`, `import`: the whole tracker as JSON lines, and back."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Annotated

import typer

from colony.cli.opening import fresh_file, made_line, new_path
from colony.cli.tracker.group import app
from colony.cli.verb import Context, verb
from colony.core.lines import Json, Line
from colony.errors import UsageProblem
from colony.flow.wiring.stores import need_database
from colony.flow.wiring.trackers import DERIVE
from colony.host.clock import SystemClock
from colony.host.files import write_problem
from colony.host.new_file import new_file
from colony.tracker.moving import export as lines_of
from colony.tracker.moving.databases import read_into, snapshot


@verb(app)
def export(
    context: Context,
    target: Annotated[
        str, typer.Argument(metavar="FILE", help="It must not exist yet; - is standard output.")
    ] = "-",
) -> None:
    """Write everything in the tracker but its tokens as JSON lines, also while others use it.

    The program's own line goes to standard error where the lines themselves go to standard output.
    """
    if target == "-" and context.show.json:
        raise UsageProblem("--json: give a FILE, the export itself would be in the way")
    need_database(context.settings, "an export is taken")
    path = None if target == "-" else new_path(target)
    count = size = 0
    with (
        snapshot(context.settings.tracker.url, path and path.parent) as engine,
        _standard_output() if path is None else new_file(path) as file,
    ):
        for line in lines_of.lines(engine, SystemClock().wall_ms()):
            file.write(line)
            count, size = count + 1, size + len(line)
    told = f"{path or 'standard output'} ({count:,} lines, {size:,} bytes); tokens are not in it"
    facts: dict[str, Json] = {"path": str(path or "-"), "lines": count, "bytes": size}
    line_told = Line("export", told, facts=facts)
    if path is None:
        context.show.err.write(line_told.as_text() + "\n")
    else:
        context.show.line(line_told)


@verb(app, name="import")
def import_(
    context: Context,
    source: Annotated[
        str, typer.Argument(metavar="FILE", help="What tracker export wrote; - is standard input.")
    ],
) -> None:
    """Read what `tracker export` wrote into an empty tracker, all of it or nothing.

    Tokens do not move: make new ones with `colony tracker token`.
    """
    need_database(context.settings, "an export is read")
    with _opened(source) as file:
        fresh = fresh_file(context.settings)
        counts = read_into(context.settings.tracker.url, file, DERIVE)
    if fresh:
        context.show.line(made_line(fresh))
    told = ", ".join(
        _counted(counts.get(name, 0), name) for name in ("project", "ticket", "event", "user")
    )
    facts: dict[str, Json] = {"rows": dict(counts.items())}
    context.show.line(Line("import", f"{told}; tokens do not move, make new ones", facts=facts))


@contextmanager
def _standard_output() -> Iterator[IO[bytes]]:
    """A reader that goes away is no fault of the export; a full disk behind it is."""
    if sys.stdout is None:
        raise UsageProblem("there is no standard output: give a FILE")
    try:
        # A buffer of its own, which is not flushed once more at the end of the program.
        with os.fdopen(sys.stdout.fileno(), "wb", closefd=False) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise write_problem(problem, "standard output") from None


@contextmanager
def _opened(source: str) -> Iterator[IO[bytes]]:
    if source == "-":
        if sys.stdin is None:
            raise UsageProblem("there is no standard input to read from")
        yield sys.stdin.buffer
        return
    try:
        with Path(source).open("rb") as opened:
            yield opened
    except OSError as problem:
        raise UsageProblem(f"{source}: cannot be read: {problem.strerror}") from None


def _counted(count: int, name: str) -> str:
    return f"{count:,} {name}{'' if count == 1 else 's'}"
