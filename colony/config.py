"""Settings as values, and the only reader of them.

A value comes from the option, the variable, the `.env` of the home, or the default, in that order.
What cannot be used is refused under the name by which it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from colony.core import env_file
from colony.core.lines import clip
from colony.core.ports import Range
from colony.core.settings import (
    BY_NAME,
    ENVIRONMENT_ONLY,
    SET_BY_COLONY,
    SETTINGS,
    VARIABLES,
    ZONE,
    Setting,
)
from colony.core.spelling import hint
from colony.errors import UsageProblem

# --- what the program is given ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Machine:
    """What settings fall back to, found out by the caller."""

    cwd: Path
    user_home: Path
    login: str
    host: str
    templates: Path
    """The folder of templates that came with this program."""
    checkout: Path | None
    """The folder that holds `colony.sh` beside the package; None for an installed wheel."""
    has_zone: Callable[[str], bool]
    """Whether the time zone database here knows a name."""


@dataclass(frozen=True, slots=True)
class Place:
    """Folders, all absolute, and this host's name."""

    home: Path
    projects_dir: Path
    runs_dir: Path
    briefs_dir: Path
    templates_dir: Path
    host: str
    checkout: Path | None


@dataclass(frozen=True, slots=True)
class TrackerSettings:
    url: str
    """`sqlite:////absolute/path`, `sqlite:///:memory:`, or the address of a server."""
    user: str
    person: str
    intake: str
    """`members` or `all`."""
    inbox_project: str
    creator_names: tuple[str, ...]
    tz: str
    """A name of the time zone database."""
    token_file: Path | None
    """Colony's own token, for a tracker over HTTP."""
    person_token_file: Path | None
    creator_token_file: Path | None
    own_users: tuple[str, ...]
    user_agent: str
    """Empty: the program's own name and version."""


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """How the tracker is served to others."""

    listen: tuple[str, int]
    public_url: str
    """Without a slash at its end; empty: rows have no address."""
    public_read: bool
    write_limit: int
    """Writes a second from one token; 0: no limit."""


@dataclass(frozen=True, slots=True)
class WorkSettings:
    """How a worker runs. Times are seconds."""

    agent: str
    claude: str
    """A program's name, or its absolute path."""
    stand_in_script: Path | None
    model: str
    max_turns: int
    permission_mode: str
    timeout: int
    max_budget_usd: float | None
    allowed_tools: tuple[str, ...]
    pass_env: tuple[str, ...]
    sandbox: bool
    ports: Range
    port_pool: Range
    ports_per_session: int
    brief_max_chars: int
    ui_conventions: str
    """A path or an address, as given; empty: none."""


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """How the controller runs. Times are seconds."""

    claude: str
    model: str
    max_turns: int
    timeout: int
    max_fails: int


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    """Seconds."""

    ttl: int
    heartbeat: int


@dataclass(frozen=True, slots=True)
class Settings:
    """Every part. Only the wiring takes it whole."""

    place: Place
    tracker: TrackerSettings
    serve: ServeSettings
    work: WorkSettings
    check: CheckSettings
    lease: LeaseSettings


# --- reading ---------------------------------------------------------------------------------


def find_home(flags: Mapping[str, str], environ: Mapping[str, str], machine: Machine) -> Path:
    """The folder that holds the `.env`; it need not exist yet."""
    given = _Sources(flags, environ, {}, "").value(BY_NAME["home"])
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
    sources = _Sources(flags, environ, _env_entries(home_env_text, home / ".env"), f"{home}/.env")
    value = {setting.name: sources.value(setting) for setting in SETTINGS}
    return Settings(
        place=_place(value, home, machine),
        tracker=_tracker(value, home, sources, machine),
        serve=_serve(value),
        work=_work(value, sources, machine),
        check=_check(value, machine),
        lease=_lease(value, sources),
    )


