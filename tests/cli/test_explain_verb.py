"""`colony explain`.

| rule | test |
|---|---|
| next, later or not, with every reason; exit 0 | test_the_three_answers |
| nothing is written, nothing started | test_nothing_is_written |
| what the host would refuse | test_what_this_host_would_refuse |
| what a session left behind means | test_a_session_that_was_left |
| an interrupted session goes first | same |
| a folder that is taken | test_a_folder_that_is_taken |
| a refusal of `work` has the same reason | test_it_says_what_work_would_say |
| a ticket that is not there: 3 | test_a_ticket_that_is_not_there |
| --json | test_json_says_the_same |
"""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from colony.core.ticket import Ref
from colony.host.lock import lock_folder
from tests.cli.stage import OTHER, PORTS, Stage, answer, make_stage, told, valid
from tests.cli.test_sessions import everything

ONE, TWO, THREE = (Ref("shop", number) for number in (1, 2, 3))


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """shop#1 and shop#2 of anna, shop#3 of a stranger."""
    stage = make_stage(tmp_path)
    stage.register("shop")
    stage.ticket(subject="A cart")
    stage.ticket(subject="A lamp")
    stage.ticket(subject="By bob", user="bob")
    return stage


def test_the_three_answers(stage: Stage) -> None:
    first = stage("explain", "shop", "1")
    assert (first.code, first.err) == (0, "")
    assert first.lines[0] == "EXPLAIN shop#1 would be started next"
    assert first.lines[1:] == [
        "  for: it is open",
        "  for: project shop is set up",
        "  for: nothing blocks it",
        "  for: its dev folder is on this host (here)",
        "  for: COLONY_SANDBOX=off: its agent sees this machine's files",
        "  for: stand-in can run",
        "  for: its brief can be written",
        "  for: there is a free range of ports",
        "  for: there is memory and disk for one more session",
        "  for: no session works in its dev folder",
        "  colony run starts it; by hand: colony work shop 1 --post",
    ]
    later = stage("explain", "shop", "2")
    assert later.code == 0
    assert later.lines[0] == "EXPLAIN shop#2 comes after shop#1"
    assert later.lines[1].startswith("  against: 1 ticket comes first (older): shop#1 — ")
    stranger = stage("explain", "shop", "3")
    reason = "opened by bob: waits for /accept by a member of the project"
    assert stranger.code == 0
    assert stranger.lines[0] == f"EXPLAIN shop#3 is not started: {reason}"
    assert stranger.lines[1] == (
        f'  against: {reason} — accept it: colony ticket comment shop 3 "/accept"'
    )
    stage.comment(THREE, "/accept")
    stage.comment(THREE, "/prio high")
    assert stage("explain", "shop", "3").lines[0] == "EXPLAIN shop#3 would be started next"
    assert stage("explain", "shop", "1").lines[0] == "EXPLAIN shop#1 comes after shop#3"


def test_the_order_is_that_of_next(stage: Stage) -> None:
    for ref in (ONE, TWO):
        head = stage("next").lines[0]
        assert head.startswith(f"NEXT: {ref} ")
        assert stage("explain", "shop", str(ref.number)).lines[0] == (
            f"EXPLAIN {ref} would be started next"
        )
        stage.move(ref, "done")
        assert "is not started: it is done" in stage("explain", "shop", str(ref.number)).lines[0]


def test_nothing_is_written(stage: Stage) -> None:
    kept, before = stage.store(), everything(stage.home)
    for number in ("1", "2", "3"):
        assert stage("explain", "shop", number).code == 0
    assert stage.store() == kept
    assert everything(stage.home) == before
    assert stage.runs == []


