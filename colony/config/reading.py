"""The only reader of settings: what was given becomes values, or is refused by its name.

A value comes from the option, the variable, the `.env` of the home, or the default, in that order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from colony.config.parts import (
    CheckSettings,
    LeaseSettings,
    Machine,
    Place,
    RunSettings,
    ServeSettings,
    Settings,
    TrackerSettings,
    WorkSettings,
)
from colony.core.address import EMBEDDED, file_in
from colony.core.guard import MIB, Guard
from colony.core.lines import clip
from colony.core.settings import (
    BY_NAME,
    ENVIRONMENT_ONLY,
    SET_BY_COLONY,
    SETTINGS,
    VARIABLES,
    ZONE,
)
from colony.core.sources import Sources, env_entries
from colony.core.spelling import hint
from colony.errors import UsageProblem


def find_home(flags: Mapping[str, str], environ: Mapping[str, str], machine: Machine) -> Path:
    """The folder that holds the `.env`; it need not exist yet."""
    given = Sources(flags, environ, {}, "").value(BY_NAME["home"])
    if isinstance(given, str):
        return _absolute(machine, given)
    if machine.checkout is not None:
        return machine.checkout
    state = environ.get("XDG_STATE_HOME", "")
    # A relative path in an XDG variable is to be ignored (XDG Base Directory Specification).
    if not state.startswith("/"):
        return machine.user_home / ".local" / "state" / "colony"
    return Path(state) / "colony"


def read(
    flags: Mapping[str, str],
    environ: Mapping[str, str],
    home_env_text: str,
    machine: Machine,
) -> Settings:
    """All settings. `flags` are the texts of given options by setting name; `home_env_text` is
    the home's `.env`, empty where there is none. UsageProblem names what cannot be used; Refused
    where it never may be."""
    home = find_home(flags, environ, machine)
    entries, problems = env_entries(home_env_text, f"{home}/.env")
    if problems:
        raise UsageProblem(problems[0])
    return settings_of(Sources(flags, environ, entries, f"{home}/.env"), home, machine)


def settings_of(sources: Sources, home: Path, machine: Machine) -> Settings:
    replaced = sources.replaced()
    sources = sources.without(replaced)
    value = {setting.name: sources.value(setting) for setting in SETTINGS}
    for rule in RULES:
        if why := rule.why(value, machine):
            raise sources.unusable(BY_NAME[rule.name], why)
    return Settings(
        place=_place(value, home, machine),
        tracker=_tracker(value, home, machine),
        serve=_serve(value),
        work=_work(value, machine),
        check=_check(value, machine),
        run=_run(value, machine),
        guard=_guard(value),
        lease=_lease(value),
        replaced=tuple(replaced.values()),
    )


def unknown_variables(environ: Iterable[str]) -> tuple[str, ...]:
    """One line for each `COLONY_…` variable that sets nothing."""
    known = VARIABLES | SET_BY_COLONY | ENVIRONMENT_ONLY
    return tuple(
        f"{clip(name, 80)} is no setting{hint(name, VARIABLES)}"
        for name in sorted(environ)
        if name.startswith("COLONY_") and name not in known
    )


@dataclass(frozen=True, slots=True)
class Rule:
    """What a setting must be beside others, or on this machine."""

    name: str
    """The setting that is refused."""
    needs: frozenset[str]
    why: Callable[[Mapping[str, Any], Machine], str]
    """Why it cannot be used; empty: it can."""


def _zone_problem(value: Mapping[str, Any], machine: Machine) -> str:
    return "" if machine.has_zone(value["tz"]) else ZONE


def _pool_problem(value: Mapping[str, Any], _: Machine) -> str:
    first, last = value["port_pool"]
    fits = value["ports_per_session"] <= last - first + 1
    return "" if fits else f"must fit into the pool {first}-{last}"


def _parallel_problem(value: Mapping[str, Any], _: Machine) -> str:
    (first, last), size = value["port_pool"], value["ports_per_session"]
    blocks = max(1, (last - first + 1) // size)
    return "" if value["parallel"] <= blocks else f"the pool {first}-{last} has ports for {blocks}"


def _heartbeat_problem(value: Mapping[str, Any], _: Machine) -> str:
    ttl = value["lease_ttl"]
    return "" if (value["heartbeat"] or ttl // 2) < ttl else f"must be below the lease's {ttl}"


RULES: Final = (
    Rule("tz", frozenset({"tz"}), _zone_problem),
    Rule("ports_per_session", frozenset({"ports_per_session", "port_pool"}), _pool_problem),
    Rule("parallel", frozenset({"parallel", "ports_per_session", "port_pool"}), _parallel_problem),
    Rule("heartbeat", frozenset({"heartbeat", "lease_ttl"}), _heartbeat_problem),
)


def _absolute(machine: Machine, path: str) -> Path:
    return machine.cwd / path


def _program(machine: Machine, text: str) -> str:
    return str(_absolute(machine, text)) if "/" in text else text


def _place(value: Mapping[str, Any], home: Path, machine: Machine) -> Place:
    def folder(name: str, default: str) -> Path:
        given = value[name]
        return home / default if given is None else _absolute(machine, given)

    return Place(
        home=home,
        projects_dir=folder("projects_dir", "projects"),
        runs_dir=folder("runs_dir", "runs"),
        briefs_dir=home / "briefs",
        templates_dir=machine.templates,
        host=value["host"] or machine.host,
        checkout=machine.checkout,
    )


def _tracker(value: Mapping[str, Any], home: Path, machine: Machine) -> TrackerSettings:
    url: str = value["tickets_url"]
    file = file_in(url)
    if file is not None:
        url = f"{EMBEDDED}{home / file}"

    def file_of(name: str) -> Path | None:
        given: str | None = value[name]
        if given is None or not given.startswith("~/"):
            return None if given is None else _absolute(machine, given)
        return machine.user_home / given[2:]

    return TrackerSettings(
        url=url,
        user=value["user"],
        person=value["person"] or machine.login,
        intake=value["intake"],
        inbox_project=value["inbox_project"],
        creator_names=value["creator_names"],
        tz=value["tz"],
        token_file=file_of("token_file"),
        person_token_file=file_of("person_token_file"),
        creator_token_file=file_of("creator_token_file"),
        own_users=value["own_users"],
        user_agent=value["user_agent"] or "",
    )


def _serve(value: Mapping[str, Any]) -> ServeSettings:
    return ServeSettings(
        listen=value["listen"],
        public_url=value["public_url"] or "",
        public_read=value["public_read"],
        write_limit=value["write_limit"],
    )


def _work(value: Mapping[str, Any], machine: Machine) -> WorkSettings:
    same = {setting.name: value[setting.name] for setting in SETTINGS if setting.part == "work"}
    script = value["stand_in_script"]
    return WorkSettings(
        **same
        | {
            "claude": _program(machine, value["claude"]),
            "finalize_timeout": min(value["finalize_timeout"], value["timeout"]),
            "stand_in_script": None if script is None else _absolute(machine, script),
            "sandbox_ro": tuple(_absolute(machine, each) for each in value["sandbox_ro"]),
        }
    )


def _check(value: Mapping[str, Any], machine: Machine) -> CheckSettings:
    return CheckSettings(
        claude=_program(machine, value["controller_claude"] or value["claude"]),
        model=value["controller_model"],
        max_turns=value["controller_max_turns"],
        timeout=value["controller_timeout"],
        max_fails=value["max_fails"],
    )


def _run(value: Mapping[str, Any], machine: Machine) -> RunSettings:
    same = {setting.name: value[setting.name] for setting in SETTINGS if setting.part == "run"}
    program = _program(machine, value["quota_claude"] or value["claude"])
    return RunSettings(**same | {"quota_claude": program})


def _guard(value: Mapping[str, Any]) -> Guard:
    limit: int | None = value["memory_limit_mb"]
    return Guard(
        on=value["guard"],
        session_memory=value["session_memory_mb"] * MIB,
        memory_percent=value["memory_headroom_percent"],
        warmup_ms=value["warmup_seconds"] * 1000,
        session_disk=value["session_disk_mb"] * MIB,
        disk_percent=value["disk_headroom_percent"],
        memory_limit=None if limit is None else limit * MIB,
    )


def _lease(value: Mapping[str, Any]) -> LeaseSettings:
    ttl: int = value["lease_ttl"]
    return LeaseSettings(ttl=ttl, heartbeat=value["heartbeat"] or ttl // 2)
