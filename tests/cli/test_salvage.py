"""`colony salvage`: missions 025 and 026, with the real program."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.cli.looping import Gate, end_sessions
from tests.cli.stage import CART, Stage, a_cart, answer, moves

SHORT = {"repeat": 9, "actions": [{"say": "hm"}]}
"""What a worker does that runs out of three steps."""


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return a_cart(tmp_path)


def ran_out(stage: Stage) -> Path:
    """A session that ended without a report, as if there had been no step for it."""
    stage.script(work=[SHORT])
    words = ["--max-turns", "3", "--finalize-max-turns", "0"]
    done = stage("work", "shop", "1", "--post", *words)
    assert done.code == 1, done
    assert stage.row(CART).state == "open"
    return stage.run


def test_the_report_is_written_checked_and_posted(stage: Stage) -> None:
    run = ran_out(stage)
    before = stage.record(run)
    stage.script(finalize=[answer(complete=False, open=["the wheels"])])
    done = stage("salvage", str(run), "--post")
    assert done.code == 0, done
    assert done.lines[-3].startswith("SALVAGE HALF DONE — shop#1")
    assert done.lines[-2].startswith("SALVAGE COST: finalize $0.0")
    assert "(the worker before: $0.0300; whole session now $" in done.lines[-2]
    assert done.lines[-1] == "SALVAGE END — shop#1: half done"
    assert moves(stage) == ["progress", "open", "progress", "open"]
    assert "· salvage ·" in stage.texts(CART)
    parts = stage.record(run)["parts"]
    assert [part["kind"] for part in parts] == ["work", "finalize", "check"]
    assert parts[1]["agentSession"] == parts[0]["agentSession"]
    assert parts[0] == before["parts"][0], "what was is as it was"
    assert "was stopped before it could report" in (run / "controller-prompt.md").read_text()


def test_a_complete_one_goes_to_its_creator(stage: Stage) -> None:
    run = ran_out(stage)
    stage.script(finalize=[answer()])
    done = stage("salvage", str(run), "--post")
    assert done.lines[-3].startswith("SALVAGE DONE — shop#1")
    assert stage.row(CART).state == "review"
    assert stage.texts(CART).count("colony-report:") == 1


def test_no_report_gives_the_ticket_back_for_the_workers_reason(stage: Stage) -> None:
    run = ran_out(stage)
    stage.script(finalize=[{"say": "no"}])
    done = stage("salvage", str(run), "--post")
    assert done.code == 1
    assert done.lines[-3].startswith("SALVAGE FAILED — shop#1")
    assert moves(stage) == ["progress", "open", "progress", "open"]
    assert stage.texts(CART).count("reason out of steps") == 2
    again = stage("salvage", str(run), "--post")
    assert again.code == 3
    assert again.lines[-1].startswith("salvage: REFUSED — ")
    assert "already" in again.lines[-1]


def test_without_post_it_is_kept_and_posted_later(stage: Stage) -> None:
    run = ran_out(stage)
    stage.script(finalize=[answer()])
    done = stage("salvage", str(run))
    assert done.code == 0
    assert done.lines[-3].startswith("SALVAGE OK — ")
    assert done.lines[-1] == "SALVAGE END — shop#1: not posted"
    assert stage.row(CART).state == "progress"
    assert stage("check", str(run), "--post").code == 0
    assert stage.row(CART).state == "review"


REFUSED = {
    "ended well": ([answer()], [], "has ended with a report: posted"),
    "gave no report": ([{"say": "That is all."}], [], "did not run out of steps or time"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_be_salvaged_is_refused_and_nothing_is_written(stage: Stage, why: str) -> None:
    script, words, told = REFUSED[why]
    stage.script(work=script)
    stage("work", "shop", "1", "--post", "--finalize-max-turns", "0", *words)
    before, record = stage.store(), stage.record()
    done = stage("salvage", str(stage.run), "--post")
    assert done.code == 3
    assert done.lines[-1].startswith("salvage: REFUSED — ")
    assert told in done.lines[-1]
    assert (stage.store(), stage.record()) == (before, record)


@pytest.mark.parametrize("state", ["review", "pending", "canceled", "done"])
def test_a_ticket_that_is_not_open_is_left_alone(stage: Stage, state: str) -> None:
    run = ran_out(stage)
    stage.move(CART, state)  # type: ignore[arg-type]
    before, record = stage.store(), stage.record()
    done = stage("salvage", str(run), "--post")
    assert done.code == 3
    assert f"shop#1 is {state}" in done.lines[-1]
    assert (stage.store(), stage.record()) == (before, record)


def test_no_step_and_no_folder_are_refused(stage: Stage) -> None:
    run = ran_out(stage)
    assert stage("salvage", str(run), "--finalize-max-turns", "0").code == 3
    assert stage("salvage", str(stage.home)).code == 3
    assert stage("salvage", str(stage.home / "none")).code == 3


def test_killed_in_the_middle_a_second_salvage_goes_on(stage: Stage, tmp_path: Path) -> None:
    run, gate = ran_out(stage), Gate(tmp_path)
    stage.script(finalize=[gate.wait, answer()])
    process = stage.start("salvage", str(run), "--post")
    gate.reached()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    end_sessions(stage)
    assert json.loads((run / "session.json").read_text())["parts"][-1]["ended"] is None
    gate.open()
    done = stage("salvage", str(run), "--post")
    assert done.code == 0, done
    assert stage.row(CART).state == "review"
    assert stage.texts(CART).count("· salvage ·") == 1
    assert stage.texts(CART).count("colony-report:") == 1