@pytest.mark.parametrize(
    ("environ", "reason"),
    [
        ({"COLONY_AGENT": "claude"}, "claude: no such program"),
        ({"COLONY_AGENT": "claude", "COLONY_CLAUDE": "/bin/true"}, "Claude Code"),
        ({"COLONY_STAND_IN_SCRIPT": "/nowhere.json"}, "the stand-in's script /nowhere.json"),
        ({"COLONY_SANDBOX": "on", "PATH": "/nowhere"}, "no sandbox: bwrap is not installed"),
    ],
)
def test_what_this_host_would_refuse(stage: Stage, environ: dict[str, str], reason: str) -> None:
    done = stage("explain", "shop", "1", **environ)
    assert done.code == 0
    assert done.lines[0].startswith("EXPLAIN shop#1 is not started: ")
    assert reason in done.lines[0]
    assert reason in done.lines[1]
    assert "  for: it is open" in done.lines
    refused = stage("work", "shop", "1", "--dry-run", **environ)
    assert reason in refused.out + refused.err
    assert refused.code in (2, 3, 4)


@pytest.mark.parametrize(
    ("keys", "reason", "remedy"),
    [
        ({"workers": False}, "project shop takes no workers", '"workers": true in projects/shop'),
        ({"concept": "none.md"}, "none.md does not exist", "write it"),
        ({"dev": {"folder": "/nowhere"}}, "the dev folder /nowhere is missing", "make it"),
        ({"dev": {"host": "elm", "folder": "/x"}}, "its dev folder is on elm", "start it there"),
        ({"env": {"KEY": "file:/nowhere"}}, "env KEY: /nowhere does not exist", ""),
    ],
)
def test_what_the_registry_says(
    stage: Stage, keys: dict[str, Any], reason: str, remedy: str
) -> None:
    stage.register("shop", **keys)
    done = stage("explain", "shop", "1")
    assert (done.code, done.err) == (0, "")
    assert reason in done.lines[0]
    assert (reason in done.lines[1], remedy in done.lines[1]) == (True, True)
    assert done.out.count(reason) == 2
    refused = stage("work", "shop", "1", "--dry-run")
    assert refused.code == 3
    assert reason in refused.out or "elm" in refused.out


def test_what_the_sandbox_would_do_is_said_as_it_is_set(stage: Stage) -> None:
    contained = "  for: agents can be contained here"
    assert contained not in stage("explain", "shop", "1").lines
    on = stage("explain", "shop", "1", COLONY_SANDBOX="on").lines
    assert contained in on or "no sandbox: " in on[0]


def test_a_strangers_ticket_is_started_by_those_who_take_all(stage: Stage) -> None:
    """What `explain --intake all` says is said to `work` in the same words."""
    stage.script(work=[answer()])
    said = stage("explain", "shop", "3", "--intake", "all").lines[0]
    assert said == "EXPLAIN shop#3 comes after shop#1, shop#2"
    refused = stage("work", "shop", "3", "--dry-run")
    assert (refused.code, "waits for /accept" in refused.out) == (3, True)
    assert stage("work", "shop", "3", "--dry-run", "--intake", "all").code == 0


def test_a_project_that_nobody_set_up(stage: Stage) -> None:
    stage.ticket("attic", "Dust it")
    done = stage("explain", "attic", "1")
    assert (
        done.lines[0]
        == "EXPLAIN attic#1 is not started: project attic has no registry file here (here)"
    )
    assert done.lines[1].endswith("register its folder: colony init FOLDER")
    assert "  for: stand-in can run" in done.lines


def test_what_the_ticket_says_of_itself(stage: Stage) -> None:
    question = stage.ticket(subject="Question: which colour?")
    stage.move(TWO, "pending")
    with stage.tracker() as tracker:
        tracker.block(ONE, TWO, key=stage.key())
    asked = stage("explain", "shop", str(question.number)).lines
    assert "a question for its creator" in asked[0]
    assert f'answer it: colony ticket answer shop {question.number} "…"' in asked[1]
    held = stage("explain", "shop", "2").lines
    assert held[1] == "  against: on hold — let it go on: colony ticket state shop 2 open"
    assert stage("explain", "shop", "1").lines[0].endswith("blocked by shop#2 (pending)")


