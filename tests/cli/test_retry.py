"""`colony retry`, and what a person sees of a ticket that was tried often enough.

| rule | test |
|---|---|
| 4 starts within an hour: it waits, and says until when | test_a_ticket_that_is_started_too_often |
| `work` is busy (5), `explain` names the remedy | same |
| 0: no limit | test_without_a_limit |
| starts and attempts count anew | test_retry_counts_anew |
| what is left to do where it is on hold | test_on_hold_it_says_what_is_left_to_do |
| an answered question lets it go on, and counts anew | test_an_answer_lets_it_go_on |
| done, canceled, not there, no tracker, usage | test_what_is_refused_writes_nothing |
| --json | test_json_says_the_same |
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from colony.core.markers import Retry, marker_of
from colony.core.relations import is_question
from colony.core.ticket import Ref
from tests.cli.stage import CART, Stage, a_cart, make_stage, moves, valid

SILENT = [{"exit": 0}]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = a_cart(tmp_path)
    stage.script(work=SILENT)
    return stage


def started(stage: Stage, times: int) -> None:
    """Leases of the last minutes that were given back."""
    stage.now_ms = round(time.time() * 1000) - 10 * 60_000
    for number in range(times):
        session = f"s-20260131T1819-{number:06x}"
        stage.lease(CART, stage.now_ms + 1000, session)
        stage.move(CART, "open", machine=True)


def test_a_ticket_that_is_started_too_often(stage: Stage) -> None:
    started(stage, 3)
    assert stage("next").lines[0].startswith("NEXT: shop#1 ")
    started(stage, 1)
    told = stage("next")
    assert "NEXT: shop#1" not in told.out
    assert "4 sessions within the last hour; again after " in told.out
    explained = stage("explain", "shop", "1")
    assert explained.lines[0].startswith("EXPLAIN shop#1 is not started: 4 sessions within")
    assert "colony retry shop 1" in explained.out
    before = stage.store()
    for words in (["work", "shop", "1", "--post"], ["work", "shop", "1", "--dry-run"]):
        refused = stage(*words)
        assert refused.code == 5
        assert "4 sessions within the last hour" in refused.out + refused.err
    assert stage("cycle", "--post").code == 0
    assert (stage.store(), stage.runs) == (before, [])


def test_without_a_limit(stage: Stage) -> None:
    started(stage, 9)
    assert stage("next").lines[0] != "NEXT: shop#1"
    assert stage("next", COLONY_MAX_STARTS_PER_HOUR="0").lines[0].startswith("NEXT: shop#1 ")
    assert stage("next", COLONY_MAX_STARTS_PER_HOUR="10").lines[0].startswith("NEXT: shop#1 ")


def test_retry_counts_anew(stage: Stage) -> None:
    started(stage, 4)
    done = stage("retry", "shop", "1")
    assert (done.code, done.err) == (0, "")
    assert done.lines == [
        "RETRY — shop#1: starts, attempts, half-done rounds and failed checks count anew"
    ]
    last = stage.events(CART)[-1]
    assert (last.kind, last.machine, last.author) == ("comment", True, "colony")
    assert isinstance(marker_of(last), Retry)
    assert stage("next").lines[0].startswith("NEXT: shop#1 ")
    for number in range(2):
        stage("work", "shop", "1", "--post", COLONY_MAX_ATTEMPTS="2")
        assert moves(stage)[-1] == ("open", "pending")[number]


def test_on_hold_it_says_what_is_left_to_do(stage: Stage) -> None:
    stage.move(CART, "pending")
    held = stage("retry", "shop", "1")
    assert held.code == 0
    assert held.lines[0].endswith("It is on hold: colony ticket state shop 1 open")
    assert stage.row(CART).state == "pending"
    stage.move(CART, "open")
    stage("work", "shop", "1", "--post", COLONY_MAX_ATTEMPTS="1")
    asked = stage("retry", "shop", "1")
    assert asked.lines[0].endswith('It waits for an answer: colony ticket answer shop 2 "…"')


def test_an_answer_lets_it_go_on(stage: Stage) -> None:
    for _ in range(2):
        done = stage("work", "shop", "1", "--post", COLONY_MAX_ATTEMPTS="2")
        assert done.code == 1
    assert "its creator is asked: shop#2" in done.lines[-1]
    question = stage.row(Ref("shop", 2))
    assert is_question(question)
    assert "2 attempts brought nothing" in question.subject
    assert "tried 2 times in a row" in question.summary
    answered = stage("ticket", "answer", "shop", "2", "Only the wheels, please.")
    assert (answered.code, stage.row(CART).state) == (0, "open")
    assert stage("next").lines[0].startswith("NEXT: shop#1 ")
    again = stage("work", "shop", "1", "--post", COLONY_MAX_ATTEMPTS="2")
    assert (again.code, stage.row(CART).state) == (1, "open")
    assert len(stage.rows()) == 2
    briefs = [(run / "brief.md").read_text() for run in stage.runs]
    assert sum("Only the wheels, please." in brief for brief in briefs) == 1
    assert sum("It was the last of 2 sessions so far." in brief for brief in briefs) == 1


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["shop", "9"], 3, "shop#9"),
        (["till", "1"], 3, "till#1"),
        (["shop", "0"], 2, "0"),
        (["shop", "x"], 2, "x"),
        (["shop"], 2, ""),
    ],
)
def test_what_is_refused_writes_nothing(
    stage: Stage, words: list[str], code: int, said: str
) -> None:
    before = stage.store()
    done = stage("retry", *words)
    assert done.code == code
    assert said in done.err
    assert (done.out, stage.store()) == ("", before)


@pytest.mark.parametrize("state", ["done", "canceled"])
def test_a_ticket_that_is_closed_is_not_tried(stage: Stage, state: str) -> None:
    stage("ticket", "state", "shop", "1", state)
    before = stage.store()
    done = stage("retry", "shop", "1")
    assert (done.code, done.error) == (3, f"ERROR shop#1 is {state}: there is nothing to try")
    assert stage.store() == before


def test_no_tracker_is_made(tmp_path: Path) -> None:
    stage = make_stage(tmp_path)
    done = stage("retry", "shop", "1")
    assert done.code == 4
    assert not stage.database.exists()


def test_json_says_the_same(stage: Stage) -> None:
    [line] = valid(stage("retry", "shop", "1", "--json"))
    assert (line["kind"], line["ticket"]) == ("retry", "shop#1")