def unknown_variables(environ: Iterable[str]) -> tuple[str, ...]:
    """One line for each `COLONY_…` variable that sets nothing."""
    known = VARIABLES | SET_BY_COLONY | ENVIRONMENT_ONLY
    return tuple(
        f"{clip(name, 80)} is no setting{hint(name, VARIABLES)}"
        for name in sorted(environ)
        if name.startswith("COLONY_") and name not in known
    )


def _env_entries(text: str, path: Path) -> dict[str, env_file.Entry]:
    try:
        entries = env_file.parse(text)
    except env_file.BadLine as bad:
        raise UsageProblem(f"{path}:{bad.line}: {bad}") from None
    own = {name: entry for name, entry in entries.items() if name.startswith("COLONY_")}
    for name, entry in own.items():
        if name in ENVIRONMENT_ONLY | SET_BY_COLONY:
            raise UsageProblem(f"{path}:{entry.line}: {name} cannot be set here")
        if name not in VARIABLES:
            said = f"{clip(name, 80)} is no setting{hint(name, VARIABLES)}"
            raise UsageProblem(f"{path}:{entry.line}: {said}")
    return own


@dataclass(frozen=True, slots=True)
class _Sources:
    """Where values come from, the strongest first."""

    flags: Mapping[str, str]
    environ: Mapping[str, str]
    entries: Mapping[str, env_file.Entry]
    env_path: str

    def given(self, setting: Setting) -> tuple[str, str] | None:
        """The text that was set, and under which name."""
        if setting.name in self.flags:
            return self.flags[setting.name], setting.flag
        if setting.variable in self.environ:
            return self.environ[setting.variable], setting.variable
        if setting.variable in self.entries:
            entry = self.entries[setting.variable]
            return entry.value, f"{self.env_path}:{entry.line}: {setting.variable}"
        return None

    def value(self, setting: Setting) -> object:
        text, name = self.given(setting) or (setting.default, setting.variable)
        if text is None:
            return None
        try:
            return setting.kind(text)
        except ValueError as error:
            raise self.unusable(setting, str(error), text, name) from None

    def unusable(self, setting: Setting, why: str, text: str = "", name: str = "") -> UsageProblem:
        if not name:
            text, name = self.given(setting) or (setting.default or "", setting.variable)
        shown = "" if setting.secret or not text else f" {clip(text, 80)}"
        return UsageProblem(f"{name}{shown}: {why}")


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


def _tracker(
    value: Mapping[str, Any], home: Path, sources: _Sources, machine: Machine
) -> TrackerSettings:
    if not machine.has_zone(value["tz"]):
        raise sources.unusable(BY_NAME["tz"], ZONE)
    url: str = value["tickets_url"]
    file = url.removeprefix("sqlite:///")
    if file not in (url, ":memory:"):
        url = f"sqlite:///{home / file}"

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


def _work(value: Mapping[str, Any], sources: _Sources, machine: Machine) -> WorkSettings:
    same = {setting.name: value[setting.name] for setting in SETTINGS if setting.part == "work"}
    script = value["stand_in_script"]
    pool: Range = value["port_pool"]
    if value["ports_per_session"] > pool[1] - pool[0] + 1:
        raise sources.unusable(
            BY_NAME["ports_per_session"], f"must fit into the pool {pool[0]}-{pool[1]}"
        )
    return WorkSettings(
        **same
        | {
            "claude": _program(machine, value["claude"]),
            "stand_in_script": None if script is None else _absolute(machine, script),
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


def _lease(value: Mapping[str, Any], sources: _Sources) -> LeaseSettings:
    ttl: int = value["lease_ttl"]
    heartbeat: int = value["heartbeat"] or ttl // 2
    if heartbeat >= ttl:
        raise sources.unusable(BY_NAME["heartbeat"], f"must be below the lease's {ttl}")
    return LeaseSettings(ttl=ttl, heartbeat=heartbeat)
