"""A coding agent that dies: what is said of why, and what becomes of the queue.

| rule | test |
|---|---|
| its last words stand in the last line and in `sessions`, `tail` | test_why_it_broke_off_is_told |
| `SESSION END` says how the work ended | test_the_end_of_a_session_says_how |
| it is held, also where it needs no account, and said so once | test_it_is_held_for_all_tickets |
| it costs no attempt of the tickets that come after | test_it_costs_one_ticket_one_attempt |
| a script that cannot be played is refused before the start | test_a_broken_script_is_refused |
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.stage import CART, Stage, a_cart, answer, moves

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


def test_it_is_held_for_all_tickets(stage: Stage) -> None:
    stage.register("barn")
    barn = stage.ticket("barn", subject="A gate")
    stage.script(work=[DIES])
    first = stage("run", "--once")
    session = stage.run.name
    assert f"· started shop#1 ({session}" in first.out
    held = "the coding agent dies before it answers"
    again = stage("run", "--once")
    [said] = [line for line in again.lines if line.startswith("LIMIT: ")]
    assert said.startswith(f"LIMIT: {held} ({WHY.partition(': ')[2]}) — starts paused until ")
    assert said.endswith(f" · shop#1 {session} hit it · how: colony sessions {session}")
    assert [run.name for run in stage.runs] == [session]
    explained = stage("explain", "barn", "1").lines
    assert explained[0].startswith(f"EXPLAIN barn#1 is not started: {held} until ")
    assert "its last session died before it was answered" not in "".join(explained)
    assert held in stage("work", "barn", "1", "--dry-run").err
    stage.script(work=[answer()])
    assert stage("work", "barn", "1", "--post").code == 0
    assert stage.row(barn).state == "review"
    explained = stage("explain", "shop", "1").lines
    assert explained[0].startswith("EXPLAIN shop#1 is not started: its last session died before ")
    assert stage("run", "--once").out.count("waiting: shop#1 (its last session died before") == 1


def test_it_costs_one_ticket_one_attempt(stage: Stage) -> None:
    lamp = stage.ticket(subject="A lamp")
    stage.script(work=[DIES])
    once = {"COLONY_CRASH_RESUMES": "0", "COLONY_MAX_ATTEMPTS": "2"}
    assert stage("work", "shop", "1", "--post", **once).code == 1
    for _ in range(3):
        done = stage("work", "shop", "2", "--post", **once)
        assert done.lines[-1] == f"WORK FAILED — shop#2 is open again: {WHY}"
    assert "the coding agent does not run on its computer at the moment" in stage.texts(lamp)
    assert "WORK FAILED — shop#1 is open again" in stage("work", "shop", "1", "--post", **once).out
    assert len(stage.rows()) == 2, "nobody is asked"


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
