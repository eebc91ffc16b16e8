"""How a verb is declared, and what it is handed.

A verb's module holds `app = verbs()` and one function a command:

    @verb(app, WORK)
    def work(context: Context, project: Project, number: Number, post: Post = False) -> int:
        \"\"\"Run one worker on one ticket.\"\"\"

The function's own parameters become arguments and options; the settings named beside `app` become
options that `context.settings` has taken in. It prints through `context.show` and returns the exit
status (None: 0). What goes wrong it raises; `cli/app.py` prints it.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Concatenate, ParamSpec

import typer

from colony import config
from colony.cli import options
from colony.cli.machine import env_text, this_machine
from colony.cli.show import Show
from colony.core.lines import Line

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Program:
    """What the process was started with, before any option is read."""

    environ: Mapping[str, str]
    show: Show
    flags: Mapping[str, str]
    """Options given before the verb, by setting name."""


@dataclass(frozen=True, slots=True)
class Start:
    """What a verb gets that settings must not stop: they are not read yet."""

    flags: Mapping[str, str]
    """Options given, before the verb and behind it, by setting name."""
    environ: Mapping[str, str]
    machine: config.Machine
    show: Show

    def context(self) -> Context:
        """UsageProblem, Refused: a setting cannot be used."""
        home = config.find_home(self.flags, self.environ, self.machine)
        settings = config.read(self.flags, self.environ, env_text(home), self.machine)
        self.warn()
        for told in settings.replaced:
            self.show.problem(Line("warning", told))
        return Context(settings, self.show, self.environ, self.flags)

    def warn(self) -> None:
        """Say which variables set nothing."""
        for told in config.unknown_variables(self.environ):
            self.show.problem(Line("warning", told))


@dataclass(frozen=True, slots=True)
class Context:
    """What every verb gets."""

    settings: config.Settings
    show: Show
    environ: Mapping[str, str]
    flags: Mapping[str, str] = field(default_factory=dict)
    """The options that were given, by setting name, as `config.read` takes them."""


def verbs(**how: Any) -> typer.Typer:
    """The Typer of one module."""
    return typer.Typer(
        rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False, **how
    )


def verb(
    app: typer.Typer, settings: Sequence[str] = (), *, name: str | None = None
) -> Callable[[Callable[Concatenate[Context, P], int | None]], Callable[..., int | None]]:
    """Declare a command of `app`, with the options of `settings` beside its own."""

    def declare(
        function: Callable[Concatenate[Context, P], int | None],
    ) -> Callable[..., int | None]:
        def run(start: Start, /, *given: P.args, **kept: P.kwargs) -> int | None:
            return function(start.context(), *given, **kept)

        _declare(app, function, run, (name, settings, options.parameters(settings)))
        return function

    return declare


def early_verb(
    app: typer.Typer,
    settings: Sequence[str] = (),
    *,
    name: str | None = None,
    listed: bool = False,
) -> Callable[[Callable[Concatenate[Start, P], int | None]], Callable[..., int | None]]:
    """`verb` for a command that works also where the settings cannot be used, or reads them again.

    It takes the options of `settings` without listing them in its help, unless `listed`.
    """

    def declare(
        function: Callable[Concatenate[Start, P], int | None],
    ) -> Callable[..., int | None]:
        given = options.parameters(settings) if listed else options.hidden(settings)
        _declare(app, function, function, (name, settings, given))
        return function

    return declare


def _declare(
    app: typer.Typer,
    function: Callable[..., int | None],
    run: Callable[..., int | None],
    how: tuple[str | None, Sequence[str], Sequence[inspect.Parameter]],
) -> None:
    """Make a command of `run` with the parameters of `function`, and options of settings."""
    name, settings, parameters = how
    own = _own_parameters(function)
    taken = ("home", *settings)

    def call(typer_context: typer.Context, **given: Any) -> int | None:
        texts = {each: options.text_of(given.get(each)) for each in taken}
        flags = {each: text for each, text in texts.items() if text is not None}
        kept = {each: value for each, value in given.items() if each in own}
        return run(_start(typer_context.obj, flags, as_json=given["json"]), **kept)

    call.__doc__ = function.__doc__
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                "typer_context",
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                annotation=typer.Context,
            ),
            *own.values(),
            *parameters,
            *options.always(),
        ]
    )
    call.__annotations__ = {}
    app.command(name or function.__name__.rstrip("_"))(call)


def _own_parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The function's parameters after the context, with their annotations as objects."""
    hints = typing.get_type_hints(function, include_extras=True)
    _, *own = inspect.signature(function).parameters.values()
    return {
        each.name: each.replace(annotation=hints[each.name], kind=inspect.Parameter.KEYWORD_ONLY)
        for each in own
    }


def _start(program: Program, flags: Mapping[str, str], *, as_json: bool) -> Start:
    show = program.show.as_json() if as_json else program.show
    machine = this_machine(program.environ)
    return Start({**program.flags, **flags}, program.environ, machine, show)
