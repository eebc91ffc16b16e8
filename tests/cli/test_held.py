"""What `cycle`, `explain` and `work` make of an account that is held, and of a day's money.

| rule | test |
|---|---|
| `cycle` starts and resumes nothing: one line, status 5 | test_a_cycle_starts_nothing_while_held |
| nor does it go on with one that is due | test_a_cycle_goes_on_with_nothing_while_held |
| `run --once` names the limit that its session met | test_one_look_says_what_its_own_session_met |
| `run` without a login starts nothing, and says so | test_a_loop_without_a_login_says_so |
| two accounts | test_who_uses_another_account_is_not_held |
| `explain` names what holds | test_explain_names_what_holds |
| by hand it is started all the same, with a warning | test_by_hand_it_is_said_and_started |
| `COLONY_MAX_COST_PER_DAY` | test_a_day_that_has_cost_enough |
| what is said is on record at once | test_an_answer_is_on_record_while_the_session_runs |
| the next day | test_what_yesterday_cost_holds_nothing |
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from colony.core.ticket import Ref
from tests.cli.stage import CART, LINES, Stage, a_cart, answer, moves

DAY_MS = 24 * 3_600_000


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = a_cart(tmp_path)
    made.register("barn")
    made.ticket(project="barn", subject="Another")
    return made


@pytest.fixture
def held(stage: Stage) -> Stage:
    """The session of `shop#1` has hit the limit, and its ticket waits."""
    stage.script(work=[{"limit": "five_hour", "reset_in": 3000}], account="anna")
    assert stage("work", "shop", "1", "--post").code == 0
    stage.script(work=[answer()], resume=[answer()], account="anna")
    return stage


def test_a_cycle_starts_nothing_while_held(held: Stage) -> None:
    before = held.store()
    for words in ((), ("--dry-run",)):
        done = held("cycle", "--post", *words)
        assert done.code == 5
        [line] = done.lines
        assert line.startswith("work: REFUSED — nothing is started: usage limit reached until 20")
    assert held.store() == before
    assert len(held.runs) == 1
    held.script(work=[answer()], account="berta")
    assert held("cycle", "--post").code == 0, "another account"
    assert moves(held, Ref("barn", 1)) == ["progress", "review"]


def test_one_look_says_what_its_own_session_met(stage: Stage) -> None:
    stage.script(work=[{"limit": "five_hour", "reset_in": 3000}], account="anna")
    done = stage("run", "--once")
    [limit] = [line for line in done.lines if line.startswith("LIMIT: ")]
    assert limit.startswith("LIMIT: usage limit reached — starts paused until 20")
    assert limit.endswith(" hit it")
    assert done.lines.index(limit) == len(done.lines) - 2, "before the last line"


@pytest.mark.parametrize("words", [(), ("--reserve", "100", "--week-limit", "100")])
def test_a_loop_without_a_login_says_so(stage: Stage, words: tuple[str, ...]) -> None:
    before = stage.store()
    program = stage.cwd / "claude"
    program.write_text(f"#!/bin/sh\ntouch {stage.cwd}/asked\necho '2.1.328 (Claude Code)'\n")
    program.chmod(0o755)
    own = {"COLONY_AGENT": "claude", "COLONY_CLAUDE": str(program)}
    how = f"{program} has no login (looked in {stage.cwd.parent}/.claude): set ANTHROPIC_API_KEY or"
    done = stage("run", "--once", *words, **own, COLONY_QUOTA_CLAUDE=str(program))
    [limit] = [line for line in done.lines if line.startswith("LIMIT: ")]
    said = "LIMIT: the coding agent is not logged in — nothing is started until it is: "
    assert limit.startswith(said + how)
    [look] = [line for line in done.lines if line.startswith("ITER ")]
    assert "shop#1 (" in look.partition(" waiting: ")[2]
    assert ("no login → no start" in look) is (not words)
    assert (stage.runs, stage.store()) == ([], before)
    assert not (stage.cwd / "asked").exists(), "there is nobody to ask"
    assert f"wait shop#1: {program} has no login" in stage("run", "--dry-run", *words, **own).out


def test_a_cycle_goes_on_with_nothing_while_held(held: Stage) -> None:
    """Its own pause is over, and its account is held longer."""
    record = held.record()
    record["parks"][0]["resumeMs"] = 1
    (held.run / "session.json").write_text(json.dumps(record))
    done = held("cycle", "--post")
    assert done.code == 5
    assert done.lines[0].startswith("work: REFUSED — nothing is started: usage limit reached")
    assert len(held.record()["parts"]) == 1


def test_who_uses_another_account_is_not_held(held: Stage) -> None:
    held.register("bank", agent="claude")
    held.ticket(project="bank", subject="A third")
    out = held("explain", "bank", "1", ANTHROPIC_API_KEY="a key").out
    assert "usage limit" not in out


def test_explain_names_what_holds(held: Stage) -> None:
    lines = held("explain", "barn", "1").lines
    assert lines[0].startswith("EXPLAIN barn#1 is not started: usage limit reached until 20")
    assert lines[1].endswith("— start it all the same: colony work barn 1 --post")
    held.script(account="berta")
    assert "  for: nothing holds its account" in held("explain", "barn", "1").lines
    held.script()
    assert "account" not in held("explain", "barn", "1").out, "none is needed"


def test_by_hand_it_is_said_and_started(held: Stage) -> None:
    done = held("work", "barn", "1", "--post")
    assert done.code == 0
    assert "usage limit reached until " in done.err
    assert "barn#1 is started as you asked" in done.err
    assert moves(held, Ref("barn", 1)) == ["progress", "review"]
    assert "usage limit" not in held("work", "shop", "1").err, "it has been answered since"


def test_an_answer_is_on_record_while_the_session_runs(stage: Stage) -> None:
    """Those that wait for the account to be tried need not wait for the end of the work."""
    record = f"{stage.home}/runs/$COLONY_SESSION/session.json"
    looks = (
        f"""for i in $(seq 400); do grep -q '"answered": *true' {record} && echo seen && exit;"""
    )
    stage.script(work=[{"run": f"{looks} sleep 0.05; done"}, answer()], account="anna")
    assert stage("work", "shop", "1").code == 0
    stream = (stage.run / "parts/1-work/stream.jsonl").read_text()
    assert '"content": "seen' in stream


def spent(stage: Stage, days_ago: int = 0) -> None:
    """`shop#1` was worked on, for $0.03."""
    assert stage("work", "shop", "1", "--post").code == 0
    record: dict[str, Any] = stage.record()
    assert sum(part["costUsd"] for part in record["parts"]) == pytest.approx(0.03)
    for part in record["parts"]:
        part["endedMs"] -= days_ago * DAY_MS
    (stage.run / "session.json").write_text(json.dumps(record))


@pytest.mark.parametrize(("limit", "reached"), [("0.02", True), ("0.05", False)])
def test_a_day_that_has_cost_enough(stage: Stage, limit: str, reached: bool) -> None:
    spent(stage)
    words = ("--max-cost-per-day", limit)
    told = f"spent $0.03 of ${limit} today"
    lines = ran(stage, *words)
    [line] = [each for each in lines if each["kind"] == "iter"]
    assert told in line["text"]
    assert line["day"] == {"spentUsd": 0.03, "limitUsd": float(limit)}
    assert line["waiting"].get("barn#1") == ("day" if reached else None)
    assert len(stage.runs) == (1 if reached else 2)
    if reached:
        done = stage("cycle", *words)
        assert done.code == 5
        assert f"nothing is started: {told} until 20" in done.lines[0]
        assert f"is not started: {told} until 20" in stage("explain", "barn", "1", *words).out
        assert "raise COLONY_MAX_COST_PER_DAY" in stage("explain", "barn", "1", *words).out
        assert told in stage("work", "barn", "1", *words).err


def ran(stage: Stage, *words: str) -> list[dict[str, Any]]:
    done = stage("run", "--once", "--json", *words)
    for each in done.objects:
        LINES.validate(each)
    return done.objects


def test_what_yesterday_cost_holds_nothing(stage: Stage) -> None:
    spent(stage, days_ago=1)
    assert stage("cycle", "--post", "--max-cost-per-day", "0.02").code == 0
    assert moves(stage, CART) == ["progress", "review"]
    assert moves(stage, Ref("barn", 1)) == ["progress", "review"]
