"""A real session that was stopped, or died, is taken up: it remembers, and it is counted once."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.acceptance.conftest import Colony, carriers, marked, until
from tests.acceptance.model import Model, Turn, bash, report, texts, verdict, waiting
from tests.acceptance.test_unhappy_ends import TOKEN

pytestmark = pytest.mark.real_claude

PRICE_USD = 0.0004
"""What one answer of the model server costs."""
FIRST = bash("echo 370 > total.txt; echo the-first-saw-$((40 + 2))")
SEEN = "the-first-saw-42"


def goes_on(*before: Turn) -> list[Turn]:
    """These turns; then the report, whatever words the program closes an interruption with."""
    return [*before, bash("true"), bash("true"), report()]


def answers(model: Model) -> int:
    """How often a model answered with something that costs."""
    turns = [each["turn"] for each in model.stub.requests if each["method"] == "POST"]
    return sum(not {"status", "limit", "hang"} & each.keys() for each in turns)


def told_usd(real: Colony) -> float:
    """What the parts cost together. The program writes the cost of a run down as it ends: after a
    SIGTERM it is in the next run's total, after a SIGKILL it is lost."""
    return float(sum(part["costUsd"] for part in real.record()["parts"]))


def stop(
    real: Colony, flag: Path | None, process: subprocess.Popen[bytes], how: signal.Signals
) -> float:
    """Seconds until the process is gone and nothing of the session runs."""
    began = time.monotonic()
    process.send_signal(how)
    process.wait(timeout=30)
    [run] = real.runs
    until(lambda: not carriers(run.name) and not (flag and marked(str(flag))), 3)
    return time.monotonic() - began


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_in_the_middle_of_a_command(
    real: Colony, model: Model, tmp_path: Path, how: signal.Signals
) -> None:
    flag = real.project / "flag"
    model.plays("work", goes_on(FIRST, bash(waiting(flag))))
    model.plays("check", [verdict()])
    process = real.hang(flag, "work", "shop", "1", "--post")
    real.remembers(str(flag))
    assert stop(real, flag, process, how) < 3
    assert ("colony-parked:" in real.history()) is (how == signal.SIGTERM)
    assert real.state() == "progress"

    done = real("work", "shop", "1", "--post")
    assert done.code == 0, done
    assert real.state() == "review"
    assert real.history().count("colony-report:") == 1
    seen = next(
        each["messages"]
        for each in model.requests("work")
        if "# Go on with shop#1" in texts(each["messages"])
    )
    assert SEEN in texts(seen)
    assert len(model.begun["work"]) == 1, "one conversation"
    lost = 0 if how == signal.SIGTERM else 2
    assert told_usd(real) == pytest.approx(PRICE_USD * (answers(model) - lost))
    read = sum(part["usage"]["inputTokens"] for part in real.record()["parts"])
    assert read == 100 * answers(model), "what was streamed is counted all the same, and once"
    assert "at least $" in real.history()


def test_before_the_first_answer(real: Colony, model: Model) -> None:
    model.plays("work", [{"hang": 60}])
    model.plays("check", [verdict()])
    process = real.start("work", "shop", "1", "--post")
    until(lambda: model.requests("work"), 60)
    assert stop(real, None, process, signal.SIGTERM) < 3
    assert "colony-parked:" in real.history()
    model.plays("work", [FIRST, FIRST, report()])
    done = real("work", "shop", "1", "--post")
    assert done.code == 0, done
    assert real.state() == "review"
    assert len(model.begun["work"]) == 1, "one conversation"
    assert SEEN in texts(model.requests("work")[-1]["messages"])
    assert told_usd(real) == pytest.approx(PRICE_USD * answers(model))


def test_a_limit_is_waited_out(real: Colony, model: Model) -> None:
    limit: Turn = {"limit": "five_hour", "reset_in": 7200}
    model.plays("work", [FIRST, limit])
    model.plays("check", [verdict()])
    assert real("work", "shop", "1", "--post", **TOKEN).code == 0
    asked = len(model.requests("work"))
    early = real("run", "--once", **TOKEN)
    assert early.code == 0, early
    assert len(model.requests("work")) == asked, "nothing is asked before the reset"

    [run] = real.runs
    model.plays("work", goes_on(FIRST))
    assert real("resume", run.name).code == 0
    done = real("work", "shop", "1", "--post", **TOKEN)
    assert done.code == 0, done
    assert real.state() == "review"
    assert SEEN in texts(model.requests("work")[-1]["messages"])
    assert len(model.begun["work"]) == 1
    assert told_usd(real) == pytest.approx(PRICE_USD * answers(model))


def told_afresh(real: Colony, model: Model) -> None:
    """The second conversation is told that it is one, once; the record says why."""
    parts = [part for part in real.record()["parts"] if part["kind"] == "work"]
    assert parts[-2]["ended"] == "poisoned", parts
    assert not parts[-1]["resumes"]
    assert len(model.begun["work"]) == 2
    fresh = texts(model.requests("work")[-1]["messages"])
    assert fresh.count("an earlier start of this very session was interrupted") == 1
    assert "# Go on with" not in fresh
    assert real.state() == "review"


def test_a_conversation_that_is_gone(real: Colony, model: Model, tmp_path: Path) -> None:
    flag = real.project / "flag"
    model.plays("work", [FIRST, bash(waiting(flag))], goes_on(FIRST))
    model.plays("check", [verdict()])
    process = real.hang(flag, "work", "shop", "1", "--post")
    stop(real, flag, process, signal.SIGTERM)
    [run] = real.runs
    shutil.rmtree(run / "agent" / "projects")
    done = real("work", "shop", "1", "--post")
    assert done.code == 0, done
    told_afresh(real, model)


def test_a_conversation_that_is_refused(real: Colony, model: Model) -> None:
    refusal: Turn = {"status": 400, "message": "messages.1: the thinking block is not signed"}
    model.plays("work", [FIRST, refusal], goes_on(FIRST))
    model.plays("check", [verdict()])
    done = real("work", "shop", "1", "--post")
    assert done.code == 0, done
    told_afresh(real, model)


def test_silence_is_ended_and_the_report_asked_for(real: Colony, model: Model) -> None:
    model.plays("work", [FIRST, {"hang": 60}])
    model.plays("check", [verdict()])
    process = real.start("work", "shop", "1", "--post", "--stall-seconds", "2")
    until(lambda: len(model.requests("work")) == 2, 60)
    model.plays("work", [report()])
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, (out, err)
    kinds = [(part["kind"], part["ended"]) for part in real.record()["parts"]]
    assert kinds == [("work", "stalled"), ("finalize", "report"), ("check", "report")]
    assert SEEN in texts(model.requests("work")[-1]["messages"])
    assert real.state() == "review"
