"""A coding agent that dies: what is said of why, and what becomes of the queue.

| rule | test |
|---|---|
| its last words stand in the last line and in `sessions`, `tail` | test_why_it_broke_off_is_told |
| `SESSION END` says how the work ended | test_the_end_of_a_session_says_how |
| a script that cannot be played is refused before the start | test_a_broken_script_is_refused |
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.stage import CART, Stage, a_cart, moves

DIES = {"sleep": "never"}
"""No number of seconds: the stand-in dies of it, and its standard error says so."""
WHY = "crashed: ValueError: could not convert string to float: 'never'"


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return a_cart(tmp_path)


def test_why_it_broke_off_is_told(stage: Stage) -> None:
    stage.script(work=[DIES])
    done = stage("work", "shop", "1", "--post", "--crash-resumes", "0")
    assert done.lines[-1] == f"WORK FAILED — shop#1 is open again: {WHY}"
    assert f"ended: {WHY.replace(':', ' —', 1)}" in done.out
    assert f"part 1 work by stand-in (sonnet): {WHY} · " in stage("sessions", stage.run.name).out
    assert f" ended: {WHY} · " in stage("tail", stage.run.name, "--all").out
    stage.script(work=[{"exit": 3}])
    done = stage("work", "shop", "1", "--post", "--crash-resumes", "0")
    assert done.lines[-1] == "WORK FAILED — shop#1 is open again: crashed: exit status 3"


def test_the_end_of_a_session_says_how(stage: Stage) -> None:
    stage.script(work=[DIES])
    out = stage("run", "--once", "--crash-resumes", "0").out
    assert f"{stage.run.name} · given back ({WHY}) · cost " in out


def test_a_broken_script_is_refused(stage: Stage) -> None:
    before = stage.store()
    stage.script(work=[{"walk": 1}])
    done = stage("work", "shop", "1", "--post")
    assert (done.code, stage.store()) == (4, before)
    assert ": work[0]: not exactly one known action (known: answer, " in done.lines[-1]
    assert done.lines[-1].startswith("work: REFUSED — the stand-in's script cannot be played: ")
    doctor = stage("doctor")
    assert doctor.code == 1
    assert "FAIL agent stand-in — the stand-in's script cannot be played: " in doctor.out
    assert moves(stage, CART) == []
