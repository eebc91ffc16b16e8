"""The real Claude Code program, asked for an account's quota. The login is made up, and the
provider's account endpoint is a server on loopback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from colony.coding.claude import Claude
from colony.coding.quota import NOT_FETCHED
from colony.core.turn import QuotaAnswer, Reading
from tests.coding.real_program import program
from tests.fakes.account_stub import serve_account

__all__ = ["program"]
pytestmark = pytest.mark.real_claude

ROWS = {
    "limits": [
        {"kind": "session", "group": "session", "percent": 42, "severity": "normal",
         "resets_at": "2027-12-01T17:00:00.5+00:00", "scope": None, "is_active": True},
        {"kind": "weekly_all", "group": "weekly", "percent": 7.5, "severity": "warning",
         "resets_at": "2027-12-04T08:00:00+00:00", "is_active": False},
        {"kind": "weekly_scoped", "group": "weekly", "percent": 100, "severity": "critical",
         "resets_at": None, "scope": {"model": {"display_name": "Opus"}}, "is_active": False},
    ]
}  # fmt: skip
OLD_ROWS = {
    "five_hour": {"utilization": 42.0, "resets_at": "2027-12-01T17:00:00+00:00"},
    "seven_day": {"utilization": 7.0, "resets_at": "2027-12-04T08:00:00+00:00"},
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / ".claude").mkdir(parents=True)
    (tmp_path / "work").mkdir()
    login = {
        "accessToken": "sk-ant-oat01-made-up",
        "refreshToken": "sk-ant-ort01-made-up",
        "expiresAt": int(time.time() * 1000) + 10**10,
        "scopes": ["user:inference", "user:profile"],
        "subscriptionType": "max",
    }
    (folder / ".claude" / ".credentials.json").write_text(json.dumps({"claudeAiOauth": login}))
    return folder


def asked(program: str, home: Path, proxy: dict[str, str], *before: str) -> QuotaAnswer:
    claude = Claude(program)
    call = claude.quota_call({"HOME": str(home), "CLAUDE_CODE_MAX_RETRIES": "1"})
    assert call is not None
    env = {**call.env, **proxy, "PATH": os.defpath, "HOME": str(home), "TZ": "UTC"}
    done = subprocess.run(
        [*before, *call.argv], env=env, cwd=home.parent / "work", stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = claude.read_quota(done.stdout)
    assert answer.cost_usd == 0
    assert not list(home.rglob("*.jsonl")), "a conversation was left behind"
    return answer


def test_it_tells_the_windows(program: str, home: Path) -> None:
    with serve_account(ROWS) as account:
        answer = asked(program, home, account.env)
        assert "GET /api/oauth/usage" in account.asked
        assert not [each for each in account.asked if "messages" in each], "a model was asked"
    session, week, scoped = answer.readings
    assert session == Reading("session", 0.42, 1_827_680_400_500, "normal")
    assert (week.kind, week.used, week.resets_ms) == ("week", 0.075, 1_827_907_200_000)
    assert (scoped.kind, scoped.used, scoped.resets_ms) == ("", 1.0, None)


def test_it_writes_lines_where_it_has_no_typed_rows(program: str, home: Path) -> None:
    with serve_account(OLD_ROWS) as account:
        answer = asked(program, home, account.env)
    assert [(each.kind, each.used, each.resets_ms) for each in answer.readings] == [
        ("session", 0.42, 1_827_680_400_000),
        ("week", 0.07, 1_827_907_200_000),
    ]


@pytest.mark.parametrize(
    ("usage", "status"), [({}, 401), ({}, 429), ({}, 500), ({}, 200), ("no rows", 200)]
)
def test_no_rows_are_a_problem_and_no_crash(
    program: str, home: Path, usage: Any, status: int
) -> None:
    with serve_account(usage, status) as account:
        answer = asked(program, home, account.env)
    assert answer == QuotaAnswer(problem=answer.problem)
    assert answer.problem


def test_without_a_network(program: str, home: Path) -> None:
    box = shutil.which("bwrap")
    if box is None:
        pytest.skip("no bwrap")
    bind = ("--bind", str(home.parent), str(home.parent))
    answer = asked(
        program, home, {}, box, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
        "--unshare-net", *bind,
    )  # fmt: skip
    assert answer == QuotaAnswer(problem=NOT_FETCHED)
