"""How Claude Code is called: its command line, its environment, what refuses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from colony.coding.claude import OWN_VARIABLES, Claude
from colony.coding.login import login_folder
from colony.coding.protocol import CodingAgent, Invocation, PartFolders, PartOrder
from colony.errors import Refused, UsageProblem

FOLDERS = PartFolders(config=Path("/run/s/agent"), tmp=Path("/run/s/tmp"))
ID = "0b6f3c1e-58f4-4a9e-9d1e-2a6c2f3b4d5e"
KEY = {"ANTHROPIC_API_KEY": "made-up", "HOME": "/home/somebody"}


def order(**changes: Any) -> PartOrder:
    fields: dict[str, Any] = {
        "schema": '{"type":"object"}',
        "agent_session": ID,
        "resume": False,
        "model": "sonnet",
        "max_turns": 40,
        "permission_mode": "auto",
    }
    return PartOrder(**(fields | changes))


def called(environ: dict[str, str] | None = None, **changes: Any) -> Invocation:
    agent: CodingAgent = Claude()
    return agent.invocation(order(**changes), FOLDERS, KEY if environ is None else environ)


def test_the_whole_command_line() -> None:
    argv = called(
        allowed_tools=("Bash(git *)", "Edit"), disallowed_tools=("Write",), max_budget_usd=2.5
    ).argv
    assert argv == (
        "claude", "-p", "--output-format", "stream-json", "--verbose",
        "--json-schema", '{"type":"object"}',
        "--session-id", ID,
        "--model", "sonnet",
        "--max-turns", "40",
        "--permission-mode", "auto",
        "--permission-prompts", "none",
        "--strict-mcp-config", "--setting-sources", "user",
        "--allowedTools", "Bash(git *)", "Edit",
        "--disallowedTools", "AskUserQuestion", "ScheduleWakeup", "Write",
        "--max-budget-usd", "2.50",
    )  # fmt: skip


def test_the_dialect_of_the_schema_is_left_out() -> None:
    """Claude Code refuses a schema that names one."""
    schema = '{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}'
    assert '{"type":"object"}' in called(schema=schema).argv


def test_a_resumed_part_names_its_session_and_no_new_one() -> None:
    argv = called(resume=True).argv
    assert argv[argv.index("--resume") + 1] == ID
    assert "--session-id" not in argv


def test_the_work_trees_own_settings_load_only_where_the_registry_says_so() -> None:
    assert "--setting-sources" not in called(project_settings=True).argv
    assert "--strict-mcp-config" not in called(project_settings=True).argv


def test_tools_that_need_a_person_are_always_off() -> None:
    argv = called(disallowed_tools=("AskUserQuestion", "Edit")).argv
    off = argv[argv.index("--disallowedTools") + 1 :]
    assert off == ("AskUserQuestion", "ScheduleWakeup", "Edit")


def test_bypassing_permissions_is_refused() -> None:
    with pytest.raises(Refused, match="bypassPermissions"):
        called(permission_mode="bypassPermissions")


@pytest.mark.parametrize(
    "changes",
    [
        {"agent_session": ""},
        {"agent_session": "", "resume": True},
        {"agent_session": "--help", "resume": True},
        {"agent_session": ID.upper()},
        {"agent_session": ID + "\n"},
        {"max_turns": 0},
        {"model": ""},
        {"model": "--dangerously-skip-permissions"},
        {"model": "a\x00b"},
        {"allowed_tools": ("Bash", "--model")},
        {"disallowed_tools": ("",)},
        {"model": "x" * 5_000},
        {"schema": ""},
        {"schema": "/a/path.json"},
        {"schema": "[1]"},
        {"schema": "[" * 100_000},
        {"schema": json.dumps({"title": "x" * 200_000})},
        {"schema": json.dumps({"title": "é" * 30_000}, ensure_ascii=False)},
    ],
)
def test_what_cannot_be_an_argument_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(UsageProblem):
        called(**changes)


def test_the_agent_gets_its_own_variables_and_nothing_else() -> None:
    environ = KEY | {
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "COLONY_TOKEN_FILE": "/secret",
        "COLONY_TRACKER_TOKEN": "secret",
        "CLAUDECODE": "1",
        "CLAUDE_CODE_CHILD_SESSION": "1",
        "CLAUDE_CODE_ENTRYPOINT": "cli",
        "CLAUDE_CODE_RETRY_WATCHDOG": "1",
        "IS_SANDBOX": "1",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "PATH": "/usr/bin",
        "ANTHROPIC_CUSTOM_HEADERS": "",
    }
    assert called(environ).env == {
        "ANTHROPIC_API_KEY": "made-up",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "API_TIMEOUT_MS": "300000",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_TMPDIR": "/run/s/tmp",
        "CLAUDE_CONFIG_DIR": "/run/s/agent",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    }


def test_own_variables_name_no_tracker() -> None:
    assert not [name for name in OWN_VARIABLES if name.startswith("COLONY")]


@pytest.mark.parametrize(
    ("given", "used"),
    [("", "300000"), ("20000", "20000"), ("900000", "300000"), ("0", "300000"), ("x", "300000")],
)
def test_a_call_of_the_provider_is_bounded(given: str, used: str) -> None:
    assert called(KEY | {"API_TIMEOUT_MS": given}).env["API_TIMEOUT_MS"] == used


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"ANTHROPIC_API_KEY": "k", "CLAUDE_CONFIG_DIR": "/theirs"}, "/run/s/agent"),
        ({"CLAUDE_CODE_OAUTH_TOKEN": "t"}, "/run/s/agent"),
        ({"ANTHROPIC_AUTH_TOKEN": "t"}, "/run/s/agent"),
        ({"CLAUDE_CODE_USE_BEDROCK": "1"}, "/run/s/agent"),
        ({"CLAUDE_CONFIG_DIR": "/theirs", "HOME": "/h"}, "/theirs"),
        ({"ANTHROPIC_API_KEY": "", "CLAUDE_CONFIG_DIR": "/theirs"}, "/theirs"),
        ({"HOME": "/h"}, None),
    ],
)
def test_the_configuration_folder_follows_the_login(
    environ: dict[str, str], folder: str | None
) -> None:
    """Without a variable the program finds the stored login itself, below the home folder."""
    assert called(environ).env.get("CLAUDE_CONFIG_DIR") == folder


def test_login_folder() -> None:
    assert login_folder({"HOME": "/h"}) == Path("/h/.claude")
    assert login_folder({"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"}) == Path("/c")
    assert login_folder({}) is None


def test_a_login_is_looked_for_in_variables_and_files(tmp_path: Path) -> None:
    claude = Claude()
    folder = tmp_path / ".claude"
    folder.mkdir()
    home = {"HOME": str(tmp_path)}
    problem = claude.login_problem(home)
    assert problem is not None
    assert str(folder) in problem
    assert "ANTHROPIC_API_KEY" in problem
    assert "\n" not in problem
    assert claude.login_problem({}) is not None
    assert claude.login_problem({"CLAUDE_CODE_OAUTH_TOKEN": "t"}) is None
    for name, content, holds in [
        (".claude/.credentials.json", {"claudeAiOauth": {"accessToken": "t"}}, True),
        (".claude/.credentials.json", {"claudeAiOauth": {"accessToken": ""}}, False),
        (".claude/.credentials.json", {"claudeAiOauth": []}, False),
        (".claude/.credentials.json", [], False),
        (".claude/settings.json", {"apiKeyHelper": "/bin/key"}, True),
        (".claude.json", {"primaryApiKey": "k"}, True),
        (".claude.json", {"primaryApiKey": None}, False),
    ]:
        (tmp_path / name).write_text(json.dumps(content))
        assert (claude.login_problem(home) is None) is holds, (name, content)
        (tmp_path / name).unlink()
    (folder / ".credentials.json").write_text('{"a":' * 100_000)
    assert claude.login_problem(home) is not None


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("2.1.328 (Claude Code)\n", ""),
        ("2.1.280 (Claude Code)\n", ""),
        ("3.0.0 (Claude Code)\n", ""),
        ("2.1.279 (Claude Code)\n", "needs 2.1.280"),
        ("2.1.197 (Claude Code)\n", "needs 2.1.280"),
        ("1.999.999 (Claude Code)\n", "needs 2.1.280"),
        ("", "does not say"),
        ("codex-cli 0.90.0\n", "does not say"),
        ("2.1.328\n", "does not say"),
        ("v20.20.2\n", "does not say"),
        ("9" * 5000 + ".1.1 (Claude Code)", "does not say"),
    ],
)
def test_the_oldest_version_that_works(output: str, problem: str) -> None:
    found = Claude("/opt/claude").version_problem(output)
    assert (found or "") == "" if not problem else problem in (found or "")
    call = Claude("/opt/claude").version_call()
    assert call is not None
    assert call.argv == ("/opt/claude", "--version")


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({}, "stored login"),
        ({"ANTHROPIC_API_KEY": ""}, "stored login"),
        ({"ANTHROPIC_API_KEY": "sk-secret"}, "API key"),
        ({"CLAUDE_CODE_OAUTH_TOKEN": "tok-secret"}, "long-lived token"),
        ({"ANTHROPIC_API_KEY": "sk-secret", "ANTHROPIC_AUTH_TOKEN": "x"}, "bearer token"),
        ({"CLAUDE_CODE_USE_BEDROCK": "1", "ANTHROPIC_API_KEY": "sk-secret"}, "Bedrock"),
    ],
)
def test_a_login_is_named_and_never_shown(environ: dict[str, str], words: str) -> None:
    assert Claude().login(environ) == words
