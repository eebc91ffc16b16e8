"""`colony work`.

| rule | test |
|---|---|
| every refusal writes nothing and starts nothing | test_what_is_refused_writes_nothing |
| unusable values are named | test_a_value_that_cannot_be_used_is_named |
| never `bypassPermissions`, however it is asked for | test_permissions_are_never_bypassed |
| a program that is not Claude Code, or missing | test_a_program_that_is_not_claude_code |
| the dev folder is another session's | test_a_dev_folder_that_another_session_has |
| a database that is busy, damaged, missing | test_a_database_that_cannot_be_used |
| --dry-run writes nothing, starts nothing | test_a_dry_run_writes_nothing |
| lease, worker, check, comment, review | test_the_way_of_a_good_result |
| folder, prompt, options, environment of the worker | test_what_the_worker_is_started_with |
| the files of a session | test_what_is_kept_of_a_session |
| no answer, a bad report, out of time, steps, …: back to open | test_no_result_goes_back_to_open |
| without --post it stays in progress, `report` can post | test_without_post_it_is_kept |
| a second `work` goes on with what was left | test_it_goes_on_with_what_was_left |
| half done: open, told in the next brief | test_half_done_is_the_start_of_the_next_worker |
| questions and problems are filed once | test_questions_and_problems_are_filed_once |
| sent back by its creator: rework, told first | test_a_result_that_was_sent_back_is_worked_again |
| a rejection stands until a report answers it | test_a_rejection_stands_until_a_report_answers_it |
| what the worker leaves running is ended and told | test_what_is_left_running_is_ended |
| a permission mode that fell back is warned about | test_a_mode_that_fell_back_is_warned_about |
| many at once: one starts | test_many_at_once_start_one |
| what a person did meanwhile stays | test_a_person_who_moves_the_ticket_wins |
| texts: short, plain, machine line last | test_every_text_is_short_and_ends_with_its_machine_line |
| --json | test_json_says_the_same |
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from colony.core.lease import lease_of
from colony.core.markers import marker_of
from colony.core.ticket import Event, Ref
from tests.cli.conftest import Done
from tests.cli.stage import (
    LIE,
    OTHER,
    PORTS,
    SESSION,
    Stage,
    answer,
    first_words,
    make_stage,
    moves,
    timeless,
    told,
    valid,
)

ONE = Ref("shop", 1)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = make_stage(tmp_path)
    stage.register("shop")
    stage.ticket(subject="A cart", summary="With wheels.")
    stage.script(work=[{"write": "cart.txt", "text": "cart\n"}, answer()])
    return stage


def comments(stage: Stage, ref: Ref = ONE) -> list[Event]:
    return [each for each in stage.events(ref) if each.kind == "comment" and each.machine]


# --- refusals: one home for all, since none of them changes it --------------------------------


@pytest.fixture(scope="module")
def shut(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A ticket for every reason not to start."""
    stage = make_stage(tmp_path_factory.mktemp("work"))
    stage.register("shop")
    stage.register("vague", concept="")
    stage.register("closed", workers=False)
    stage.register("away", dev={"folder": "/srv/away", "host": "elm"})
    stage.register("gone", dev={"folder": str(stage.cwd / "gone")})
    stage.register("typo", '{"name": "typo", "dve": {}}')
    stage.register("secret", env={"KEY": "file:nowhere/key"})
    for project in ("vague", "closed", "away", "gone", "typo", "unknown", "secret"):
        stage.ticket(project)
    stage.ticket(subject="ready")
    stage.lease(stage.ticket(subject="leased"), stage.now_ms * 2)
    stage.lease(stage.ticket(subject="silent"), stage.now_ms)
    for state in ("pending", "review", "done", "canceled"):
        stage.move(stage.ticket(subject=state), state)
    whole = stage.ticket(subject="whole")
    stage.ticket(subject="part", parent=whole)
    blocked = stage.ticket(subject="blocked")
    with stage.tracker() as tracker:
        tracker.block(blocked, Ref("shop", 1), key="block")
    for state in ("open", "pending", "reopened"):
        question = stage.ticket(subject=f"Question: {state}?")
        if state != "open":
            stage.move(question, state)
    stage.ticket(subject="strange", user="mallory")
    old = stage.home / "runs" / SESSION
    old.mkdir(parents=True)
    return stage


