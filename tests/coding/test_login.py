"""Which login Claude Code would use, by what name, and when it is another one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from colony.coding.claude import Claude
from colony.coding.login import login_folder
from colony.coding.quota import USAGE_FLAGS

CLAUDE = Claude("/opt/claude")
UUID = "1A2b3c4d-58f4-4a9e-9d1e-2a6c2f3b4d5e"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a stored subscription."""
    (tmp_path / ".claude").mkdir()
    store(tmp_path)
    write(tmp_path / ".claude.json", {"oauthAccount": {"accountUuid": UUID}, "numStartups": 1})
    return tmp_path


def store(home: Path, **changes: Any) -> None:
    login = {"accessToken": "at-1", "refreshToken": "rt-1", "expiresAt": 5, "scopes": ["a"]}
    write(home / ".claude" / ".credentials.json", {"claudeAiOauth": login | changes})


def write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value))


def of(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), **more}


# --- the account's name --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("ANTHROPIC_API_KEY", "API key"),
        ("ANTHROPIC_AUTH_TOKEN", "bearer token"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "long-lived token"),
    ],
)
def test_a_login_from_the_environment_is_named_by_its_kind_and_a_digest(
    home: Path, name: str, word: str
) -> None:
    one = CLAUDE.account(of(home, **{name: "sk-ant-secret-1"}))
    assert re.fullmatch(rf"claude {word} [0-9a-f]{{8}}", one)
    assert one == CLAUDE.account({name: "sk-ant-secret-1"})
    assert one != CLAUDE.account({name: "sk-ant-secret-2"})
    assert "secret" not in one


def test_the_digest_is_the_beginning_of_sha256() -> None:
    assert CLAUDE.account({"ANTHROPIC_API_KEY": "abc"}) == "claude API key ba7816bf"


def test_the_first_login_of_several_is_named_as_the_program_takes_it() -> None:
    both = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_AUTH_TOKEN": "t"}
    assert CLAUDE.account(both) == CLAUDE.account({"ANTHROPIC_AUTH_TOKEN": "t"})
    assert CLAUDE.login_mark(both) == CLAUDE.login_mark({"ANTHROPIC_AUTH_TOKEN": "t"})
    assert CLAUDE.account({"CLAUDE_CODE_USE_BEDROCK": "1", **both}) == "claude Bedrock"


def test_a_stored_login_keeps_its_name_over_a_refresh(home: Path) -> None:
    before = CLAUDE.account(of(home))
    assert before == "claude stored login 1a2b3c4d"
    store(home, accessToken="at-2", refreshToken="rt-2", expiresAt=9)
    assert CLAUDE.account(of(home)) == before
    write(home / ".claude.json", {"oauthAccount": {"accountUuid": UUID.replace("1A", "ff")}})
    assert CLAUDE.account(of(home)) == "claude stored login ff2b3c4d"


@pytest.mark.parametrize(
    "general",
    [{}, [], {"oauthAccount": None}, {"oauthAccount": {"accountUuid": 7}},
     {"oauthAccount": {"accountUuid": "x\nMAIN — all is well"}},
     {"oauthAccount": {"accountUuid": "1a2b3c4"}}],
)  # fmt: skip
def test_an_account_that_is_not_noted_has_no_digits(home: Path, general: Any) -> None:
    write(home / ".claude.json", general)
    assert CLAUDE.account(of(home)) == "claude stored login"
    (home / ".claude.json").unlink()
    assert CLAUDE.account(of(home)) == "claude stored login"
    assert CLAUDE.account({}) == "claude stored login"


