"""Every setting as it stands, where that comes from, and what of it cannot be used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from colony.config.parts import Machine, Settings
from colony.config.reading import RULES, find_home, settings_of
from colony.core.settings import BY_NAME, SETTINGS, Setting
from colony.core.sources import Sources, env_entries
from colony.errors import Refused, UsageProblem


@dataclass(frozen=True, slots=True)
class Row:
    """A setting as it stands now."""

    setting: Setting
    text: str
    """What holds: as given, the default, or what the default stands for."""
    source: str
    """The option, the variable, `.env` and its line, or `default`."""
    problem: str = ""
    """Why it cannot be used, in the line that `read` would refuse it with."""
    replaced: str = ""
    """That its value could not be used and the default holds, in a line."""


@dataclass(frozen=True, slots=True)
class Listing:
    rows: tuple[Row, ...]
    """One a setting, in the table's order."""
    problems: tuple[str, ...]
    """Lines of the `.env` that set nothing."""
    settings: Settings | None
    """What `read` gives once all that cannot be used is left out; None: not even then."""

    @property
    def refusals(self) -> tuple[str, ...]:
        """Everything that `read` could refuse, one line each."""
        return (*self.problems, *(row.problem for row in self.rows if row.problem))


def listing(
    flags: Mapping[str, str],
    environ: Mapping[str, str],
    home_env_text: str,
    machine: Machine,
) -> Listing:
    """Every setting with its source, whatever of it cannot be used. Takes what `read` takes."""
    try:
        home = find_home(flags, environ, machine)
    except UsageProblem:
        home = find_home({}, {"XDG_STATE_HOME": environ.get("XDG_STATE_HOME", "")}, machine)
    entries, problems = env_entries(home_env_text, f"{home}/.env")
    given = Sources(flags, environ, entries, f"{home}/.env")
    replaced = given.replaced()
    sources = given.without(replaced)
    wrong: dict[str, str] = {}
    value: dict[str, Any] = {}
    for setting in SETTINGS:
        try:
            value[setting.name] = sources.value(setting)
        except (UsageProblem, Refused) as problem:
            wrong[setting.name] = problem.line
    for rule in RULES:
        if rule.needs <= value.keys() and (why := rule.why(value, machine)):
            wrong[rule.name] = sources.unusable(BY_NAME[rule.name], why).line
    rows = tuple(
        Row(
            each,
            *_shown(each, sources, home, machine),
            wrong.get(each.name, ""),
            replaced.get(each.name, ""),
        )
        for each in SETTINGS
    )
    try:
        settings = settings_of(given.without(wrong), home, machine)
    except UsageProblem:
        settings = None
    return Listing(rows, problems, settings)


def _shown(setting: Setting, sources: Sources, home: Path, machine: Machine) -> tuple[str, str]:
    """The text of a setting, and its source."""
    given = sources.given(setting)
    if given is None:
        return setting.default or _stands_for(setting.name, sources, home, machine), "default"
    if setting.name not in sources.flags and setting.variable not in sources.environ:
        return given[0], f".env line {sources.entries[setting.variable].line}"
    return given


def _stands_for(name: str, sources: Sources, home: Path, machine: Machine) -> str:
    """What a default without a text of its own comes to."""

    def text(other: str) -> str:
        setting = BY_NAME[other]
        return (sources.given(setting) or (setting.default or "",))[0]

    match name:
        case "home":
            return str(home)
        case "projects_dir" | "runs_dir":
            return str(home / name.removesuffix("_dir"))
        case "host":
            return machine.host
        case "person":
            return machine.login
        case "controller_claude":
            return text("claude")
        case "heartbeat":
            ttl = text("lease_ttl")
            return str(int(ttl) // 2) if ttl.isascii() and ttl.isdigit() else ""
        case _:
            return ""
