"""Runs of the real program that bring no report, and starts that are refused."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Colony, prints
from tests.acceptance.model import Model, bash

pytestmark = pytest.mark.real_claude

TOKEN = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-made-up"}


def given_back(shop: Colony, reason: str, said: str, how: str) -> dict[str, Any]:
    """The ticket is open again and says why; the session has ended. The last part."""
    shown = shop.shown()
    assert shown[0]["state"] == "open"
    last = shown[-1]["text"]
    assert said in last
    [run] = shop.runs
    machine = f"colony-run: {run.name} · host here · {how} · reason {reason} · "
    assert last.splitlines()[-1].startswith(machine)
    assert shop("next").lines[0].startswith("NEXT: shop#1")
    part: dict[str, Any] = shop.record()["parts"][-1]
    assert part["ended"] == reason
    return part


def test_out_of_steps(real: Colony, model: Model) -> None:
    model.plays("work", [bash("true")])
    done = real("work", "shop", "1", "--post", "--max-turns", "2")
    assert done.code == 1, done
    assert done.lines[-1] == "WORK FAILED — shop#1 is open again: no valid report (out of steps)"
    given_back(real, "out of steps", "the worker had used all its steps", "no report")


def test_the_limit_of_the_account_is_waited_out(real: Colony, model: Model) -> None:
    model.plays("work", [bash("echo 1 > half.txt"), {"limit": "five_hour", "reset_in": 7200}])
    done = real("work", "shop", "1", "--post", **TOKEN)
    assert done.code == 0, done
    assert done.lines[-1].startswith("PARKED — shop#1 until ")
    assert "the account has used up its limit" in done.lines[-1]
    assert real.state() == "progress"
    [part] = real.record()["parts"]
    [park] = real.record()["parks"]
    reset = time.time() * 1000 + 7_200_000
    assert part["ended"] == "limit"
    assert abs(part["limitUntilMs"] - reset) < 60_000
    assert abs(park["resumeMs"] - reset) < 60_000
    assert "colony-parked:" in real.history()
    assert TOKEN["CLAUDE_CODE_OAUTH_TOKEN"] not in real.history()


def test_an_unknown_model(real: Colony, model: Model) -> None:
    model.plays("work", [{"status": 404, "message": "model: no-such-model-9"}])
    done = real("work", "shop", "1", "--post", "--model", "no-such-model-9")
    assert done.code == 4, done
    given_back(real, "model", "the chosen model is not available", "given back")
    assert {each["model"] for each in model.requests("work")} == {"no-such-model-9"}


def refused(shop: Colony, model: Model, why: str, **environ: str) -> None:
    """`work` says why in its one line, and leaves no trace."""
    before = prints(shop.home, shop.project)
    done = shop("work", "shop", "1", "--post", **environ)
    assert done.code == 4, done
    [line] = done.lines
    assert line.startswith("work: REFUSED — ")
    assert why in line
    assert prints(shop.home, shop.project) == before
    assert not shop.runs
    assert not model.stub.requests


def test_without_a_login_nothing_starts(real: Colony, model: Model) -> None:
    refused(real, model, "has no login", ANTHROPIC_API_KEY="")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("echo '2.0.1 (Claude Code)'", "is Claude Code 2.0.1; Colony needs 2.1.280 or newer"),
        ("echo 'Some Agent 9.9.9'", "does not say that it is Claude Code"),
        ("kill -9 $$", "does not say that it is Claude Code"),
        (None, "no such program"),
    ],
)
def test_a_program_that_cannot_be_used(
    shop: Colony, model: Model, tmp_path: Path, text: str | None, why: str
) -> None:
    program = tmp_path / "claude"
    if text is not None:
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    refused(shop, model, why, COLONY_CLAUDE=str(program))


def test_a_controller_that_cannot_be_used(real: Colony, model: Model) -> None:
    """Found out before the worker has cost anything."""
    refused(real, model, "does not say that it is", COLONY_CONTROLLER_CLAUDE="/bin/echo")
