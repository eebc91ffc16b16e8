"""Twenty tickets and a loop that is killed every few seconds: nothing is lost, nothing twice."""

from __future__ import annotations

import json
import random
import signal
import time
from pathlib import Path
from typing import Final

import pytest

from colony.core.ticket import Ref
from tests.cli.looping import carriers, loop, session_processes
from tests.cli.stage import Stage, answer, make_stage

PROJECTS: Final = ("shop", "barn", "mill", "yard")
TICKETS: Final = 5
"""Of each project."""
SEED: Final = 20
WITHIN_S: Final = 400.0


def posted(stage: Stage) -> list[Ref]:
    with stage.tracker() as tracker:
        return [row.ref for row in tracker.tickets() if row.state == "review"]


@pytest.mark.long
@pytest.mark.timeout(500)
@pytest.mark.parametrize("whom", ["loop", "loop and sessions"])
def test_twenty_tickets_and_a_loop_that_is_killed(tmp_path: Path, whom: str) -> None:
    stage = make_stage(tmp_path)
    diary = stage.cwd / "diary"
    wait = {"run": f"echo $COLONY_SESSION >> {diary}; sleep 0.3"}
    stage.script(work=[wait, answer()], resume=[wait, answer()])
    for name in PROJECTS:
        stage.register(name)
        for number in range(TICKETS):
            stage.ticket(project=name, subject=f"Part {number}")
    dice = random.Random(SEED)
    end = time.monotonic() + WITHIN_S
    # Each kill costs a session at most one of its tries; there are enough for this test.
    words = ["--parallel", "2", "--crash-resumes", "50", "--max-starts-per-hour", "0"]
    while len(posted(stage)) < len(PROJECTS) * TICKETS:
        assert time.monotonic() < end, posted(stage)
        if whom == "loop":
            process = stage.start("run", *words, "--interval", "1")
            time.sleep(dice.uniform(1.0, 3.0))
            process.send_signal(signal.SIGKILL)
            process.communicate()
        else:
            with loop(stage, *words):
                time.sleep(dice.uniform(1.0, 3.0))
    done = stage("run", "--once", *words)
    assert done.code == 0
    check(stage)


def check(stage: Stage) -> None:
    for name in PROJECTS:
        for number in range(1, TICKETS + 1):
            events = stage.events(Ref(name, number))
            texts = "\n".join(event.text for event in events)
            assert texts.count("colony-report:") == 1, texts
            assert texts.count("· started ·") == 1, texts
    assert len(stage.runs) == len(PROJECTS) * TICKETS, "one session a ticket"
    for run in stage.runs:
        record = stage.record(run)
        assert record["outcome"] == "posted"
        assert all(part["ended"] for part in record["parts"])
        accounts = (run / "agent" / "stand-in").glob("*.json")
        spent = sum(json.loads(file.read_text())["cost"] for file in accounts)
        counted = sum(part["costUsd"] for part in record["parts"])
        assert counted <= spent + 1e-9
        if all(part["costKnown"] for part in record["parts"]):
            assert counted == pytest.approx(spent)
    assert not session_processes(stage)
    assert not carriers(stage)
