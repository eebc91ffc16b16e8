"""What can be set: one table, and how the text of each setting becomes its value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from colony.core.hours import Hours
from colony.core.hours import parse as parse_hours
from colony.core.ports import Range, parse_range
from colony.core.project import AGENTS, PERMISSION_MODES, SECONDS_MAX, TURNS_MAX
from colony.core.spelling import hint
from colony.core.ticket import HOST_PATTERN, NAME_PATTERN
from colony.errors import Refused

# --- kinds: a text becomes a value, or ValueError says what it must be ------------------------

Kind = Callable[[str], object]

ZONE: Final = "must be a time zone such as UTC or Europe/Vienna"


def _line(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    if not text.isprintable():
        raise ValueError("must be one line of text")
    if text.startswith("-"):
        raise ValueError("must not begin with '-'")
    return text


def _ascii_line(text: str) -> str:
    if not text.isascii():
        raise ValueError("must be ASCII")
    return _line(text)


def _or_none(kind: Kind) -> Kind:
    return lambda text: kind(text) if text else None


def _or_empty(text: str) -> str:
    return _line(text) if text else ""


def _count(least: int, most: int) -> Kind:
    def read(text: str) -> int:
        if re.fullmatch(r"[+-]?[0-9]{1,50}", text, re.ASCII) is None:
            raise ValueError("must be a whole number")
        if int(text) < least:
            raise ValueError(f"must be {least} or more")
        if int(text) > most:
            raise ValueError(f"must be {most} or less")
        return int(text)

    return read


def _dollars(text: str) -> float:
    """`20` or `7.50`, or less than a cent."""
    found = re.fullmatch(r"[0-9]{1,7}(?:\.[0-9]{1,9})?", text, re.ASCII)
    if not found or not float(text):
        raise ValueError(_NO_DOLLARS)
    return float(text)


def _cents(text: str) -> int:
    """`20` or `7.50` dollars, as cents."""
    found = re.fullmatch(r"([0-9]{1,7})(?:\.([0-9]{1,2}))?", text, re.ASCII)
    cents = int(found[1]) * 100 + int((found[2] or "").ljust(2, "0")) if found else 0
    if not cents:
        raise ValueError(_NO_DOLLARS)
    return cents


_NO_DOLLARS: Final = "must be dollars such as 20 or 7.50, above 0 and below 10000000"


def _one_of(*words: str) -> Kind:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"must be one of {', '.join(words)}{hint(text, words)}")
        return text

    return read


TOKEN: Final = re.compile(r"""["'\s]*(bearer\s+)?["']?tkt_""", re.ASCII | re.IGNORECASE)
"""How a token begins, also where it was copied with what stands around it."""


def _token_file(text: str) -> str | None:
    if TOKEN.match(text):
        raise ValueError("holds a token; it must name a file that holds it")
    return _line(text) if text else None


def _switch(text: str) -> bool:
    return _one_of("on", "off")(text) == "on"


def _mode(text: str) -> object:
    if text == "bypassPermissions":
        raise Refused(f"permission mode {text}: never; the modes are {', '.join(PERMISSION_MODES)}")
    return _one_of(*PERMISSION_MODES)(text)


def _words(text: str) -> tuple[str, ...]:
    # A comma inside brackets belongs to its word: `Bash(git log:*, git show:*)`.
    parts = re.split(r",(?![^()]*\))", text)
    return tuple(_line(each.strip()) for each in parts if each.strip())


def _paths(text: str) -> tuple[str, ...]:
    return tuple(_line(each) for each in text.split(":") if each)


def _some_words(text: str) -> tuple[str, ...]:
    if not _words(text):
        raise ValueError("must name at least one")
    return _words(text)


def _lower_words(text: str) -> tuple[str, ...]:
    return tuple(word.lower() for word in _words(text))


def _variables(text: str) -> tuple[str, ...]:
    names = _words(text)
    for name in names:
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name, re.ASCII) is None:
            raise ValueError(f"{name} is no name of a variable")
        if name.startswith("COLONY_"):
            raise ValueError(f"{name} is Colony's own and is not passed on")
    return names


def _project(text: str) -> str:
    if re.fullmatch(NAME_PATTERN, text, re.ASCII) is None:
        raise ValueError("must be a name of small letters, digits, '.' and '-' (64 at most)")
    return text


def _host(text: str) -> str:
    if re.fullmatch(HOST_PATTERN, text, re.ASCII) is None:
        raise ValueError("must be a name of letters, digits, dots and dashes")
    return text


