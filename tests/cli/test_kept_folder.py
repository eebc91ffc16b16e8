"""A session that is parked keeps its dev folder: what the verbs say of it, and do.

| rule | test |
|---|---|
| `--dry-run` refuses what the real call refuses | test_a_dry_run_refuses_what_the_call_refuses |
| `--dry-run` of a ticket with a parked session: it would go on | test_a_dry_run_tells_of_going_on |
| `--dry-run` warns as the real call does | test_a_dry_run_warns_of_the_account |
| `cycle` passes over tickets of a kept folder | test_a_cycle_passes_over_a_kept_folder |
| so does `explain`, with reason and remedy apart | test_explain_passes_over_a_kept_folder |
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.stage import CART, Stage, a_cart, answer, valid


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """shop#1 is parked in the dev folder until much later, shop#2 and bank#1 are new; bank#1 is
    the youngest."""
    stage = a_cart(tmp_path)
    stage.script(work=[{"limit": "five_hour"}], resume=[answer()])
    assert stage("work", "shop", "1", "--post").code == 0
    assert stage.record()["parks"]
    stage.script(work=[answer()], resume=[answer()])
    stage.ticket(subject="A lamp")
    stage.register("bank")
    stage.ticket("bank", subject="A safe")
    return stage


def test_a_dry_run_refuses_what_the_call_refuses(stage: Stage) -> None:
    before = stage.store()
    real = stage("work", "shop", "2", "--post")
    assert (real.code, stage.store()) == (5, before)
    dry = stage("work", "shop", "2", "--dry-run")
    assert (dry.code, dry.lines[-1]) == (5, real.lines[-1])
    assert f"session {stage.run.name} (shop#1) is parked in " in dry.lines[-1]


def test_a_dry_run_tells_of_going_on(stage: Stage) -> None:
    before = stage.store()
    dry = stage("work", "shop", "1", "--dry-run")
    assert (dry.code, dry.lines[-1]) == (
        0, f"work: DRY RUN — shop#1 would go on with session {stage.run.name} (parked)",
    )  # fmt: skip
    assert stage.store() == before
    assert stage("work", "shop", "1", "--post").code == 0
    assert stage.row(CART).state == "review"


def test_a_dry_run_warns_of_the_account(stage: Stage) -> None:
    assert stage("work", "bank", "1", "--post").code == 0
    stage.ticket("bank", subject="A door")
    for word, done in (("--dry-run", "would be started all the same"), ("--post", "is started")):
        told = stage("work", "bank", "2", word, COLONY_MAX_COST_PER_DAY="0.001")
        assert told.code == 0
        assert f"the loop would start nothing now; bank#2 {done}" in told.err


def test_a_cycle_passes_over_a_kept_folder(stage: Stage) -> None:
    waits = f"shop#2 waits: session {stage.run.name} (shop#1) is parked in its dev folder"
    dry = stage("cycle", "--dry-run")
    assert (dry.code, dry.lines[-1]) == (0, "CYCLE DRY RUN — bank#1")
    assert waits in dry.out
    done = stage("cycle", "--post")
    assert (done.code, done.lines[-1]) == (0, "CYCLE END — bank#1: posted")
    assert waits in done.out
    nothing = stage("cycle", "--post")
    assert (nothing.code, nothing.lines[-1]) == (0, "CYCLE — nothing to do")


def test_explain_passes_over_a_kept_folder(stage: Stage) -> None:
    assert stage("explain", "bank", "1").lines[0] == "EXPLAIN bank#1 would be started next"
    why = f"session {stage.run.name} (shop#1) is parked in its dev folder"
    assert stage("explain", "shop", "2").lines[0] == f"EXPLAIN shop#2 is not started: {why}"
    [answered, against, *_] = valid(stage("explain", "shop", "2", "--json"))
    assert (answered["answer"], answered["code"]) == ("not started", "busy")
    assert (against["reason"], against["remedy"]) == (
        why, f"colony resume {stage.run.name}, or colony stop {stage.run.name}",
    )  # fmt: skip