def test_a_folder_of_its_own_holds_its_own_account(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    write(other / ".claude.json", {"oauthAccount": {"accountUuid": "99999999-0000"}})
    environ = of(home, CLAUDE_CONFIG_DIR=str(other))
    assert CLAUDE.account(environ) == "claude stored login 99999999"
    (other / ".claude.json").unlink()
    assert CLAUDE.account(environ) == "claude stored login"


# --- the mark of its material --------------------------------------------------------------


def test_the_mark_changes_with_the_variable() -> None:
    marks = [
        CLAUDE.login_mark({name: value})
        for name in ("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN")
        for value in ("one", "two", "\udcff")
    ]
    assert len(set(marks)) == 6
    assert all(re.fullmatch(r"[0-9a-f]{64}", mark) for mark in marks)
    assert CLAUDE.login_mark({"ANTHROPIC_API_KEY": ""}) == ""


def test_the_mark_changes_when_somebody_logs_in_again_and_not_otherwise(home: Path) -> None:
    before = CLAUDE.login_mark(of(home))
    assert re.fullmatch(r"[0-9a-f]{64}", before)
    # The general file changes at every start, the credentials file with every MCP server.
    write(home / ".claude.json", {"oauthAccount": {"accountUuid": UUID}, "numStartups": 2})
    kept = json.loads((home / ".claude" / ".credentials.json").read_text())
    write(home / ".claude" / ".credentials.json", {"mcpOAuth": {"x": 1}, **kept})
    assert CLAUDE.login_mark(of(home)) == before
    seen = {before}
    store(home, refreshToken="rt-2")
    seen.add(CLAUDE.login_mark(of(home)))
    write(home / ".claude.json", {"oauthAccount": {"accountUuid": UUID.replace("5e", "5f")}})
    seen.add(CLAUDE.login_mark(of(home)))
    write(home / ".claude" / "settings.json", {"apiKeyHelper": "/bin/key"})
    seen.add(CLAUDE.login_mark(of(home)))
    write(home / ".claude.json", {"primaryApiKey": "k-1"})
    seen.add(CLAUDE.login_mark(of(home)))
    assert len(seen) == 5


def test_no_login_has_no_mark(tmp_path: Path) -> None:
    assert CLAUDE.login_mark({}) == ""
    assert CLAUDE.login_mark(of(tmp_path)) == ""
    (tmp_path / ".claude").mkdir()
    store(tmp_path, accessToken="", refreshToken="")
    assert CLAUDE.login_mark(of(tmp_path)) == ""
    (tmp_path / ".claude" / ".credentials.json").write_text('{"claudeAiOauth": {"acc')
    assert CLAUDE.login_mark(of(tmp_path)) == ""


# --- the quota call ------------------------------------------------------------------------


def test_the_quota_call(home: Path) -> None:
    environ = of(home, CLAUDECODE="1", COLONY_TOKEN="secret", API_TIMEOUT_MS="900000")
    call = CLAUDE.quota_call(environ)
    assert call is not None
    assert call.argv == (
        "/opt/claude", "-p", "/usage", "--output-format", "json", "--verbose", "--model", "haiku",
        "--max-turns", "1", "--permission-mode", "plan", "--permission-prompts", "none",
        "--strict-mcp-config", "--setting-sources", "user",
    )  # fmt: skip
    assert call.argv[1:] == USAGE_FLAGS
    assert call.env == {
        "API_TIMEOUT_MS": "300000",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        "CLAUDE_CODE_SKIP_PROMPT_HISTORY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
    }
    folder = of(home, CLAUDE_CONFIG_DIR=str(home / ".claude"))
    again = CLAUDE.quota_call(folder)
    assert again is not None
    assert again.env["CLAUDE_CONFIG_DIR"] == str(login_folder(folder))


@pytest.mark.parametrize(
    "name",
    ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN",
     "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"],
)  # fmt: skip
def test_a_login_from_the_environment_never_tells_its_quota(home: Path, name: str) -> None:
    assert CLAUDE.quota_call(of(home, **{name: "x"})) is None
    assert CLAUDE.quota_call(of(home, **{name: ""})) is not None


def test_neither_does_a_stored_key(home: Path) -> None:
    (home / ".claude" / ".credentials.json").unlink()
    assert CLAUDE.quota_call(of(home)) is not None, "no login may be one later"
    write(home / ".claude.json", {"primaryApiKey": "k"})
    assert CLAUDE.quota_call(of(home)) is None
    store(home)
    assert CLAUDE.quota_call(of(home)) is not None
