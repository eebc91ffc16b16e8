"""`colony cycle`.

| rule | test |
|---|---|
| next, work, check, post; cost; how it ended | test_one_ticket_from_the_queue_to_review |
| the oldest of this host; other hosts' are listed | test_tickets_of_other_hosts_are_left_to_them |
| nothing to do | test_nothing_to_do |
| --dry-run stops before the lease | test_a_dry_run_writes_nothing |
| without --post: not posted | test_without_post_the_result_is_kept |
| how a cycle can end | test_the_last_line_says_how_it_ended |
| options go to the work | test_options_go_to_the_work |
| one ticket a cycle | test_one_ticket_a_cycle |
| questions of projects are not filed by it | test_it_asks_about_no_project |
| a question is never taken | test_a_question_is_never_taken |
| an interrupted session goes on first | test_an_interrupted_session_goes_on_before_anything_new |
| refused, nothing written | test_what_is_refused |
| --json | test_json_says_the_same |
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from colony.core.ticket import Ref
from tests.cli.stage import (
    LIE,
    Stage,
    a_cart,
    answer,
    first_words,
    timeless,
    told,
    valid,
    verdict,
)

ONE = Ref("shop", 1)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return a_cart(tmp_path)


def test_one_ticket_from_the_queue_to_review(stage: Stage) -> None:
    done = stage("cycle", "--post")
    assert done.code == 0
    assert first_words(done) == [
        "NEXT:", "work: LEASED", "work: PART", "USAGE:", "REPORT OK", "controller: PART",
        "CONTROLLER USAGE:", "VERDICT: PASS", "POSTED", "POSTED", "WORK DONE", "CYCLE COST:",
        "CYCLE END",
    ]  # fmt: skip
    assert done.lines[-2] == "CYCLE COST: $0.0300 (worker $0.0100 + controller $0.0200)"
    assert done.lines[-1] == "CYCLE END — shop#1: posted"
    assert stage.row(ONE).state == "review"
    assert [line for line in done.err.splitlines() if "WARNING" in line] == [done.error]


def test_tickets_of_other_hosts_are_left_to_them(stage: Stage) -> None:
    stage.move(ONE, "done")
    stage.register("away", dev={"folder": "/srv/away", "host": "elm"})
    stage.ticket("away")
    before = stage.store()
    done = stage("cycle", "--post")
    assert done.code == 0
    assert "its dev folder is on elm, this is here" in done.out
    assert done.lines[-1] == "CYCLE — nothing to do"
    assert stage.store() == before
    stage.ticket(subject="Ours")
    assert stage("cycle", "--dry-run").lines[-1] == "CYCLE DRY RUN — shop#2"


def test_nothing_to_do(stage: Stage) -> None:
    stage.move(ONE, "review")
    done = stage("cycle", "--post")
    assert (done.code, first_words(done)) == (0, ["NEXT:", "CYCLE —"])
    assert not stage.runs
    assert valid_lines(stage, "cycle", "--post")[-1]["kind"] == "cycle.nothing"


def valid_lines(stage: Stage, *words: str) -> list[dict[str, Any]]:
    return [each for each in valid(stage(*words, "--json")) if each["kind"] != "warning"]


def test_a_dry_run_writes_nothing(stage: Stage) -> None:
    before = stage.store(), sorted(stage.home.rglob("*"))
    done = stage("cycle", "--post", "--dry-run")
    assert (done.code, first_words(done)) == (0, ["NEXT:", "work: DRY RUN", "CYCLE DRY RUN"])
    assert (stage.store(), sorted(stage.home.rglob("*"))) == before


def test_without_post_the_result_is_kept(stage: Stage) -> None:
    done = stage("cycle")
    assert done.code == 0
    assert done.lines[-1] == "CYCLE END — shop#1: verdict pass, not posted"
    assert stage.row(ONE).state == "progress"
    held = stage("cycle")
    assert held.lines[-1] == "CYCLE — nothing to do"
    assert f"leased by session {stage.run.name} on here" in held.out


LEFT = answer(complete=False, open=["wheels"])
ENDS = {
    "half done": ({"work": [LEFT]}, 0, []),
    "sent back": ({"work": [LIE]}, 1, []),
    "question": ({"work": [LIE]}, 1, ["--max-fails", "1"]),
    "no valid report": ({"work": [{"say": "hm"}]}, 1, []),
    "given back": ({"work": [{"error": "no", "status": 404, "word": "model_not_found"}]}, 4, []),
    "parked": ({"work": [{"limit": "five_hour"}]}, 0, []),
}


@pytest.mark.parametrize("how", ENDS)
def test_the_last_line_says_how_it_ended(stage: Stage, how: str) -> None:
    script, code, words = ENDS[how]
    stage.script(**script)
    done = stage("cycle", "--post", *words)
    assert done.code == code, done
    assert done.lines[-1] == f"CYCLE END — shop#1: {how}"
    assert re.match(r"CYCLE COST: \$0\.\d{4} \(worker \$0\.\d{4} \+ ", done.lines[-2])


def test_a_fail_that_is_not_posted(stage: Stage) -> None:
    stage.script(work=[answer()], check=[verdict("fail", "false")])
    done = stage("cycle")
    assert (done.code, done.lines[-1]) == (1, "CYCLE END — shop#1: verdict fail, not posted")


def test_options_go_to_the_work(stage: Stage) -> None:
    done = stage("cycle", "--model", "haiku", "--max-turns", "7", "--controller-max-turns", "3")
    [worker] = [line for line in done.lines if line.startswith("work: PART")]
    assert "(haiku) · up to 7 steps" in worker
    [controller] = [line for line in done.lines if line.startswith("controller: PART")]
    assert "up to 3 steps" in controller


def test_one_ticket_a_cycle(stage: Stage) -> None:
    stage.ticket(subject="Another")
    stage("cycle", "--post")
    assert [ticket.state for ticket in stage.rows()] == ["review", "open"]
    assert stage("cycle", "--post").lines[-1] == "CYCLE END — shop#2: posted"


def test_it_asks_about_no_project(stage: Stage) -> None:
    stage.move(ONE, "done")
    stage.ticket("unknown")
    before = stage.store()
    assert stage("cycle", "--post").lines[-1] == "CYCLE — nothing to do"
    assert stage.store() == before


def test_a_question_is_never_taken(stage: Stage) -> None:
    stage.move(ONE, "done")
    for state in ("open", "reopened", "pending"):
        question = stage.ticket(subject=f"Question: {state}?")
        if state != "open":
            stage.move(question, state)
    before = stage.store()
    assert stage("cycle", "--post").lines[-1] == "CYCLE — nothing to do"
    assert stage.store() == before


@pytest.mark.parametrize(
    ("words", "code", "told_of"),
    [
        (["--ports", "x"], 2, "--ports x: must be a range"),
        (["--permission-mode", "bypassPermissions"], 3, "never"),
        (["--agent", "claude", "--claude", "/bin/cat"], 4, "work: REFUSED — "),
        (["--stand-in-script", "nowhere.json"], 4, "work: REFUSED — "),
        (["--home", "nowhere"], 4, "work: REFUSED — "),
    ],
)
def test_what_is_refused(stage: Stage, words: list[str], code: int, told_of: str) -> None:
    before = stage.store()
    done = stage("cycle", "--post", *words)
    assert done.code == code
    assert told_of in (done.out + done.err).splitlines()[-1] or told_of in done.lines[-1]
    assert (stage.store(), stage.runs) == (before, [])


def test_json_says_the_same(stage: Stage) -> None:
    text = stage("cycle", "--post")
    stage.ticket(subject="A cart")
    objects = valid_lines(stage, "cycle", "--post")
    shown = [line for line in timeless(told(objects)) if "in all:" not in line]
    assert shown == [line for line in timeless(text.lines) if "in all:" not in line]
    cost, end = objects[-2:]
    assert (cost["costUsd"], cost["workerUsd"], cost["controllerUsd"]) == (0.03, 0.01, 0.02)
    assert (end["outcome"], end["ticket"]) == ("posted", "shop#2")


def test_an_interrupted_session_goes_on_before_anything_new(stage: Stage) -> None:
    stage.script(work=[{"hang": True}])
    running = stage.start("cycle", "--post")
    assert running.stdout is not None
    next(line for line in running.stdout if line.startswith("work: PART"))
    running.terminate()
    out, err = running.communicate(timeout=30)
    assert (running.returncode, out.splitlines()[-1]) == (0, "CYCLE END — shop#1: parked"), err
    assert [line for line in out.splitlines() if line.startswith("PARKED — shop#1")]
    left = stage.run.name
    stage.ticket(subject="Another")
    assert stage("cycle", "--dry-run").lines[-1].endswith(f"would go on with session {left}")
    stage.script(work=[answer()])
    done = stage("cycle", "--post")
    assert done.lines[0].startswith(f"work: AGAIN — shop#1 goes on with session {left}")
    assert done.lines[-1] == "CYCLE END — shop#1: posted"
    assert stage("cycle", "--post").lines[-1] == "CYCLE END — shop#2: posted"