def _ports(text: str) -> Range:
    found = parse_range(text)
    if found is None:
        raise ValueError("must be a range of ports such as 8700-8749")
    return found


def _hours(text: str) -> Hours | None:
    return parse_hours(text) if text.strip() else None


def _zone(text: str) -> str:
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_+/-]*", text, re.ASCII) is None:
        raise ValueError(ZONE)
    return text


def _url(text: str) -> str:
    if re.match(r"(sqlite:///|postgresql://|https?://)[^/\s]|sqlite:////[^/]", text) is None:
        raise ValueError("must begin with sqlite:///, postgresql://, http:// or https://")
    return _line(text)


def _web_address(text: str) -> str:
    if re.match(r"https?://[^/\s?#]+", text) is None or not text.isprintable():
        raise ValueError("must begin with http:// or https://")
    return text.rstrip("/")


def _address(text: str) -> tuple[str, int]:
    """`127.0.0.1:8600`, `[::1]:8600`, `localhost:8600`."""
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]+)):([0-9]{1,5})", text, re.ASCII)
    if found is None or int(found[3]) > 65535:
        raise ValueError("must be an address and a port such as 127.0.0.1:8600")
    return found[1] or found[2], int(found[3])


# --- the table -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that can be set. `name` is the option without its dashes and with underscores."""

    name: str
    part: str
    variable: str
    kind: Kind
    default: str | None
    """Read like any other value; None: there is none, or the reader derives it."""
    help: str
    secret: bool = False
    """A value may hold a password: none is repeated in messages."""

    @property
    def lenient(self) -> bool:
        """A value that cannot be used is replaced by the default, and that is said: whoever starts
        sessions must not be kept from it by a slip in what only guards them (seed 000)."""
        return self.part == "guard"

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    def shown(self, text: str) -> str:
        """The value as it may be looked at: `set` where it holds, or may hold, a password, or is
        a token, whatever the setting."""
        hidden = TOKEN.match(text) or (self.secret and re.search("[@?#]", text))
        return "set" if hidden else text


_SECONDS: Final = _count(1, SECONDS_MAX)
_TURNS: Final = _count(1, TURNS_MAX)
_MAYBE: Final = _or_none(_line)

