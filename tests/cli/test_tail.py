"""`colony tail`.

| rule | test |
|---|---|
| a running session, part after part, to its end | test_a_running_one_is_followed_to_its_end |
| one that has ended: its steps, its outcome, 0 | test_one_that_has_ended_is_told |
| the last 20 steps, or all | test_the_last_steps_or_all |
| Ctrl-C: 130; nobody reads any more: 0 | test_ctrl_c_ends_it, test_it_ends_with_its_reader |
| one that was interrupted says how it goes on | test_one_that_was_interrupted |
| streams that are none break nothing | test_what_is_no_stream_breaks_nothing |
| a session of another host, through the tracker | test_a_session_of_another_host_is_asked_for |
| by its ticket | test_a_tickets_session_is_found |
| --json: an object a step | test_one_that_has_ended_is_told |
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from colony.core.records import SessionRecord
from colony.core.ticket import Ref
from tests.cli.stage import OTHER, SESSION, Stage, answer, make_stage, told, valid

ONE = Ref("shop", 1)
SAYS = {"say": "I look \x1b[31mround\u2028 TAIL forged"}
WAITS = {"run": "cat gate"}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = make_stage(tmp_path)
    stage.register("shop")
    stage.ticket()
    os.mkfifo(stage.cwd / "dev-shop" / "gate")
    return stage


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """One session of shop#1 that was posted. No test changes it."""
    stage = make_stage(tmp_path_factory.mktemp("tail"))
    stage.register("shop")
    stage.ticket()
    runs = [{"run": f"echo step {at}"} for at in range(25)]
    stage.script(work=[SAYS, *runs, answer()])
    assert stage("work", "shop", "1", "--post").code == 0
    return stage


def test_test_credentials_are_masked(worked: Stage) -> None:
    """Those that can be read: a file that is missing stops nothing."""
    registered = worked.home / "projects" / "shop.json"
    before = registered.read_text()
    secret = worked.home / "secret"
    secret.write_text("step 24\n")
    secret.chmod(0o600)
    env = {"SHOP_PASS": f"file:{secret}", "GONE": f"file:{worked.home}/gone"}
    registered.write_text(json.dumps(json.loads(before) | {"env": env}))
    try:
        shown = worked("tail", worked.run.name, "--all")
    finally:
        registered.write_text(before)
    assert shown.code == 0
    assert "echo [SHOP_PASS]" in shown.out
    assert "step 24" not in shown.out and "step 23" in shown.out


def open_gate(stage: Stage) -> None:
    """Let the agent go on that waits for it."""
    (stage.cwd / "dev-shop" / "gate").write_text("open\n")


@contextmanager
def at_the_gate(stage: Stage, *after: dict[str, object]) -> Iterator[subprocess.Popen[str]]:
    """A session that waits in the middle of its first part."""
    stage.script(work=[SAYS, {"run": "echo one"}, WAITS, *after, answer()])
    with stage.start("work", "shop", "1") as work:
        assert work.stdout is not None
        for line in work.stdout:
            if line.startswith("work: PART"):
                break
        yield work


def until(tail: subprocess.Popen[str], words: str) -> list[str]:
    """What it prints up to a line with these words."""
    assert tail.stdout is not None
    lines = []
    for line in tail.stdout:
        lines.append(line.rstrip("\n"))
        if words in line:
            return lines
    raise AssertionError(lines)


def test_a_running_one_is_followed_to_its_end(stage: Stage) -> None:
    with at_the_gate(stage) as work, stage.start("tail", stage.run.name) as tail:
        before = until(tail, "cat gate")
        assert work.poll() is None
        open_gate(stage)
        out, err = tail.communicate(timeout=60)
        work.communicate(timeout=60)
    assert (tail.returncode, err) == (0, "")
    assert before[0] == f"TAIL {stage.run.name} shop#1 working: running"
    assert before[1].startswith(f"TAIL {stage.run.name} part 1 work by stand-in (sonnet) began ")
    assert before[2:] == [
        "  work 1 says: I look \\x1b[31mround TAIL forged",
        "  work 2 Bash: echo one",
        "  work 3 Bash: cat gate",
    ]
    after = out.splitlines()
    assert after[0].startswith("  work 4 StructuredOutput: ")
    parts = [line for line in after if line.startswith("TAIL ")]
    assert f"TAIL {stage.run.name} part 1 work by stand-in (sonnet) ended: report · " in parts[0]
    assert f"TAIL {stage.run.name} part 2 check by stand-in (sonnet) began " in parts[1]
    assert "ended: report" in parts[2]
    assert "  check 1 Bash: echo cart" in after
    assert after[-1].startswith(
        f"TAIL {stage.run.name} shop#1 its result is kept and not posted · $0."
    )
    assert after[-1].endswith(f"post it: colony check runs/{stage.run.name} --post")