REFUSED = [
    ("unknown 1", 3, "project unknown has no registry file"),
    ("vague 1", 3, "names no concept"),
    ("closed 1", 3, "project closed takes no workers"),
    ("away 1", 3, "the dev folder of away is on elm"),
    ("gone 1", 3, "gone is missing"),
    ("typo 1", 3, "unknown key 'dve' (did you mean dev?)"),
    ("secret 1", 3, "project secret: env KEY: "),
    ("shop 99", 3, "shop#99"),
    ("shop 2", 5, f"not eligible: leased by session {SESSION} on there"),
    ("shop 3", 5, f"not eligible: session {SESSION} on there is silent"),
    ("shop 4", 3, "not eligible: on hold"),
    ("shop 5", 3, "not eligible: its result waits for the creator"),
    ("shop 6", 3, "not eligible: it is done"),
    ("shop 7", 3, "not eligible: it was canceled"),
    ("shop 8", 3, "not eligible: a parent (1 child ticket"),
    ("shop 10", 3, "not eligible: blocked by shop#1 (open)"),
    ("shop 11", 3, "a question for its creator (open): never work"),
    ("shop 12", 3, "a question for its creator (pending): never work"),
    ("shop 13", 3, "a question for its creator (reopened): never work"),
    ("shop 14", 3, "not eligible: opened by mallory: waits for /accept"),
    (f"shop 1 --session {SESSION}", 3, "the run folder exists already"),
]


@pytest.mark.parametrize(("words", "code", "told_of"), REFUSED)
def test_what_is_refused_writes_nothing(shut: Stage, words: str, code: int, told_of: str) -> None:
    before = shut.store(), shut.runs
    done = shut("work", *words.split(), "--post")
    assert done.code == code
    assert done.lines[-1].startswith("work: REFUSED — ")
    assert told_of in done.lines[-1]
    assert len(done.lines) == 1
    assert (shut.store(), shut.runs) == before