SETTINGS: Final[tuple[Setting, ...]] = tuple(
    Setting(*row)
    for row in (
        ("home", "place", "COLONY_HOME", _line, None, "Colony's own folder"),
        ("projects_dir", "place", "COLONY_PROJECTS_DIR", _line, None,
         "registry: one file a project; default: projects/ in the home"),
        ("runs_dir", "place", "COLONY_RUNS_DIR", _line, None,
         "the sessions' files; default: runs/ in the home"),
        ("host", "place", "COLONY_HOST", _or_none(_host), "",
         "this host's name; default: the machine's"),
        ("tickets_url", "tracker", "COLONY_TICKETS_URL", _url, "sqlite:///colony.db",
         "the tracker; a relative file lies in the home", True),
        ("user", "tracker", "COLONY_USER", _line, "colony", "the name Colony writes under"),
        ("person", "tracker", "COLONY_PERSON", _MAYBE, "",
         "who you are in the tracker; default: your login name"),
        ("intake", "tracker", "COLONY_INTAKE", _one_of("members", "all"), "members",
         "whose tickets are worked without being accepted: members or all"),
        ("inbox_project", "tracker", "COLONY_INBOX_PROJECT", _project, "colony",
         "project that gets questions about whole projects"),
        ("creator_names", "tracker", "COLONY_CREATOR_NAMES", _some_words, "creator",
         "names of creators on a tracker without members"),
        ("token_file", "tracker", "COLONY_TOKEN_FILE", _token_file, "",
         "file with Colony's own token for a tracker over HTTP"),
        ("person_token_file", "tracker", "COLONY_PERSON_TOKEN_FILE", _token_file, "",
         "file with your own token for a tracker over HTTP"),
        ("creator_token_file", "tracker", "COLONY_CREATOR_TOKEN_FILE", _token_file, "",
         "file with a creator's token, for a tracker that knows no 'on behalf'"),
        ("own_users", "tracker", "COLONY_OWN_USERS", _words, "",
         "Colony's own names, former ones too, on a tracker that cannot tell"),
        ("user_agent", "tracker", "COLONY_USER_AGENT", _or_none(_ascii_line), "",
         "what Colony calls itself in requests; default: colony and its version"),
        ("listen", "serve", "COLONY_LISTEN", _address, "127.0.0.1:8600",
         "address and port that the tracker is served on"),
        ("public_url", "serve", "COLONY_PUBLIC_URL", _or_none(_web_address), "",
         "address under which people reach the served tracker; default: none"),
        ("public_read", "serve", "COLONY_PUBLIC_READ", _switch, "off",
         "let readers in without a token"),
        ("write_limit", "serve", "COLONY_WRITE_LIMIT", _count(0, 1_000_000), "50",
         "writes a second from one token; 0: no limit"),
        ("tz", "tracker", "COLONY_TZ", _zone, "UTC", "time zone of the texts for people"),
        ("agent", "work", "COLONY_AGENT", _one_of(*AGENTS), "claude", "coding agent"),
        ("claude", "work", "COLONY_CLAUDE", _line, "claude", "the Claude Code program"),
        ("stand_in_script", "work", "COLONY_STAND_IN_SCRIPT", _MAYBE, "",
         "script of the stand-in agent; default: its own"),
        ("model", "work", "COLONY_MODEL", _line, "sonnet", "worker's model"),
        ("max_turns", "work", "COLONY_MAX_TURNS", _TURNS, "40", "steps of a worker"),
        ("permission_mode", "work", "COLONY_PERMISSION_MODE", _mode, "auto",
         "what the agent may do unasked: " + ", ".join(PERMISSION_MODES)),
        ("timeout", "work", "COLONY_WORK_TIMEOUT", _SECONDS, "3600", "seconds of a worker"),
        ("max_budget_usd", "work", "COLONY_MAX_BUDGET_USD", _or_none(_dollars), "",
         "dollars of a worker; default: no limit"),
        ("allowed_tools", "work", "COLONY_ALLOWED_TOOLS", _words, "",
         "tools allowed beside the mode's, with commas"),
        ("pass_env", "work", "COLONY_PASS_ENV", _variables, "",
         "variables that sessions get, with commas"),
        ("sandbox", "work", "COLONY_SANDBOX", _switch, "on", "on or off"),
        ("sandbox_ro", "work", "COLONY_SANDBOX_RO", _paths, "",
         "more paths that agents may read in their box, with colons"),
        ("ports", "work", "COLONY_PORTS", _ports, "8700-8749", "ports named in a brief"),
        ("port_pool", "work", "COLONY_PORT_POOL", _ports, "8700-8799",
         "ports handed out to sessions"),
        ("ports_per_session", "work", "COLONY_PORTS_PER_SESSION", _count(1, 65535), "10",
         "ports of one session"),
        ("brief_max_chars", "work", "COLONY_BRIEF_MAX_CHARS", _count(10_000, 10_000_000),
         "200000", "characters of a brief"),
        ("finalize_max_turns", "work", "COLONY_FINALIZE_MAX_TURNS", _count(0, TURNS_MAX), "8",
         "steps for the report of a worker that ran out; 0: none"),
        ("finalize_timeout", "work", "COLONY_FINALIZE_TIMEOUT", _SECONDS, "600",
         "seconds for that report, never more than the worker's"),
        ("stall_seconds", "work", "COLONY_STALL_SECONDS", _count(0, SECONDS_MAX), "1200",
         "seconds without a word from a worker after which it is stopped; 0: never"),
        ("crash_resumes", "work", "COLONY_CRASH_RESUMES", _count(0, 100), "2",
         "times that a session is taken up again after its process died"),
        ("session_memory_max_mb", "work", "COLONY_SESSION_MEMORY_MAX_MB", _count(0, 1_000_000), "0",
         "MiB of memory that a session may hold before it is ended; 0: no limit"),
        ("session_pids_max", "work", "COLONY_SESSION_PIDS_MAX", _count(0, 4_000_000), "4096",
         "processes and threads of a session, where control groups can be had; 0: no limit"),
        ("max_starts_per_hour", "work", "COLONY_MAX_STARTS_PER_HOUR", _count(0, 1000), "4",
         "sessions started on one ticket within an hour; 0: no limit"),
        ("max_attempts", "work", "COLONY_MAX_ATTEMPTS", _count(1, 1000), "3",
         "sessions in a row without progress that become a question"),
        ("max_half_done", "work", "COLONY_MAX_HALF_DONE", _count(1, 1000), "6",
         "half-done rounds of a ticket that become a question"),
        ("max_cost_per_day", "work", "COLONY_MAX_COST_PER_DAY", _or_none(_dollars), "",
         "dollars of a day (UTC), from which on nothing is started; default: no limit"),
        ("max_cost_per_ticket", "work", "COLONY_MAX_COST_PER_TICKET", _or_none(_cents), "",
         "dollars of all sessions on a ticket that become a question; default: no limit"),
        ("max_review", "work", "COLONY_MAX_REVIEW", _count(0, 1_000_000), "0",
         "results of a project waiting for its creator while nothing new is started; 0: no limit"),
        ("capabilities", "work", "COLONY_CAPABILITIES", _lower_words, "",
         "what this host offers, with commas, for projects that say what they need"),
        ("ui_conventions", "work", "COLONY_UI_CONVENTIONS", _or_empty, "",
         "markup rules named in briefs of projects with pages; default: none"),
        ("controller_claude", "check", "COLONY_CONTROLLER_CLAUDE", _MAYBE, "",
         "the controller's program; default: the worker's"),
        ("controller_model", "check", "COLONY_CONTROLLER_MODEL", _line, "sonnet",
         "controller's model"),
        ("controller_max_turns", "check", "COLONY_CONTROLLER_MAX_TURNS", _TURNS, "20",
         "steps of a controller"),
        ("controller_timeout", "check", "COLONY_CONTROLLER_TIMEOUT", _SECONDS, "900",
         "seconds of a controller"),
        ("max_fails", "check", "COLONY_MAX_FAILS", _count(1, 1000), "2",
         "the failed check of a ticket that becomes a question"),
        ("interval", "run", "COLONY_RUN_INTERVAL", _count(1, SECONDS_MAX), "60",
         "seconds between two iterations of the loop"),
        ("parallel", "run", "COLONY_PARALLEL", _count(1, 1000), "1", "sessions at once"),
        ("reserve", "run", "COLONY_QUOTA_RESERVE", _count(1, 100), "70",
         "percent of the account's 5 hours from which on nothing is started; 100: off"),
        ("week_limit", "run", "COLONY_WEEK_LIMIT", _count(1, 100), "84",
         "percent of the account's week above which nothing is started; 100: off"),
        ("quota_claude", "run", "COLONY_QUOTA_CLAUDE", _MAYBE, "",
         "the program that tells the quota; default: the worker's"),
        ("stop_finish_seconds", "run", "COLONY_STOP_FINISH_SECONDS", _count(0, SECONDS_MAX), "0",
         "seconds after a stop until what still runs is parked; 0: it may finish"),
        ("hours", "run", "COLONY_HOURS", _hours, "",
         "when sessions are started, such as Mon-Fri 18:00-08:00, Sat; default: always"),
        ("guard", "guard", "COLONY_GUARD", _switch, "on",
         "ask before a start whether one more session fits here: on or off"),
        ("session_memory_mb", "guard", "COLONY_SESSION_MEMORY_MB", _count(1, 1_000_000), "1024",
         "MiB of memory that a session is expected to hold"),
        ("memory_headroom_percent", "guard", "COLONY_MEMORY_HEADROOM_PERCENT", _count(0, 100), "10",
         "percent of the memory that is kept free, at most 8 GB"),
        ("warmup_seconds", "guard", "COLONY_WARMUP_SECONDS", _count(0, SECONDS_MAX), "600",
         "seconds for which a session that just began has its memory reserved"),
        ("session_disk_mb", "guard", "COLONY_SESSION_DISK_MB", _count(0, 100_000_000), "2048",
         "MiB of disk that a session is expected to need"),
        ("disk_headroom_percent", "guard", "COLONY_DISK_HEADROOM_PERCENT", _count(0, 100), "10",
         "percent of the disk that is kept free, at most 10 GB"),
        ("memory_limit_mb", "guard", "COLONY_MEMORY_LIMIT_MB", _or_none(_count(1, 1_000_000_000)),
         "", "MiB that a container has where its own limit is not told; can only lower the line"),
        ("lease_ttl", "lease", "COLONY_LEASE_TTL", _count(10, SECONDS_MAX), "7200",
         "seconds a lease lives unrenewed"),
        ("heartbeat", "lease", "COLONY_HEARTBEAT", _or_none(_SECONDS), "",
         "seconds between renewals; default: half the lease"),
    )
)  # fmt: skip

BY_NAME: Final[Mapping[str, Setting]] = {setting.name: setting for setting in SETTINGS}
VARIABLES: Final = frozenset(setting.variable for setting in SETTINGS)

SET_BY_COLONY: Final = frozenset({"COLONY_SESSION", "COLONY_PORT_FROM", "COLONY_PORT_TO"})
"""Given to every part of a session; not settings."""
ENVIRONMENT_ONLY: Final = frozenset({"COLONY_HOME", "COLONY_DEBUG", "COLONY_PYTHON"})
"""Read before the `.env` of the home, or without it."""