def test_one_that_has_ended_is_told(worked: Stage) -> None:
    session = worked.run.name
    done = worked("tail", session, "--all")
    assert (done.code, done.err) == (0, "")
    steps = [line for line in done.lines if line.startswith("  ")]
    assert steps[1] == "  work 2 Bash: echo step 0"
    assert len([line for line in steps if line.startswith("  work ")]) == 27
    assert done.lines[0] == f"TAIL {session} shop#1 ended: posted"
    assert done.lines[-1].startswith(f"TAIL {session} shop#1 ended: posted · $0.")
    objects = valid(worked("tail", f"runs/{session}", "--all", "--json"))
    assert len(objects) == len(done.lines)
    assert told(objects)[-1] == done.lines[-1]
    step = objects[3]
    assert (step["kind"], step["session"], step["ticket"]) == ("tail.step", session, "shop#1")
    assert (step["part"], step["step"], step["what"]) == (1, 2, "call")
    assert (step["tool"], step["said"]) == ("Bash", "echo step 0")
    assert objects[-1]["outcome"] == "posted"


def test_the_last_steps_or_all(worked: Stage) -> None:
    session = worked.run.name
    done = worked("tail", session)
    steps = [line for line in done.lines if line.startswith(("  work", "  check"))]
    assert len(steps) == 20
    everything = [line for line in worked("tail", session, "--all").lines if line in steps]
    assert steps == everything
    assert "  … 9 earlier steps: --all shows them" in done.lines


def test_ctrl_c_ends_it(stage: Stage) -> None:
    with at_the_gate(stage) as work, stage.start("tail", stage.run.name) as tail:
        until(tail, "cat gate")
        tail.send_signal(signal.SIGINT)
        out, err = tail.communicate(timeout=30)
        assert (tail.returncode, out, err) == (130, "", "")
        assert work.poll() is None
        open_gate(stage)
        work.communicate(timeout=60)
        assert work.returncode == 0


def test_it_ends_with_its_reader(stage: Stage) -> None:
    with (
        at_the_gate(stage, {"run": "echo two"}, {"run": "echo three"}, WAITS) as work,
        stage.start("tail", stage.run.name) as tail,
    ):
        until(tail, "cat gate")
        assert tail.stdout is not None
        tail.stdout.close()
        open_gate(stage)
        assert tail.wait(timeout=30) == 0
        assert work.poll() is None
        open_gate(stage)
        work.communicate(timeout=60)


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_one_that_has_ended_is_told_to_nobody(worked: Stage, more: list[str]) -> None:
    assert worked.unread("tail", worked.run.name, "--all", *more) == (0, "")


def test_one_that_was_interrupted(stage: Stage) -> None:
    with at_the_gate(stage) as work:
        work.kill()
        work.communicate(timeout=30)
    done = stage("tail", stage.run.name)
    assert done.code == 0
    assert done.lines[0] == f"TAIL {stage.run.name} shop#1 working: unfinished"
    assert done.lines[-1].endswith("go on with it: colony work shop 1 --post")


def kinds(tmp_path: Path) -> dict[str, object]:
    call = {"type": "tool_use", "id": "t", "name": "Ba\x1b[31msh", "input": {"command": "x\u202e"}}
    good = json.dumps({"type": "assistant", "message": {"content": [call]}}).encode()
    wrong = b'{"type": "assistant", "message": {"content": [{"type": "tool_use", "name": []}]}}\n'
    return {
        "garbage": os.urandom(100_000) + b"\n" + good + b"\n",
        "wrong types": wrong + b'[]\n{"type": 7}\nnull\n' + good + b"\n",
        "too deep": b"[" * 200_000 + b"\n" + good + b"\n",
        "a line too long": b'{"type": "' + b"x" * 3_000_000 + b'"}\n' + good + b"\n",
        "half a line": good + b"\n" + good[:40],
    }


@pytest.mark.parametrize(
    "kind", ["garbage", "wrong types", "too deep", "a line too long", "half a line"]
)
def test_a_stream_that_holds_garbage_is_read_on(worked: Stage, tmp_path: Path, kind: str) -> None:
    stage = copied(worked, tmp_path)
    stream = stage.run / "parts/1-work/stream.jsonl"
    data = kinds(tmp_path)[kind]
    assert isinstance(data, bytes)
    stream.write_bytes(data)
    done = stage("tail", stage.run.name)
    assert (done.code, done.err) == (0, "")
    assert [line for line in done.lines if "\\x1b[31msh" in line] == [
        "  work 1 Ba\\x1b[31msh: x\\u202e"
    ] or kind == "wrong types"
    assert "\\x1b[31msh: x\\u202e" in done.out
    assert done.lines[-1].startswith(f"TAIL {stage.run.name} shop#1 ended: posted")
    valid(stage("tail", stage.run.name, "--json"))


