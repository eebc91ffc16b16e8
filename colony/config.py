"""Settings as values, and the only reader of them.

A value comes from the option, the variable, the `.env` of the home, or the default, in that order.
What cannot be used is refused under the name by which it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

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
from colony.core.sources import Sources, env_entries
from colony.core.spelling import hint
from colony.errors import Refused, UsageProblem

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
    return _settings(Sources(flags, environ, entries, f"{home}/.env"), home, machine)


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
    sources = Sources(flags, environ, entries, f"{home}/.env")
    wrong: dict[str, str] = {}
    value: dict[str, Any] = {}
    for setting in SETTINGS:
        try:
            value[setting.name] = sources.value(setting)
        except (UsageProblem, Refused) as problem:
            wrong[setting.name] = problem.line
    for rule in _RULES:
        if rule.needs <= value.keys() and (why := rule.why(value, machine)):
            wrong[rule.name] = sources.unusable(BY_NAME[rule.name], why).line
    rows = tuple(
        Row(each, *_shown(each, sources, home, machine), wrong.get(each.name, ""))
        for each in SETTINGS
    )
    try:
        settings = _settings(sources.without(wrong), home, machine)
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


def _settings(sources: Sources, home: Path, machine: Machine) -> Settings:
    value = {setting.name: sources.value(setting) for setting in SETTINGS}
    for rule in _RULES:
        if why := rule.why(value, machine):
            raise sources.unusable(BY_NAME[rule.name], why)
    return Settings(
        place=_place(value, home, machine),
        tracker=_tracker(value, home, machine),
        serve=_serve(value),
        work=_work(value, machine),
        check=_check(value, machine),
        lease=_lease(value),
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
class _Rule:
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


def _heartbeat_problem(value: Mapping[str, Any], _: Machine) -> str:
    ttl = value["lease_ttl"]
    return "" if (value["heartbeat"] or ttl // 2) < ttl else f"must be below the lease's {ttl}"


_RULES: Final = (
    _Rule("tz", frozenset({"tz"}), _zone_problem),
    _Rule("ports_per_session", frozenset({"ports_per_session", "port_pool"}), _pool_problem),
    _Rule("heartbeat", frozenset({"heartbeat", "lease_ttl"}), _heartbeat_problem),
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


def _work(value: Mapping[str, Any], machine: Machine) -> WorkSettings:
    same = {setting.name: value[setting.name] for setting in SETTINGS if setting.part == "work"}
    script = value["stand_in_script"]
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


def _lease(value: Mapping[str, Any]) -> LeaseSettings:
    ttl: int = value["lease_ttl"]
    return LeaseSettings(ttl=ttl, heartbeat=value["heartbeat"] or ttl // 2)
