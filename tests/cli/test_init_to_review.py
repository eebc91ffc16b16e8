"""The first minutes of a project: init, a ticket, next, work, the result, and what becomes of it.

| rule | test |
|---|---|
| each step prints what to do next, and that works | test_from_a_folder_to_an_accepted_result |
| a result that is sent back is worked again | test_sent_back_and_worked_again |
| a question is answered, and the work goes on | test_a_question_is_answered_and_the_work_goes_on |
| the same from an installed program, without a checkout | test_without_a_checkout |
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from colony.core.ticket import Ref
from tests.cli.conftest import ROOT
from tests.cli.stage import Stage, answer, first_words, make_stage

ONE = Ref("shop", 1)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = make_stage(tmp_path)
    (stage.cwd / "shop").mkdir()
    stage.script()
    assert stage("init", "shop").code == 0
    (stage.cwd / "shop/CONCEPT.md").write_text("# A shop that adds up\n")
    return stage


def test_from_a_folder_to_an_accepted_result(stage: Stage) -> None:
    assert stage("next").lines[-1] == '  write one: colony ticket new "…"'
    assert stage("ticket", "new", "A cart").code == 0
    hint = stage("next").lines[-1].partition("start it: colony ")[2]
    assert hint == "work shop 1 --post"
    assert stage("work", "shop", "1", "--dry-run").code == 0
    done = stage(*hint.split())
    assert (done.code, first_words(done)[-1]) == (0, "WORK DONE")
    note = stage.cwd / "shop/stand-in-shop-1.md"
    assert stage.run.name in note.read_text()
    shown = stage("ticket", "show", "shop", "1")
    assert "TICKET shop#1 review — A cart" in shown.out
    assert "1. Open stand-in-shop-1.md." in shown.out
    assert stage("ticket", "state", "shop", "1", "done").code == 0
    assert stage("next").lines == ["NEXT: nothing to do", "  in all: 1 done"]
    assert stage("leases").lines == ["LEASES: 0 in progress, 0 dead"]


def test_sent_back_and_worked_again(stage: Stage) -> None:
    stage("ticket", "new", "A cart")
    assert stage("cycle", "--post").code == 0
    assert stage("ticket", "state", "shop", "1", "reopened", "--text", "Too plain.").code == 0
    assert "rework" in stage("next").lines[0]
    assert stage("cycle", "--post").lines[-1] == "CYCLE END — shop#1: posted"
    assert (
        "Too plain."
        in (stage.runs[0] / "brief.md").read_text() + (stage.runs[1] / "brief.md").read_text()
    )
    assert stage("ticket", "state", "shop", "1", "done").code == 0


def test_a_question_is_answered_and_the_work_goes_on(stage: Stage) -> None:
    stage("ticket", "new", "A cart")
    asked = [{"title": "Which red?", "text": "Dark or light?"}]
    stage.script(work=[answer(complete=False, open=["the paint"], questions=asked)])
    assert stage("cycle", "--post").lines[-1] == "CYCLE END — shop#1: half done"
    assert "waits for the answer on shop#2" in stage("next").out
    assert stage("ticket", "answer", "shop", "2", "The dark one.").code == 0
    stage.script(work=[answer()])
    first = stage.run
    assert stage("cycle", "--post").lines[-1] == "CYCLE END — shop#1: posted"
    [second] = [run for run in stage.runs if run != first]
    assert "The dark one." in (second / "brief.md").read_text()


def test_without_a_checkout(tmp_path: Path) -> None:
    """As a wheel installs it: templates inside the package, no colony.sh beside it."""
    site = tmp_path / "site"
    shutil.copytree(ROOT / "colony", site / "colony", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "templates", site / "colony/templates")
    stage = make_stage(tmp_path)
    stage.environ |= {"PYTHONPATH": str(site), "XDG_STATE_HOME": str(tmp_path / "state")}
    del stage.environ["COLONY_HOME"]
    (stage.cwd / "shop").mkdir()
    assert stage("init", "shop").code == 0
    home = tmp_path / "state/colony"
    assert json.loads((home / "projects/shop.json").read_text())["name"] == "shop"
    assert stage("ticket", "new", "A cart").code == 0
    assert stage("cycle", "--post").lines[-1] == "CYCLE END — shop#1: posted"
    for verb in ("test", "bench"):
        refused = stage(verb, "-x", "--durations=3", "tests/core")
        assert (refused.code, refused.out) == (3, "")
        assert "needs a checkout of Colony" in refused.error