@pytest.mark.parametrize("kind", ["link", "fifo", "folder", "missing"])
def test_what_is_no_stream_breaks_nothing(worked: Stage, tmp_path: Path, kind: str) -> None:
    stage = copied(worked, tmp_path)
    stream = stage.run / "parts/1-work/stream.jsonl"
    stream.unlink()
    match kind:
        case "link":
            (tmp_path / "canary").write_text("canary\n")
            stream.symlink_to(tmp_path / "canary")
        case "fifo":
            os.mkfifo(stream)
        case "folder":
            stream.mkdir()
    done = stage("tail", stage.run.name)
    assert done.code == 0
    assert "canary" not in done.out
    assert not [line for line in done.lines if line.startswith("  work")]
    assert [line for line in done.lines if line.startswith("  check 1")]
    assert done.lines[-1].startswith(f"TAIL {stage.run.name} shop#1 ended: posted")
    if kind == "missing":
        assert done.err == ""
    else:
        assert done.error.startswith("WARNING — its steps cannot be read: ")


def test_an_agent_that_nobody_knows(worked: Stage, tmp_path: Path) -> None:
    stage = copied(worked, tmp_path)
    record = stage.record()
    record["setup"]["worker"]["agent"] = "no\x1b[31mbody"
    (stage.run / "session.json").write_text(json.dumps(record))
    done = stage("tail", stage.run.name)
    assert done.code == 0
    assert "\x1b" not in done.out + done.err
    assert "no coding agent is called" in done.error


def copied(worked: Stage, tmp_path: Path) -> Stage:
    home = tmp_path / "home"
    shutil.copytree(worked.home, home, symlinks=True)
    return replace(worked, home=home, environ=worked.environ | {"COLONY_HOME": str(home)})


def test_a_session_of_another_host_is_asked_for(stage: Stage) -> None:
    stage.now_ms = round(time.time() * 1000)
    record = SessionRecord(OTHER, ONE, "elm", "working", started_ms=1, cost_usd=0.5)
    with stage.tracker("colony", machine=True) as tracker:
        tracker.put_session(record)
        tracker.put_tail(OTHER, "Bash: one\nBash: \x1b[31mtwo\n")
    with stage.start("tail", OTHER) as tail:
        before = until(tail, "two")
        with stage.tracker("colony", machine=True) as tracker:
            tracker.put_tail(OTHER, "Bash: \x1b[31mtwo\nBash: three\n")
            ended = replace(record, phase="ended", outcome="posted", ended_ms=5, cost_usd=1.5)
            tracker.put_session(ended)
        out, err = tail.communicate(timeout=30)
    assert (tail.returncode, err) == (0, "")
    assert before[0].startswith(f"TAIL {OTHER} shop#1 working on elm, told ")
    assert before[1:] == ["  Bash: one", "  Bash: \\x1b[31mtwo"]
    assert out.splitlines() == [
        "  Bash: three",
        f"TAIL {OTHER} shop#1 ended: posted · $1.50",
    ]
    assert len(valid(stage("tail", OTHER, "--json"))) == 4


def test_a_tickets_session_is_found(stage: Stage) -> None:
    none = stage("tail", "shop", "1")
    assert (none.code, "no session of shop#1 is known" in none.error) == (3, True)
    with at_the_gate(stage) as work, stage.start("tail", "shop", "1") as tail:
        until(tail, "cat gate")
        open_gate(stage)
        tail.communicate(timeout=60)
        work.communicate(timeout=60)
    assert tail.returncode == 0
    assert stage("check", f"{stage.home}/runs/{stage.run.name}", "--post").code == 0
    assert stage("tail", "shop", "1").lines[0] == f"TAIL {stage.run.name} shop#1 ended: posted"
    two = stage.ticket()
    stage.lease(two, stage.now_ms * 2, OTHER, "elm")
    with stage.tracker("colony", machine=True) as tracker:
        tracker.put_session(SessionRecord(OTHER, two, "elm", "ended", outcome="late", ended_ms=9))
    assert stage("tail", "shop", "2").lines[-1] == f"TAIL {OTHER} shop#2 ended: late · $0.00"


def test_the_newest_of_a_ticket_is_taken_wherever_it_ran(worked: Stage, tmp_path: Path) -> None:
    stage = copied(worked, tmp_path)
    mine = stage.record()["startedMs"]
    with stage.tracker("colony", machine=True) as tracker:
        for at, other in ((mine + 1, OTHER), (mine - 1, SESSION)):
            record = SessionRecord(other, ONE, "elm", "ended", started_ms=at, ended_ms=at + 5)
            tracker.put_session(record)
    assert stage("tail", "shop", "1").lines[0].startswith(f"TAIL {OTHER} shop#1 ended on elm")


@pytest.mark.parametrize(
    ("words", "code"),
    [([SESSION[:-1] + "0"], 3), (["shop"], 2), (["shop", "x"], 2), (["shop", "9"], 3)],
)
def test_what_is_no_session(worked: Stage, words: list[str], code: int) -> None:
    done = worked("tail", *words)
    assert (done.code, done.out) == (code, "")
    assert done.error
