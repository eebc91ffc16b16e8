"""Claude Code: how it is called without a person, and what keeps it from being called.

The options are those of version 2.1.328, read from its runs; every one of them is known to 2.1.280,
the oldest version that is taken, so that none depends on the installed version.

A resumed run sends the earlier requests byte for byte, but for the cache marks, as long as model,
tools and schema are the same. Transcript and cost are written with a delay: a SIGTERM writes both,
a SIGKILL loses the cost of the run and may lose its last steps.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Final

from colony.coding.login import (
    CLOUD_VARIABLES,
    LOGIN_VARIABLES,
    account_name,
    general_file,
    holds_login,
    login_folder,
    login_from_environment,
    login_mark,
    login_word,
    tells_quota,
)
from colony.coding.places import program_places
from colony.coding.protocol import Invocation, PartFolders, PartOrder, Places
from colony.coding.quota import USAGE_FLAGS, read_usage
from colony.coding.stream import read_steps, read_turn
from colony.core.turn import QuotaAnswer, Step, Turn
from colony.errors import Refused, UsageProblem

OLDEST: Final = (2, 1, 280)

OWN_VARIABLES: Final = (
    *LOGIN_VARIABLES,
    *CLOUD_VARIABLES,
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_DEFAULT_FABLE_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "BASH_DEFAULT_TIMEOUT_MS",
    "BASH_MAX_TIMEOUT_MS",
    "CLAUDE_CODE_EFFORT_LEVEL",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_MAX_RETRIES",
    "CLAUDE_CONFIG_DIR",
    "MAX_STRUCTURED_OUTPUT_RETRIES",
    "MAX_THINKING_TOKENS",
)
"""What the agent gets of Colony's own environment; nothing of an outer agent session is in it."""

SWITCHES: Final[Mapping[str, str]] = {
    # A background command would outlive the answer, or take its place.
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
}
API_TIMEOUT_MS: Final = 300_000
"""The program's own bound lets a dead connection wait for six minutes, ten times over."""

UNATTENDED: Final = ("AskUserQuestion", "ScheduleWakeup")
"""Tools that make no sense without a person: the first would answer itself (questions go through
the report), the second would wake a session that has ended."""

GENERAL: Final = ".claude.json"
RUN_TIME: Final = (
    "projects",
    "sessions",
    "session-env",
    "shell-snapshots",
    "file-history",
    "todos",
    "tasks",
    "debug",
    "backups",
)
"""Folders of a login's folder that a run writes: each session has its own (session.md, Login)."""
LASTING: Final = (
    "settings.json",
    "settings.local.json",
    "CLAUDE.md",
    "plugins",
    "agents",
    "commands",
    "skills",
    "hooks",
    "rules",
    "output-styles",
)
"""What is in force for every later run with this login: no agent may change it."""

ARGUMENT_MAX: Final = 128 * 1024 - 1
"""Bytes of one argument that Linux takes."""
VALUE_MAX: Final = 4_000
"""Characters of a model's name, a mode or a tool rule."""

_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Claude:
    """`program` is a path or a name on PATH; `zone` is meant by reset times that name none."""

    program: str = "claude"
    zone: tzinfo = UTC

    @property
    def name(self) -> str:
        return "claude"

    def version_call(self) -> Invocation | None:
        return Invocation((self.program, "--version"), dict(SWITCHES))

    def version_problem(self, output: str) -> str | None:
        found = re.match(r"\s*(\d{1,9})\.(\d{1,9})\.(\d{1,9})\b.*\(Claude Code\)", output)
        if found is None:
            return f"{self.program} does not say that it is Claude Code"
        version = (int(found[1]), int(found[2]), int(found[3]))
        if version < OLDEST:
            has, needs = (".".join(map(str, each)) for each in (version, OLDEST))
            return f"{self.program} is Claude Code {has}; Colony needs {needs} or newer"
        return None

    def login_problem(self, environ: Mapping[str, str]) -> str | None:
        if login_from_environment(environ):
            return None
        folder = login_folder(environ)
        if folder is not None and holds_login(folder):
            return None
        where = f" (looked in {folder})" if folder is not None else ""
        return (
            f"{self.program} has no login{where}: set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN,"
            f" or start {self.program} once and log in"
        )

    def login(self, environ: Mapping[str, str]) -> str:
        return login_word(environ)

    def account(self, environ: Mapping[str, str]) -> str:
        return f"{self.name} {account_name(environ)}"

    def login_mark(self, environ: Mapping[str, str]) -> str:
        return login_mark(environ)

    def quota_call(self, environ: Mapping[str, str]) -> Invocation | None:
        if not tells_quota(environ):
            return None
        env = _own(environ)
        # The program counts the account's quota among the traffic that is not essential.
        del env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"]
        # Else each call leaves a conversation behind in the login's folder.
        env["CLAUDE_CODE_SKIP_PROMPT_HISTORY"] = "1"
        return Invocation((self.program, *USAGE_FLAGS), env)

    def read_quota(self, output: str) -> QuotaAnswer:
        return read_usage(output, self.zone)

    def invocation(
        self, order: PartOrder, folders: PartFolders, environ: Mapping[str, str]
    ) -> Invocation:
        """Raises Refused for `bypassPermissions`, UsageProblem for what cannot be an argument."""
        check_order(order)
        return Invocation((self.program, *flags_of(order)), _environment(folders, environ))

    def places(self, environ: Mapping[str, str]) -> Places:
        read = [*program_places(self.program, environ)]
        if environ.get("HOME"):
            home = Path(environ["HOME"])
            read += [home / ".local/bin", home / ".local/share/claude"]
        if login_from_environment(environ):
            return Places(read=tuple(read))
        folder = login_folder(environ)
        if folder is None:
            return Places(read=tuple(read))
        general = general_file(environ)
        return Places(
            read=tuple(read),
            write=(folder,),
            own=(*((name, folder / name) for name in RUN_TIME), (GENERAL, general)),
            copies=((general, GENERAL),),
            fixed=((folder, LASTING),),
        )

    def read(self, stream: Iterable[str]) -> Turn:
        return read_turn(stream, self.zone)

    def steps(self, stream: Iterable[str]) -> Iterator[Step]:
        return read_steps(stream)


