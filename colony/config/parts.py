"""Settings as values: small frozen parts, each for those who read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from colony.core.guard import Guard
from colony.core.hours import Hours
from colony.core.ports import Range


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
    sandbox_ro: tuple[Path, ...]
    ports: Range
    port_pool: Range
    ports_per_session: int
    brief_max_chars: int
    finalize_max_turns: int
    """0: no step for a report that is missing."""
    finalize_timeout: int
    stall_seconds: int
    """0: a silent worker is never stopped for it."""
    crash_resumes: int
    session_memory_max_mb: int
    """MiB; 0: no limit."""
    session_pids_max: int
    """0: no limit."""
    max_starts_per_hour: int
    """0: no limit."""
    max_attempts: int
    max_half_done: int
    max_cost_per_day: float | None
    """US dollars; None: no limit."""
    max_cost_per_ticket: int | None
    """US cents; None: no limit."""
    max_review: int
    """0: no limit."""
    capabilities: tuple[str, ...]
    """Small letters."""
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
class RunSettings:
    """How the loop runs. Times are seconds."""

    interval: int
    parallel: int
    reserve: int
    """Percent; 100: not looked at."""
    week_limit: int
    """Percent; 100: not looked at."""
    quota_claude: str
    """A program's name, or its absolute path."""
    stop_finish_seconds: int
    """0: what runs when a stop is asked for may finish."""
    hours: Hours | None
    """When sessions are started, on the clock of the tracker's zone; None: always."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Every part. Only the wiring takes it whole."""

    place: Place
    tracker: TrackerSettings
    serve: ServeSettings
    work: WorkSettings
    check: CheckSettings
    run: RunSettings
    guard: Guard
    lease: LeaseSettings
    replaced: tuple[str, ...] = ()
    """Values that could not be used and gave way to their defaults, one line each."""
