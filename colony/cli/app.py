"""The `colony` program: finds the verb, and tells a person in one line what went wrong."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

import colony
from colony.cli.show import Show
from colony.cli.verb import Program, verbs
from colony.core.lines import Line, clip
from colony.core.settings import BY_NAME
from colony.core.spelling import hint
from colony.errors import ColonyError


@dataclass(frozen=True, slots=True)
class Verb:
    """A line of the help. The verb itself is `app` in the module `colony.cli.<name>`."""

    name: str
    help: str


PANELS: Final[dict[str, tuple[Verb, ...]]] = {
    "By hand": (
        Verb("next", "Say which ticket is next, and why the others wait."),
        Verb("brief", "Write the text that a worker starts with."),
        Verb("work", "Run one worker on one ticket, then its check."),
        Verb("check", "Check the report of a session again, or post it."),
        Verb("salvage", "Get the report of a worker that ran out."),
        Verb("report", "Check a worker's report file, or post it."),
        Verb("cycle", "next, work and check, once."),
        Verb("deployed", "Say that a built ticket has gone live."),
        Verb("box", "Show what the agents of a project see."),
    ),
    "Service": (
        Verb("run", "Work the queue, for months."),
        Verb("pause", "Start nothing new, of a project or at all."),
        Verb("resume", "End a pause; let a parked session go on."),
        Verb("stop", "End a session, or park it."),
        Verb("retry", "Count starts and attempts of a ticket anew."),
    ),
    "Look": (
        Verb("explain", "Say why a ticket would be started now, or not."),
        Verb("leases", "Show which session holds which ticket."),
        Verb("sessions", "List sessions, look into one, remove old ones."),
        Verb("tail", "Follow a running session."),
        Verb("ready", "Show which tickets wait for a deploy."),
    ),
    "Tracker": (
        Verb("ticket", "Write, read and answer tickets."),
        Verb("tracker", "Care for the tracker itself, serve it to others."),
    ),
    "Help": (
        Verb("init", "Register a project folder."),
        Verb("doctor", "Say what is missing here, and what to do."),
        Verb("config", "Show each setting, and where it comes from."),
        Verb("completion", "Print what lets a shell complete words."),
        Verb("demo", "Work three sample tickets, without any account."),
    ),
    "In a checkout": (
        Verb("test", "Run the tests."),
        Verb("bench", "Run the benchmarks."),
        Verb("simulate", "Simulate days full of faults, and hold them to the invariants."),
    ),
}
"""Every verb, in the order in which help lists them."""
COLLECT_AFTER: Final = 50_000
"""New objects after which the garbage collector looks at them: a short command never gets there."""
NAMES: Final = tuple(verb.name for panel in PANELS.values() for verb in panel)


class LazyGroup(TyperGroup):
    """Imports a verb's module when the verb is called, and none for `--help`."""

    def list_commands(self, _context: Any) -> list[str]:
        return list(NAMES)

    def get_command(self, _context: Any, name: str) -> Any:
        if name not in NAMES:
            return None
        command = typer.main.get_command(_load(name).app)
        command.name = name
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if not name.startswith("-") and name not in NAMES:
            ctx.fail(f"no such command: {clip(name, 60)}{hint(name, NAMES)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, _context: Any, formatter: Any) -> None:
        for title, panel in PANELS.items():
            with formatter.section(title):
                formatter.write_dl([(verb.name, verb.help) for verb in panel], col_max=12)


def _load(name: str) -> Any:
    """The verb's module. What is loaded by now stays: the garbage collector need not look at it."""
    module = importlib.import_module(f"colony.cli.{name}")
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER)
    gc.enable()
    return module


app = verbs(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    home: Annotated[
        str | None,
        typer.Option("--home", metavar="FOLDER", help=f"{BY_NAME['home'].help} [COLONY_HOME]"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Work a ticket queue with autonomous coding agents."""
    program: Program = context.obj
    if version:
        program.show.out.write(f"colony {colony.__version__}\n")
        raise typer.Exit
    if context.invoked_subcommand is None:
        context.fail("a command is missing")
    context.obj = replace(
        program,
        show=program.show.as_json() if as_json else program.show,
        flags={} if home is None else {"home": home},
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; the answer is its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    environ = dict(os.environ)
    show = Show.on_process(environ)
    try:
        status = _run(given or ["--help"], Program(environ, show, {}))
    except TyperException as error:
        status = _told(show, given, "usage", _usage(error), error.exit_code)
    except ColonyError as error:
        status = _told(show, given, error.code, error.line, error.exit_code)
    except KeyboardInterrupt:
        status = 130
    except BrokenPipeError:
        status = 0
    except OSError as error:
        status = _told(show, given, "system", _system(error), 1)
    except Exception as error:  # noqa: BLE001 - the last place that can say it in one line
        if environ.get("COLONY_DEBUG") == "1":
            traceback.print_exc()
        status = _told(show, given, "bug", _bug(error), 1)
    return _closed(show, status if given else 2)


def _run(given: Sequence[str], program: Program) -> int:
    command = typer.main.get_command(app)
    try:
        # The parser empties the list that it is given.
        with command.make_context("colony", list(given), obj=program) as context:
            return int(command.invoke(context) or 0)
    except typer.Exit as exit_:
        return exit_.exit_code


def _told(show: Show, given: Sequence[str], code: str, text: str, status: int) -> int:
    """Say it where it is looked for, also when the options could not be read."""
    before_text = given[: given.index("--")] if "--" in given else given
    to = show.as_json() if "--json" in before_text else show
    to.problem(Line("error", text, facts={"code": code, "exit": status}))
    return status


def _usage(error: TyperException) -> str:
    context = getattr(error, "ctx", None)
    told = error.format_message().rstrip(".")
    return f"{told} (see {context.command_path} --help)" if context is not None else told


def _system(error: OSError) -> str:
    return ": ".join(str(part) for part in (error.filename, error.strerror or error) if part)


def _bug(error: Exception) -> str:
    said = clip(f"{type(error).__name__}: {error}", 300)
    return f"a bug in Colony: {said} (COLONY_DEBUG=1 shows where)"


def _closed(show: Show, status: int) -> int:
    """A result that nobody can read is a failure."""
    if show.out.lost:
        show.err.write(Line("error", f"output was lost: {show.out.lost}").as_text() + "\n")
        return status or 1
    return status