@pytest.mark.parametrize(
    ("words", "told_of"),
    [
        ("--max-turns 0", "--max-turns 0: must be 1 or more"),
        ("--max-turns many", "--max-turns many: must be a whole number"),
        ("--timeout -1", "--timeout -1: must be 1 or more"),
        ("--permission-mode atuo", "--permission-mode atuo: must be one of"),
        (
            "--max-budget-usd NaN",
            "--max-budget-usd NaN: must be dollars such as 20 or 7.50, above 0",
        ),
        ("--ports 8700", "--ports 8700: must be a range of ports"),
        ("--ports 1-70000", "--ports 1-70000: must be a range of ports"),
        ("--session mine", "--session mine: must be a name such as"),
        ("--agent cluade", "--agent cluade: must be one of claude, stand-in (did you"),
        ("--lease-ttl 9", "--lease-ttl 9: must be 10 or more"),
        ("--heartbeat 7200", "--heartbeat 7200: must be below the lease's 7200"),
        ("--max-fails 0", "--max-fails 0: must be 1 or more"),
        ("--model -x", "--model -x: must not begin with '-'"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(shut: Stage, words: str, told_of: str) -> None:
    before = shut.store(), shut.runs
    done = shut("work", "shop", "1", *words.split())
    assert (done.code, done.out) == (2, "")
    assert told_of in done.error
    assert (shut.store(), shut.runs) == before


@pytest.mark.parametrize("how", ["option", "variable", "file"])
def test_permissions_are_never_bypassed(stage: Stage, how: str) -> None:
    before = stage.store()
    words, environ = [], {}
    match how:
        case "option":
            words = ["--permission-mode", "bypassPermissions"]
        case "variable":
            environ = {"COLONY_PERMISSION_MODE": "bypassPermissions"}
        case _:
            (stage.home / ".env").write_text("COLONY_PERMISSION_MODE=bypassPermissions\n")
    done = stage("work", "shop", "1", "--post", *words, **environ)
    assert done.code == 3
    assert "bypassPermissions: never" in done.error
    assert (stage.store(), stage.runs) == (before, [])


@pytest.mark.parametrize("role", ["worker", "controller"])
def test_a_program_that_is_not_claude_code(shut: Stage, role: str) -> None:
    """Asked for its version, `cat` prints something else, and a missing one prints nothing."""
    before = shut.store(), shut.runs
    for program in ("/bin/cat", "/nowhere/claude", "false"):
        option = ["--claude", program]
        if role == "controller":
            option = ["--claude", "/bin/cat", "--controller-claude", program]
        done = shut("work", "shop", "1", "--agent", "claude", *option)
        assert done.code == 4
        assert done.lines[-1].startswith("work: REFUSED — ")
    assert (shut.store(), shut.runs) == before


def test_a_stand_in_without_its_script(shut: Stage) -> None:
    done = shut("work", "shop", "1", "--stand-in-script", "nowhere.json")
    assert done.code == 4
    assert f"{shut.cwd}/nowhere.json is not there" in done.lines[-1]


def test_a_dry_run_writes_nothing(shut: Stage) -> None:
    before = shut.store(), shut.runs, sorted(shut.home.iterdir())
    done = shut("work", "shop", "1", "--post", "--dry-run", "--model", "haiku")
    assert done.code == 0
    assert done.lines == [
        line for line in done.lines if line.startswith("work: DRY RUN — would lease shop#1 ")
    ]
    assert "haiku" in done.out
    assert (shut.store(), shut.runs, sorted(shut.home.iterdir())) == before
    refused = shut("work", "shop", "5", "--dry-run")
    assert (refused.code, refused.lines[0].split(" — ")[0]) == (3, "work: REFUSED")
    assert valid(shut("work", "shop", "1", "--dry-run", "--json"))[-1]["kind"] == "work.dry_run"


def test_refusals_in_json(shut: Stage) -> None:
    done = shut("work", "shop", "4", "--json")
    line = done.objects[-1]
    assert (line["kind"], line["code"], line["ticket"]) == ("work.refused", "refused", "shop#4")
    assert told([line])[0] in shut("work", "shop", "4").out


# --- refusals that need a scene of their own --------------------------------------------------


def test_a_dev_folder_that_another_session_has(stage: Stage) -> None:
    """The lock is on the folder itself: no file in it could be taken away."""
    before = stage.store()
    folder = os.open(stage.cwd / "dev-shop", os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    done = stage("work", "shop", "1", "--post")
    os.close(folder)
    assert done.code == 5
    assert f"another session works in {stage.cwd}/dev-shop" in done.lines[-1]
    assert (stage.store(), stage.runs) == (before, [])
    assert stage("work", "shop", "1", "--post").code == 0


def test_a_database_that_cannot_be_used(stage: Stage) -> None:
    kept = stage.database.read_bytes()
    stage.database.write_bytes(b"x" * 4096)
    damaged = stage("work", "shop", "1")
    assert (damaged.code, damaged.lines[-1].split(" — ")[0]) == (3, "work: REFUSED")
    assert stage.database.read_bytes() == b"x" * 4096
    stage.database.unlink()
    missing = stage("work", "shop", "1")
    assert (missing.code, missing.lines[-1].split(" — ")[0]) == (4, "work: REFUSED")
    assert not stage.database.exists()
    assert stage.runs == []
    stage.database.write_bytes(kept)


def test_a_database_that_is_busy_is_waited_for(stage: Stage) -> None:
    with closing(sqlite3.connect(stage.database, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        running = stage.start("work", "shop", "1", "--post")
        with pytest.raises(subprocess.TimeoutExpired):
            running.communicate(timeout=1.0)
        other.execute("ROLLBACK")
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    assert out.splitlines()[-1].startswith("WORK DONE — shop#1")


def test_ports_that_are_all_taken(stage: Stage) -> None:
    done = stage(
        "work", "shop", "1", COLONY_PORT_POOL=f"{PORTS}-{PORTS + 4}", COLONY_PORTS_PER_SESSION="9"
    )
    assert done.code == 2
    assert "must fit into the pool" in done.error


# --- results ----------------------------------------------------------------------------------


def test_the_way_of_a_good_result(stage: Stage) -> None:
    done = stage("work", "shop", "1", "--post")
    assert done.code == 0
    assert first_words(done) == [
        "work: LEASED", "work: PART", "USAGE:", "REPORT OK", "controller: PART",
        "CONTROLLER USAGE:", "VERDICT: PASS", "POSTED", "POSTED", "WORK DONE",
    ]  # fmt: skip
    assert moves(stage) == ["progress", "review"]
    started = next(event for event in stage.events(ONE) if event.after == "progress")
    assert re.fullmatch(
        rf"[^\n]+\n\ncolony-lease: {stage.run.name} · host here · started · ms \d+", started.text
    )
    [comment] = comments(stage)
    assert comment.text.startswith("There is a cart now.\n\n**Test:**\n1. Open the shop.\n2. ")
    assert "$0.04 · 2 sessions" in comment.text
    machine = comment.text.splitlines()[-1]
    assert re.match(
        rf"colony-report: {stage.run.name} · sha256 [0-9a-f]{{12}} · controller pass", machine
    )
    assert (stage.cwd / "dev-shop/cart.txt").read_text() == "cart\n"
    again = stage("work", "shop", "1", "--post")
    assert (again.code, again.lines[0].split(" — ")[0]) == (3, "work: REFUSED")


SHOW = (
    "pwd; tr '\\0' '\\n' </proc/$PPID/cmdline; echo ===; env -0 | tr '\\0' '\\n'; echo ===;"
    " cat /proc/$PPID/fd/0"
)


def test_what_the_worker_is_started_with(stage: Stage) -> None:
    see = {"run": f"({SHOW}) >seen-$COLONY_SESSION-$(ls seen* 2>/dev/null | wc -l)"}
    stage.script(work=[see, answer()], check=[see, {"recheck": True}])
    ports = f"{PORTS}-{PORTS + 9}"
    done = stage(
        "work", "shop", "1", "--model", "haiku", "--max-turns", "7", "--ports", ports,
        "--session", SESSION, "--max-budget-usd", "3",
        COLONY_PASS_ENV="SHOP_KEY", SHOP_KEY="kept", AWS_SECRET="hidden", COLONY_TOKEN="hidden",
    )  # fmt: skip
    assert done.code == 0, done
    worker, controller = sorted((stage.cwd / "dev-shop").glob("seen-*"))
    for seen, prompt in ((worker, "brief.md"), (controller, "controller-prompt.md")):
        where, env, stdin = seen.read_text().split("===\n")
        cwd, *argv = where.splitlines()
        assert cwd == str(stage.cwd / "dev-shop")
        assert stdin == (stage.run / prompt).read_text()
        assert argv[argv.index("--permission-mode") + 1] == "auto"
        assert "bypassPermissions" not in argv
        assert "--strict-mcp-config" in argv
        assert "--session-id" in argv
        assert "--resume" not in argv
        variables = dict(line.split("=", 1) for line in env.splitlines() if "=" in line)
        assert "hidden" not in variables.values()
        assert (variables["SHOP_KEY"], variables["COLONY_PORTS"]) == ("kept", ports)
        assert (variables["COLONY_SESSION"], variables["COLONY_PORT_FROM"]) == (SESSION, str(PORTS))
        assert {name for name in variables if name.startswith("COLONY_")} == {
            "COLONY_SESSION", "COLONY_PORTS", "COLONY_PORT_FROM", "COLONY_PORT_TO",
        }  # fmt: skip
    mine, theirs = (
        seen.read_text().split("===\n")[0].splitlines() for seen in (worker, controller)
    )
    assert mine[mine.index("--model") + 1] == "haiku"
    assert mine[mine.index("--max-turns") + 1] == "7"
    assert mine[mine.index("--max-budget-usd") + 1].startswith("3")
    assert theirs[theirs.index("--model") + 1] == "sonnet"
    denied = theirs[theirs.index("--disallowedTools") + 1 :]
    assert {"Edit", "Write", "NotebookEdit"} <= set(denied)
    assert not {"Edit", "Write", "NotebookEdit"} & set(mine)


def test_what_is_kept_of_a_session(stage: Stage) -> None:
    stage("work", "shop", "1", "--post")
    run = stage.run
    for name in ("session.json", "brief.md", "report.json", "verdict.json", "controller-prompt.md"):
        assert (run / name).stat().st_mode & 0o777 == 0o600, name
    assert run.stat().st_mode & 0o777 == 0o700
    facts = stage.record()
    assert facts["outcome"] == "posted"
    worker, controller = facts["parts"]
    assert (worker["kind"], controller["kind"]) == ("work", "check")
    assert (worker["costUsd"], worker["costKnown"], worker["steps"]) == (0.02, True, 2)
    assert worker["permissionMode"] == "auto"
    report = json.loads((run / "report.json").read_text())
    assert (report["ticket"], report["session"]) == ("shop#1", run.name)
    prompt = (run / "controller-prompt.md").read_text()
    order = [prompt.index(part) for part in ("There is a cart now.", "cart.txt", "With wheels.")]
    assert order == sorted(order)


BAD_REPORT = answer(result="x" * 124, test=["Open .scratch/cart.", "See it."])
ENDINGS = {
    "no report": ([{"say": "I am done."}], [], "no usable result"),
    "bad report": ([BAD_REPORT], [], "did not keep to its form"),
    "out of steps": ([{"repeat": 9, "actions": [{"say": "hm"}]}, answer()], ["--max-turns", "3"],
                     "all its steps"),
    "out of time": ([{"hang": True}], ["--timeout", "1"], "time was up"),
    "model": ([{"error": "none", "status": 404, "word": "model_not_found"}], [], ""),
}  # fmt: skip


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_result_goes_back_to_open(stage: Stage, ending: str) -> None:
    script, words, reason = ENDINGS[ending]
    stage.script(work=script, finalize=[{"say": "no"}], fix=[BAD_REPORT])
    done = stage("work", "shop", "1", "--post", *words)
    assert done.code == (4 if ending == "model" else 1)
    assert done.lines[-1].startswith("WORK FAILED — shop#1 is open again: ")
    assert f"ended: {'report' if ending == 'bad report' else ending}" in done.out
    assert moves(stage) == ["progress", "open"]
    assert not comments(stage)
    text = stage.events(ONE)[-1].text
    assert text.startswith("Open again: ")
    assert reason in text
    blamed = "given back" if ending == "model" else "no report"
    assert re.search(rf"^colony-run: {stage.run.name} · host here · {blamed}", text, re.MULTILINE)
    if ending == "bad report":
        assert "  result: " in done.out
        assert "  test[0]: names .scratch" in done.out
    assert stage("next").lines[0].startswith('NEXT: shop#1 "A cart"')


def test_another_ticket_in_the_report_is_a_bad_report(stage: Stage) -> None:
    stage.script(work=[answer(ticket="shop#2", session=OTHER)], fix=[{"say": "no"}])
    done = stage("work", "shop", "1", "--post")
    assert done.code == 1
    assert "  ticket: is 'shop#2', must be 'shop#1'" in done.lines
    assert moves(stage) == ["progress", "open"]


def test_without_post_it_is_kept(stage: Stage) -> None:
    done = stage("work", "shop", "1")
    assert done.code == 0
    assert done.lines[-1] == (
        "WORK OK — shop#1 valid report, controller: pass, NOT posted:"
        f" colony check runs/{stage.run.name} --post"
    )
    assert moves(stage) == ["progress"]
    assert not comments(stage)
    report = str(stage.run / "report.json")
    assert stage("report", report).lines == [f"REPORT OK shop#1 {stage.run.name}"]
    posted = stage("report", report, "--post", "--unchecked")
    assert posted.lines[-1] == "POSTED shop#1 moved to review"
    assert "controller pass" not in stage.texts(ONE)


def test_it_goes_on_with_what_was_left(stage: Stage) -> None:
    stage("work", "shop", "1")
    session = stage.run.name
    done = stage("work", "shop", "1", "--post")
    assert done.code == 0
    assert (
        done.lines[0]
        == f"work: AGAIN — shop#1 goes on with session {session} (judged), and posts its outcome"
    )
    assert done.lines[-1].startswith("WORK DONE — shop#1")
    assert stage.run.name == session
    assert moves(stage) == ["progress", "review"]


def test_without_post_nothing_is_said_to_be_posted(stage: Stage) -> None:
    """It gives its lease back all the same, and says that."""
    stage.script(work=[{"say": "no"}], fix=[{"say": "no"}])
    done = stage("work", "shop", "1")
    assert (done.code, "POSTED" in done.out) == (1, False)
    assert done.lines[-2] == "lease: given back, shop#1 moved to open"
    assert moves(stage) == ["progress", "open"]
    told = valid(stage("next", "--max-starts-per-hour", "1", "--json"))
    assert (told[0]["text"], told[1]["code"]) == ("nothing to do", "starts")


def test_a_stop_is_gone_on_from(stage: Stage) -> None:
    """A signal parks the session; the next `work` goes on with it."""
    stage.script(work=[{"hang": True}])
    running = stage.start("work", "shop", "1", "--post")
    assert running.stdout is not None
    for line in running.stdout:
        if line.startswith("work: PART"):
            break
    running.terminate()
    out, err = running.communicate(timeout=30)
    assert running.returncode == 0, err
    assert out.splitlines()[-1].startswith("PARKED — shop#1 until Colony is back: it was stopped")
    assert "colony work shop 1 goes on" in out
    head = stage("sessions", stage.run.name).lines[0]
    assert head.startswith(f"SESSION {stage.run.name} shop#1 parked · ")
    stage.script(work=[answer()])
    done = stage("work", "shop", "1", "--post")
    assert done.code == 0
    assert done.lines[0].startswith(f"work: AGAIN — shop#1 goes on with session {stage.run.name}")
    assert moves(stage) == ["progress", "review"]
    assert len(comments(stage)) == 3, "paused, going on, the result"
    assert [each for each in stage.run.rglob("*.md") if "was interrupted" in each.read_text()]


def test_half_done_is_the_start_of_the_next_worker(stage: Stage) -> None:
    stage.script(work=[answer(complete=False, open=["the wheels", "the bell"], result="A frame.")])
    assert "Previous attempt" not in brief(stage)
    done = stage("work", "shop", "1", "--post")
    assert (done.code, done.lines[-1].split(" — ")[0]) == (0, "WORK HALF DONE")
    assert f"REPORT OK shop#1 {stage.run.name}, NOT complete" in done.lines
    assert moves(stage) == ["progress", "open"]
    [comment] = comments(stage)
    assert "**Test:**" not in comment.text
    assert "- Left to do: the wheels (and 1 more)" in comment.text
    assert comment.text.splitlines()[-1].startswith(f"colony-report: {stage.run.name} · sha256 ")
    assert "· half done" in comment.text
    first = stage.run
    text = brief(stage)
    for part in (first.name, "A frame.", "the wheels"):
        assert part in text
    stage.script(work=[answer()])
    assert stage("work", "shop", "1", "--post").code == 0
    [second] = [run for run in stage.runs if run != first]
    assert "A frame." in (second / "brief.md").read_text()
    assert moves(stage) == ["progress", "open", "progress", "review"]


def brief(stage: Stage) -> str:
    path = stage.cwd / "brief.md"
    assert stage("brief", "shop", "1", "--out", str(path)).code == 0
    return path.read_text()


def test_questions_and_problems_are_filed_once(stage: Stage) -> None:
    stage.register("till")
    issue = {
        "project": "till", "subject": "The sum is wrong", "repro": "1 + 2", "observed": "4",
        "expected": "3", "blocks": True,
    }  # fmt: skip
    asked = [{"title": "Which red?", "text": "Dark or light?"}, {"title": "A bell?", "text": "?"}]
    rulings = [
        {"index": at, "ruling": "ask", "reason": "a matter of taste", "answer": ""} for at in (0, 1)
    ]
    fine = {"claim": "x", "about": "verified", "status": "ok", "check": "ran it"}
    said = {"verdict": "pass", "findings": [fine], "questions": rulings, "summary": "Fine."}
    stage.script(work=[answer(questions=asked, issues=[issue])], check=[{"answer": said}])
    done = stage("work", "shop", "1", "--post")
    assert done.code == 0, done
    questions = [ticket for ticket in stage.rows() if ticket.source]
    assert [ticket.subject for ticket in questions] == [
        "Question (shop#1): Which red?", "Question (shop#1): A bell?",
    ]  # fmt: skip
    for at, question in enumerate(questions):
        assert question.state == "pending"
        assert question.parent is not None
        assert question.parent.ref == ONE
        assert question.source == f"colony-report:{stage.run.name}:questions:{at}"
        assert str(question.ref) in comments(stage)[0].text
    [problem] = stage.rows("till")
    assert problem.source == f"colony-report:{stage.run.name}:issue:0"
    assert [each.ref for each in stage.row(ONE).blocked_by] == [problem.ref]
    before = stage.store()
    report = str(stage.run / "report.json")
    assert stage("check", f"runs/{stage.run.name}", "--post").code == 0
    again = stage("report", report, "--post", "--unchecked")
    assert (again.code, "HAVE" in first_words(again)) == (0, True)
    assert stage.store() == before


def test_a_result_that_was_sent_back_is_worked_again(stage: Stage) -> None:
    stage("work", "shop", "1", "--post")
    stage.now_ms = stage.events(ONE)[-1].at_ms
    stage.comment(ONE, "It squeaks.")
    stage.move(ONE, "reopened", "Not red enough.")
    assert "rework" in stage("next").lines[0]
    first = stage.runs[0]
    assert stage("work", "shop", "1", "--post").code == 0
    text = next(run for run in stage.runs if run != first).joinpath("brief.md").read_text()
    head = text.partition("## Read first")[0]
    assert head.index("Not red enough.") < head.index("# shop#1")
    assert "It squeaks." in head
    assert moves(stage) == ["progress", "review", "reopened", "progress", "review"]
    assert "Not red enough." not in brief(stage).partition("## Read first")[0]
    stage.now_ms = stage.events(ONE)[-1].at_ms
    stage.comment(ONE, "It creaks.")
    stage.move(ONE, "reopened", "Redder.")
    head = brief(stage).partition("## Read first")[0]
    assert ("Redder." in head, "It creaks." in head, "It squeaks." in head) == (True, True, False)


@pytest.mark.parametrize("last", [{"say": "nothing"}, answer(complete=False, open=["red"])])
def test_a_rejection_stands_until_a_report_answers_it(stage: Stage, last: dict[str, Any]) -> None:
    stage.move(ONE, "reopened", "Not red enough.")
    stage.script(work=[last])
    done = stage("work", "shop", "1", "--post")
    assert stage.row(ONE).state == "open", done
    text = brief(stage)
    assert "Not red enough." in text.partition("## Read first")[0]
    assert stage.run.name in text


SERVE = (
    'exec {python} -c \'import socket, time; s = socket.create_server(("127.0.0.1", {port}));'
    ' open("up-{port}", "w").close(); time.sleep(600)\''
)


def serving(port: int) -> list[dict[str, Any]]:
    """Leave a server behind, and wait until it listens."""
    command = SERVE.format(python=sys.executable, port=port)
    wait = f"while ! [ -e up-{port} ]; do sleep 0.02; done"
    return [{"daemon": command}, {"run": wait}]


@pytest.fixture
def foreign() -> Iterator[int]:
    """A server of somebody else on a port of the range."""
    port = PORTS + 2
    code = (
        f"import socket, time; s = socket.create_server(('127.0.0.1', {port}));"
        "print('up', flush=True); time.sleep(600)"
    )
    server = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert server.stdout is not None
    assert server.stdout.readline() == b"up\n"
    yield port
    assert server.poll() is None, "it was not this session's to end"
    server.kill()
    server.wait()
    server.stdout.close()


def test_what_is_left_running_is_ended(stage: Stage, foreign: int) -> None:
    stage.script(work=[*serving(PORTS), answer()], check=[*serving(PORTS + 1), {"recheck": True}])
    done = stage("work", "shop", "1", "--post", "--ports", f"{PORTS}-{PORTS + 9}")
    assert done.code == 0, done
    assert not listening({PORTS, PORTS + 1})
    assert [line for line in done.lines if line.startswith("work: CLEANUP skipped")]
    assert str(foreign) in done.out


def listening(ports: set[int]) -> set[int]:
    rows = Path("/proc/net/tcp").read_text().splitlines()[1:]
    held = {int(row.split()[1].split(":")[1], 16) for row in rows if row.split()[3] == "0A"}
    return held & ports


def test_a_mode_that_fell_back_is_warned_about(stage: Stage) -> None:
    stage.script(work=[answer()], permission_mode="default")
    done = stage("work", "shop", "1")
    assert done.code == 0
    assert [line for line in done.lines if line.startswith('WARNING asked for permission mode "a')]


def test_what_the_permissions_refused_is_counted(stage: Stage) -> None:
    stage.script(work=[{"deny": "Bash", "detail": "rm -rf /"}, answer()])
    done = stage("work", "shop", "1")
    [usage] = [line for line in done.lines if line.startswith("USAGE:")]
    assert "1 denied" in usage
    assert stage.record()["parts"][0]["denials"]


def test_many_at_once_start_one(stage: Stage) -> None:
    """The others are refused, write nothing, and leave no run folder."""
    stage.script(work=[{"run": "until [ -e go ]; do sleep 0.02; done"}, answer()])
    running = [stage.start("work", "shop", "1", "--post") for _ in range(10)]
    with ThreadPoolExecutor(10) as pool:
        outs = as_completed([pool.submit(each.communicate, timeout=60) for each in running])
        refused = [next(outs).result()[0].splitlines() for _ in range(9)]
        (stage.cwd / "dev-shop/go").touch()
        [done] = [each.result()[0].splitlines() for each in outs]
    assert sorted(each.returncode for each in running) == [0] + [5] * 9
    assert all(line.startswith("work: REFUSED — ") for [line] in refused)
    assert done[-1].startswith("WORK DONE — shop#1")
    assert moves(stage) == ["progress", "review"]
    assert len(stage.runs) == 1


def test_a_person_who_moves_the_ticket_wins(stage: Stage) -> None:
    stage.script(work=[{"run": "until [ -e go ]; do sleep 0.02; done"}, answer()])
    running = stage.start("work", "shop", "1", "--post")
    assert running.stdout is not None
    for line in running.stdout:
        if line.startswith("work: PART"):
            break
    stage.move(ONE, "pending", "Wait for paint.")
    (stage.cwd / "dev-shop/go").touch()
    out, _ = running.communicate(timeout=60)
    assert "was moved by a person and stays so" in out.splitlines()[-1]
    assert stage.row(ONE).state == "pending"
    assert moves(stage) == ["progress", "pending"]


def test_every_text_is_short_and_ends_with_its_machine_line(stage: Stage) -> None:
    stage.script(
        work=[answer(complete=False, open=["wheels"])],
        tickets={
            "shop#2": {"work": [answer(decided=["a", "b", "c"], refused=["rm"])]},
            "shop#3": {"work": [{"say": "nothing"}]},
            "shop#4": {"work": [LIE]},
        },
    )
    for number in range(2, 5):
        stage.ticket(subject=f"Ticket {number}")
    for number in range(1, 5):
        stage("work", "shop", str(number), "--post")
    texts = [
        event for ticket in stage.rows() for event in stage.events(ticket.ref) if event.machine
    ]
    assert len(texts) == 3 + 3 + 2 + 3
    for event in texts:
        lines = [line for line in event.text.splitlines() if line.strip()]
        machine = [line for line in lines if line.startswith("colony-")]
        assert len(machine) <= 1
        if machine:
            assert lines[-1] == machine[0]
            assert marker_of(event) is not None
        steps = [line for line in lines if re.match(r"[1-4]\. ", line)]
        assert 1 <= len(lines) - len(machine) - len(steps) <= 5, event.text


def test_json_says_the_same(stage: Stage) -> None:
    stage.ticket(subject="A cart", summary="With wheels.")

    def run(number: int, *words: str) -> Done:
        return stage("work", "shop", str(number), "--post", *words)

    text = run(1)
    objects = valid(run(2, "--json"))
    lines = [each for each in objects if each["kind"] != "warning"]
    [session] = {each["session"] for each in lines}
    assert session in [run.name for run in stage.runs]
    assert {each["ticket"] for each in lines} == {"shop#2"}
    assert timeless(told(lines)) == timeless(text.lines)
    assert (lines[-1]["kind"], lines[-1]["outcome"]) == ("work.done", "posted")
    assert lines[-1]["costUsd"] == 0.04


def test_a_lease_is_as_long_as_it_should_be(stage: Stage) -> None:
    stage("work", "shop", "1", "--lease-ttl", "600", "--heartbeat", "100")
    held = lease_of(stage.events(ONE))
    until_ms = getattr(held, "until_ms", 0)
    assert 550_000 < until_ms - stage.events(ONE)[-1].at_ms <= 601_000