def test_a_session_that_was_left(stage: Stage) -> None:
    stage.script(work=[answer()])
    assert stage("work", "shop", "1").code == 0
    own = stage("explain", "shop", "1")
    assert own.lines[0] == (
        f"EXPLAIN shop#1 is not started: session {stage.run.name} has it: "
        "its result is kept and not posted"
    )
    assert own.lines[1].endswith(f"post it: colony check runs/{stage.run.name} --post")
    # A result that is kept holds nobody up; a session that was cut off does.
    assert stage("explain", "shop", "2").lines[0] == "EXPLAIN shop#2 would be started next"
    record = stage.record() | {"verdict": None, "report": None, "parts": []}
    (stage.run / "session.json").write_text(json.dumps(record))
    other = stage("explain", "shop", "2")
    assert other.lines[0] == "EXPLAIN shop#2 comes after shop#1"
    assert other.lines[1] == (
        f"  against: session {stage.run.name} on shop#1 was interrupted: it goes on first"
        " — go on with it: colony cycle"
    )
    cycle = stage("cycle", "--dry-run")
    assert cycle.lines[-1].startswith("CYCLE DRY RUN — shop#1 would go on")


def test_a_ticket_that_another_host_holds(stage: Stage) -> None:
    stage.lease(ONE, stage.now_ms * 2, OTHER, "elm")
    head, against, *_ = stage("explain", "shop", "1").lines
    assert f"leased by session {OTHER} on elm until " in head
    assert against.endswith("watch it: colony tail shop 1")


def test_a_folder_that_is_taken(stage: Stage) -> None:
    folder = stage.cwd / "dev-shop"
    with lock_folder(folder, "it"):
        done = stage("explain", "shop", "1")
    assert done.lines[0] == (
        "EXPLAIN shop#1 is not started: another session works in its dev folder"
    )
    assert done.lines[1].endswith("see which: colony sessions")


def test_it_is_passed_over_whose_folder_is_taken(stage: Stage) -> None:
    """As `cycle` does: a ticket that cannot start keeps no other from it."""
    stage.register("barn")
    stage.ticket("barn", "A door")
    assert stage("explain", "barn", "1").lines[0] == "EXPLAIN barn#1 comes after shop#1, shop#2"
    with lock_folder(stage.cwd / "dev-shop", "it"):
        assert stage("explain", "barn", "1").lines[0] == "EXPLAIN barn#1 would be started next"


def test_ports_that_are_all_in_use(stage: Stage) -> None:
    with socket.create_server(("127.0.0.1", PORTS + 5)):
        pool = f"{PORTS}-{PORTS + 9}"
        done = stage("explain", "shop", "1", COLONY_PORT_POOL=pool)
    told = f"no free range of 10 ports in {pool}"
    assert done.lines[0] == f"EXPLAIN shop#1 is not started: {told}"
    assert done.lines[1].endswith("let sessions end, or widen COLONY_PORT_POOL")


def test_a_ticket_that_is_not_there(stage: Stage) -> None:
    for words in (["shop", "9"], ["nowhere", "1"]):
        done = stage("explain", *words)
        assert (done.code, done.out) == (3, "")
        assert f"there is no ticket {words[0]}#{words[1]}" in done.error
    assert stage("explain", "shop", "x").code == 2
    stage.database.unlink()
    assert stage("explain", "shop", "1").code == 4


def test_json_says_the_same(stage: Stage) -> None:
    for number in ("1", "2", "3"):
        objects = valid(stage("explain", "shop", number, "--json"))
        assert told(objects) == stage("explain", "shop", number).lines
    assert (objects[0]["answer"], objects[0]["code"]) == ("not started", "stranger")
    assert objects[1]["kind"] == "explain.against"
    assert objects[1]["remedy"].startswith("accept it: ")
