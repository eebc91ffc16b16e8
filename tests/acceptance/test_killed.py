"""`kill -9` of `colony work` while the real program runs: nothing survives, nothing is lost."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.acceptance.conftest import Colony, carriers, marked, until
from tests.acceptance.model import Kind, Model, bash, report, verdict, waiting

pytestmark = pytest.mark.real_claude


TWICE = [bash("echo 370 > total.txt")] * 2
"""What a conversation goes on with: the program may close it with a word of its own first."""


@pytest.mark.parametrize("kind", ["work", "check"])
def test_the_next_start_goes_on(real: Colony, model: Model, tmp_path: Path, kind: Kind) -> None:
    flag = real.project / "flag"
    hangs = [bash(waiting(flag))]
    work = [bash("echo 370 > total.txt"), report()]
    check = [bash("cat total.txt"), verdict()]
    # The worker goes on in the same conversation, a controller begins a new one.
    model.plays("work", [*hangs, *TWICE, report()] if kind == "work" else work)
    model.plays("check", *([hangs, check] if kind == "check" else [check]))

    process = real.hang(flag, "work", "shop", "1", "--post")
    [run] = real.runs
    assert carriers(run.name)
    process.send_signal(signal.SIGKILL)
    until(lambda: not carriers(run.name) and not marked(str(flag)), 5)
    assert real.state() == "progress"
    assert real.record()["parts"][-1]["process"]

    done = real("work", "shop", "1", "--post")
    assert done.code == 0, done
    assert done.lines[0].startswith(f"work: AGAIN — shop#1 goes on with session {run.name}")
    assert done.lines[-1].startswith("WORK DONE — shop#1")
    assert real.runs == [run]
    shown = real.shown()
    said = "\n".join(each["text"] for each in shown)
    assert shown[0]["state"] == "review"
    assert said.count("colony-report:") == 1
    assert said.count("colony-lease:") == 1, "the lease outlived the process"
    assert "at least $" in said
    parts = real.record()["parts"]
    kinds = {"work": ["work", "work", "check"], "check": ["work", "check", "check"]}
    assert [part["kind"] for part in parts] == kinds[kind]
    killed = next(part for part in parts if not part["costKnown"])
    assert (killed["kind"], killed["ended"]) == (kind, "crashed")
    assert killed["usage"]["inputTokens"] == 100, "what was streamed is counted"

    # What has ended is not begun again, and nothing is posted twice.
    assert real("work", "shop", "1", "--post").code == 3
    assert real("check", str(run), "--post").code == 0
    assert real.history().count("colony-report:") == 1


def test_a_stop_in_order_can_be_gone_on_with(real: Colony, model: Model, tmp_path: Path) -> None:
    flag = real.project / "flag"
    model.plays("work", [bash(waiting(flag)), *TWICE, report()])
    model.plays("check", [bash("cat total.txt"), verdict()])
    process = real.hang(flag, "work", "shop", "1", "--post")
    second = real("work", "shop", "1", "--post")
    assert second.code == 5, second
    assert "leased by session" in second.lines[-1]
    process.terminate()
    out, err = process.communicate(timeout=30)
    [run] = real.runs
    assert process.returncode == 0, err
    assert f"session {run.name} is kept: colony work shop 1 goes on" in out.decode()
    assert not carriers(run.name)
    assert real.state() == "progress"
    done = real("work", "shop", "1", "--post")
    assert done.code == 0, done
    assert real.runs == [run]
    assert real.history().count("colony-report:") == 1
