"""`colony completion`: what lets a shell complete verbs, options, projects and ticket numbers."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

import typer

from colony.cli.config import listed
from colony.cli.verb import Start, early_verb, verbs
from colony.config import Settings
from colony.core.address import is_embedded
from colony.core.completion import SCRIPTS, script
from colony.core.lines import Line, clip
from colony.core.settings import SETTINGS
from colony.core.spelling import hint
from colony.core.ticket import CLOSED, NAME_PATTERN, STATES
from colony.errors import ColonyError, NotFound, UsageProblem
from colony.flow.wiring.readers import reader
from colony.host.journal import list_runs

app = verbs()

WORDS: Final = "words"
"""Asks for what could stand in the last place; the shell's own scripts do."""
HELP_MAX: Final = 60


@early_verb(app)
def completion(
    start: Start,
    shell: Annotated[str, typer.Argument(metavar="SHELL", help=f"One of {', '.join(SCRIPTS)}.")],
    words: Annotated[list[str] | None, typer.Argument(metavar="[WORD]...", hidden=True)] = None,
) -> None:
    """Print what lets a shell complete colony's words. Its first line says where it goes."""
    if shell == WORDS:
        for candidate in _candidates(start, words or [""]):
            start.show.out.write(f"{candidate.word}\t{clip(candidate.help, HELP_MAX)}\n")
        return
    if shell not in SCRIPTS:
        raise UsageProblem(f"{shell}: must be one of {', '.join(SCRIPTS)}{hint(shell, SCRIPTS)}")
    text = script(shell, shlex.join((sys.executable, "-m", "colony")))
    if start.show.json:
        start.show.line(Line("note", text))
    else:
        start.show.out.write(text)


@dataclass(frozen=True, slots=True)
class Candidate:
    word: str
    help: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the unfinished word stands."""

    command: Any
    given: tuple[str, ...] = ()
    """The command's own words before it, options left out."""
    option: Any = None
    """The option whose value it is."""
    home: str | None = None


def _candidates(start: Start, words: list[str]) -> list[Candidate]:
    """What could stand in the last place, the unfinished word's beginning taken into account."""
    *before, last = words
    place = _place(before)
    if place.home is not None:
        start = Start({**start.flags, "home": place.home}, start.environ, start.machine, start.show)
    return [each for each in _all(start, place, last) if each.word.startswith(last)]


def _place(before: list[str]) -> Place:
    from colony.cli.app import app as program  # noqa: PLC0415 - it imports the verbs

    command: Any = typer.main.get_command(program)
    given: list[str] = []
    option, home = None, None
    for word in before:
        if option is not None:
            home, option = (word if "--home" in option.opts else home), None
        elif word.startswith("-"):
            found = _option(command, word)
            option = None if found is None or found.is_flag or "=" in word else found
        elif (inner := _inner(command, word)) is not None:
            command, given = inner, []
        else:
            given.append(word)
    return Place(command, tuple(given), option, home)


def _inner(command: Any, word: str) -> Any:
    """The verb of this name inside a group."""
    if not hasattr(command, "list_commands"):
        return None
    return command.get_command(None, word)


def _option(command: Any, word: str) -> Any:
    return next((each for each in _options(command) if word in each.opts), None)


def _options(command: Any) -> list[Any]:
    return [each for each in command.params if each.param_type_name == "option"]


def _all(start: Start, place: Place, last: str) -> Iterator[Candidate]:
    command = place.command
    if place.option is not None:
        named = "P" if "--project" in place.option.opts else ""
        yield from _values(start, named, place.given)
    elif last.startswith("-"):
        for each in _options(command):
            if not each.hidden:
                yield from (Candidate(name, each.help or "") for name in each.opts)
        yield Candidate("--help", "Show what this does.")
    elif hasattr(command, "list_commands"):
        for name, told in _verbs(command).items():
            yield Candidate(name, told)
    else:
        arguments = [each for each in command.params if each.param_type_name == "argument"]
        # The last one may stand several times.
        at = min(len(place.given), len(arguments) - 1)
        if arguments and (at == len(place.given) or arguments[at].nargs == -1):
            yield from _values(start, arguments[at].metavar or "", place.given)


def _verbs(group: Any) -> Mapping[str, str]:
    from colony.cli.app import NAMES, PANELS  # noqa: PLC0415

    names = group.list_commands(None)
    if tuple(names) == NAMES:
        return {verb.name: verb.help for panel in PANELS.values() for verb in panel}
    return {name: group.get_command(None, name).get_short_help_str() for name in names}


# --- values --------------------------------------------------------------------------------------


def _values(start: Start, metavar: str, given: tuple[str, ...]) -> Iterator[Candidate]:
    """What an argument can be; nothing where it is a file, or cannot be known cheaply."""
    if metavar == "SHELL":
        yield from map(Candidate, SCRIPTS)
    elif metavar == "[NAME]...":
        yield from (Candidate(each.flag[2:], each.help) for each in SETTINGS)
    elif metavar in _LOOKED_UP:
        settings = listed(start).settings
        if settings is not None:
            yield from _LOOKED_UP[metavar](settings, given)


def _projects(settings: Settings, _: tuple[str, ...]) -> Iterator[Candidate]:
    names = {path.stem for path in settings.place.projects_dir.glob("*.json")}
    yield from (
        Candidate(name) for name in sorted(names) if re.fullmatch(NAME_PATTERN, name, re.ASCII)
    )


def _numbers(settings: Settings, given: tuple[str, ...]) -> Iterator[Candidate]:
    """Of the project before it, in the local tracker; what is closed comes last."""
    if not given or not is_embedded(settings.tracker.url):
        return
    try:
        reads = reader(settings)
    except ColonyError:
        return
    try:
        tickets = reads.tickets(given[-1])
    except NotFound:
        return
    finally:
        reads.close()
    ordered = sorted(tickets, key=lambda each: (each.state in CLOSED, each.ref.number))
    for each in ordered:
        yield Candidate(str(each.ref.number), f"{each.subject} ({each.state})")


def _sessions(settings: Settings, _: tuple[str, ...]) -> Iterator[Candidate]:
    for run in reversed(list_runs(settings.place.runs_dir)):
        yield Candidate(run.session)


_LOOKED_UP: Final[Mapping[str, Callable[[Settings, tuple[str, ...]], Iterator[Candidate]]]] = {
    "P": _projects,
    "N": _numbers,
    "P2": _projects,
    "N2": _numbers,
    "STATE": lambda *_: map(Candidate, STATES),
    "S": _sessions,
    "[S]": _sessions,
}