def check_order(order: PartOrder) -> None:
    """Refuse what must never be passed, or what the program would take for something else."""
    if order.permission_mode == "bypassPermissions":
        raise Refused("the permission mode bypassPermissions is never used")
    if not _UUID.fullmatch(order.agent_session):
        raise UsageProblem(f"agent session {order.agent_session!r}: not a UUID")
    if order.max_turns < 1:
        raise UsageProblem(f"max turns {order.max_turns}: must be 1 or more")
    values = (order.model, order.permission_mode, *order.allowed_tools, *order.disallowed_tools)
    for value in values:
        if not value or value.startswith("-") or "\x00" in value or len(value) > VALUE_MAX:
            raise UsageProblem(f"{value[:40]!r} cannot be a value on the agent's command line")


def flags_of(order: PartOrder) -> tuple[str, ...]:
    """The options of one run, without the program's name. The prompt comes by standard input."""
    schema = _schema_argument(order.schema)
    flags = ["-p", "--output-format", "stream-json", "--verbose", "--json-schema", schema]
    flags += ["--resume" if order.resume else "--session-id", order.agent_session]
    flags += ["--model", order.model, "--max-turns", str(order.max_turns)]
    flags += ["--permission-mode", order.permission_mode, "--permission-prompts", "none"]
    if not order.project_settings:
        flags += ["--strict-mcp-config", "--setting-sources", "user"]
    if order.allowed_tools:
        flags += ["--allowedTools", *order.allowed_tools]
    flags += ["--disallowedTools", *dict.fromkeys((*UNATTENDED, *order.disallowed_tools))]
    if order.max_budget_usd is not None:
        flags += ["--max-budget-usd", f"{order.max_budget_usd:.2f}"]
    return tuple(flags)


def _schema_argument(schema: str) -> str:
    """The schema without `$schema`: the program knows no dialect by name and refuses each."""
    try:
        parsed = json.loads(schema)
    except (ValueError, RecursionError) as error:
        raise UsageProblem(f"the schema of the answer is no JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise UsageProblem("the schema of the answer is no JSON object")
    parsed.pop("$schema", None)
    argument = json.dumps(parsed, separators=(",", ":"))
    if len(argument) > ARGUMENT_MAX:
        raise UsageProblem("the schema of the answer is too long for the agent's command line")
    return argument


def _environment(folders: PartFolders, environ: Mapping[str, str]) -> dict[str, str]:
    env = _own(environ)
    env["CLAUDE_CODE_TMPDIR"] = str(folders.tmp)
    if login_from_environment(environ):
        env["CLAUDE_CONFIG_DIR"] = str(folders.config)
    return env


def _own(environ: Mapping[str, str]) -> dict[str, str]:
    """What every call gets."""
    env = {name: environ[name] for name in OWN_VARIABLES if environ.get(name)}
    env.update(SWITCHES)
    env["API_TIMEOUT_MS"] = _bounded(environ.get("API_TIMEOUT_MS", ""))
    return env


def _bounded(milliseconds: str) -> str:
    wanted = int(milliseconds) if re.fullmatch(r"[1-9][0-9]{0,8}", milliseconds) else API_TIMEOUT_MS
    return str(min(wanted, API_TIMEOUT_MS))
