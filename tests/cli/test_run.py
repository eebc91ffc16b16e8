"""`colony run`, the real one, with real sessions.

| rule | test |
|---|---|
| one iteration, and what it began, to its end | test_once_is_one_iteration_and_what_it_began |
| `--dry-run` prints the plan and changes nothing | test_a_dry_run_writes_nothing |
| settings that are not the default come first, secrets as `set` | test_it_begins_with_what_is_set |
| a killed loop's sessions are the next one's | test_the_next_loop_adopts_what_a_killed_one_left |
| its session is killed: taken up again | test_a_killed_session_is_taken_up |
| who had no leave to post gets none | test_recovery_posts_only_what_may_be_posted |
| a refused start holds up no other | test_a_refused_start_keeps_nobody_else_waiting |
| why a start was refused | test_a_refusal_that_leaves_no_folder_is_told |
| SIGHUP reads `.env` and registry; what an option set stays | test_what_is_read_again |
| settings that cannot be used end no loop | test_a_broken_setting_ends_no_loop |
| a tracker that goes away and comes back | test_a_tracker_that_goes_away |
| READY, STATUS, WATCHDOG, STOPPING | test_the_service_manager_is_told |
| `logs/colony.log` holds the lines with their time | test_the_log |
| a folder named `colony` where it is started | test_the_sessions_are_this_program |
| --json | test_json_lines |
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from colony.core.records import HostRecord
from colony.core.ticket import Ref
from tests.cli.run_scene import Scene, scene, until
from tests.cli.stage import CART, LINES, PORTS, moves

FIRST = f"{PORTS}-{PORTS + 9}"


@pytest.fixture(name="at")
def made_scene(tmp_path: Path) -> Iterator[Scene]:
    with scene(tmp_path) as made:
        yield made


def test_once_is_one_iteration_and_what_it_began(at: Scene) -> None:
    at.go()
    at.stage.ticket()
    at.stage.ticket(subject="A till")
    done = at.once()
    assert done.code == 0, done
    [line] = [line for line in done.lines if line.startswith("ITER")]
    session = at.stage.run.name
    assert f"running 1/1 · started shop#1 ({session}, ports {FIRST})" in line
    assert "waiting: shop#2" in line
    [ended] = [line for line in done.lines if line.startswith("SESSION END")]
    assert ended.startswith(f"SESSION END shop#1 {session} · posted · cost $0.0400 (worker $0.0200")
    assert ended.endswith(f"· ports {FIRST} freed")
    assert done.lines[-1].startswith("RUN STOPPED")
    assert moves(at.stage) == ["progress", "review"]
    assert moves(at.stage, Ref("shop", 2)) == []
    log = (at.stage.run / "work.log").read_text()
    assert "WORK DONE — shop#1 is in review" in log
    assert not list((at.stage.home / "runs/.starting").iterdir())


def test_the_tracker_is_told_of_this_host(at: Scene) -> None:
    """While it works, and that it takes nothing more when it has ended."""

    def told() -> list[HostRecord]:
        with at.stage.tracker() as tracker:
            return list(tracker.hosts())

    at.stage.ticket()
    running = at.run()
    until(told)
    [host] = told()
    assert (host.name, host.slots) == ("here", 1)
    at.go()
    running.says("SESSION END")
    running.send(signal.SIGTERM)
    assert running.ends() == 0
    [host] = told()
    assert (host.slots, host.running) == (0, 0)
    assert isinstance(host.iteration, dict)
    assert str(host.iteration["text"]).startswith(f"{host.iteration['number']} ")
    assert at.stage.row(Ref("shop", 1)).state == "review"


def test_a_dry_run_writes_nothing(at: Scene) -> None:
    at.stage.ticket()
    before = at.stage.store(), sorted(at.stage.home.rglob("*"))
    done = at.once("--dry-run")
    assert (done.code, done.lines) == (0, [f"  start shop#1 (ports {FIRST})"])
    assert (at.stage.store(), sorted(at.stage.home.rglob("*"))) == before


def test_it_begins_with_what_is_set(at: Scene) -> None:
    lines = at.once("--parallel", "2", COLONY_MODEL="opus", COLONY_TOKEN_FILE="").lines
    said = [line for line in lines if line.startswith("RUN:")]
    assert lines[: len(said)] == said
    assert {"RUN: COLONY_MODEL opus", "RUN: COLONY_PARALLEL 2"} <= set(said)
    assert not [line for line in said if "COLONY_TIMEOUT" in line or "COLONY_MAX_TURNS" in line]


def test_the_next_loop_adopts_what_a_killed_one_left(at: Scene) -> None:
    at.stage.ticket()
    at.stage.ticket(subject="A till")
    first = at.run()
    at.waits_for()
    first.send(signal.SIGKILL)
    first.ends()
    second = at.run()
    second.says(f"adopted shop#1 ({at.stage.run.name})", "running 1/1")
    assert "started" not in second.out.read_text()
    at.go()
    second.says(f"SESSION END shop#1 {at.stage.run.name} · posted")
    at.in_review(CART, Ref("shop", 2))
    assert len(at.stage.runs) == 2
    assert moves(at.stage) == ["progress", "review"]
    second.send(signal.SIGTERM)
    assert second.ends() == 0


def test_a_killed_session_is_taken_up(at: Scene) -> None:
    at.stage.ticket()
    loop = at.run()
    at.waits_for()
    at.go()
    [work] = [pid for pid in at.processes() if _is_work(pid)]
    os.kill(work, signal.SIGKILL)
    loop.says("its process was killed by signal 9, to be taken up", "resumed shop#1")
    at.in_review(CART)
    assert at.stage.texts(CART).count("colony-report:") == 1
    assert len(at.stage.runs) == 1


def test_recovery_posts_only_what_may_be_posted(at: Scene) -> None:
    at.stage.ticket()
    by_hand = at.stage.start("work", "shop", "1")
    until(at.began().exists)
    by_hand.kill()
    by_hand.communicate()
    at.go()
    done = at.once()
    assert done.code == 0
    assert "resumed shop#1" in done.out
    assert "its result is kept, not posted" in done.out
    assert "colony-report:" not in at.stage.texts(CART)
    assert at.stage.record()["post"] is False
    assert "started" not in at.once().out and "resumed" not in at.once().out


def test_a_refused_start_keeps_nobody_else_waiting(at: Scene) -> None:
    at.stage.register("bank", agent="claude")
    at.go()
    at.stage.ticket("bank")
    at.stage.ticket()
    loop = at.run(COLONY_CLAUDE="/no/such/claude", ANTHROPIC_API_KEY="a key")
    loop.says("started bank#1", "SESSION END bank#1", "not started: ")
    at.in_review(CART)
    assert loop.out.read_text().count("started bank#1") == 1
    loop.says("waiting: bank#1 (", "; again after ")


def test_a_refusal_that_leaves_no_folder_is_told(at: Scene) -> None:
    at.stage.ticket()
    (at.stage.home / "script.json").unlink()
    loop = at.run()
    loop.says("SESSION END shop#1", "not started: the stand-in's script")
    loop.says("waiting: shop#1 (the stand-in's script", "again after")
    assert not at.stage.runs
    assert moves(at.stage) == []
    assert not list((at.stage.home / "runs/.starting").iterdir())


def test_what_is_read_again(at: Scene) -> None:
    at.stage.register("bank", workers=False)
    at.stage.ticket("bank")
    loop = at.run("--parallel", "2")
    # Nothing is asked and nothing is written: only the signal brings the registry's news.
    loop.says("ITER 1", "ITER 3")
    at.stage.register("bank")
    at.go("bank")
    (at.stage.home / ".env").write_text("COLONY_PARALLEL=3\nCOLONY_INBOX_PROJECT=inbox\n")
    loop.send(signal.SIGHUP)
    loop.says("RUN: settings and registry were read again", "started bank#1")
    assert "/3" not in loop.out.read_text(), "an option stands above the file"
    at.in_review(Ref("bank", 1))


def test_a_broken_setting_ends_no_loop(at: Scene) -> None:
    loop = at.run()
    loop.says("ITER 1")
    (at.stage.home / ".env").write_text("COLONY_PARALEL=3\n")
    (at.stage.home / "projects/broken.json").write_text("{")
    loop.send(signal.SIGHUP)
    loop.says("not read again, what held before holds", "COLONY_PARALEL is no setting")
    (at.stage.home / ".env").unlink()
    loop.send(signal.SIGHUP)
    loop.says("settings and registry were read again")
    at.go()
    at.stage.ticket()
    at.in_review(CART)


def test_a_tracker_that_goes_away(at: Scene) -> None:
    at.go()
    at.stage.ticket(subject="A cart")
    loop = at.run()
    at.in_review(CART)
    loop.says("SESSION END shop#1")
    away = at.stage.database.rename(at.stage.home / "away.db")
    loop.says("the tracker does not answer")
    away.rename(at.stage.database)
    at.stage.ticket(subject="A till")
    at.in_review(Ref("shop", 2))
    assert loop.process.poll() is None


@pytest.mark.parametrize("abstract", [False, True])
def test_the_service_manager_is_told(at: Scene, tmp_path: Path, abstract: bool) -> None:
    name = f"\0colony-{os.getpid()}-{tmp_path.name}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(name)
        manager.settimeout(30)
        loop = at.run(NOTIFY_SOCKET=name.replace("\0", "@"), WATCHDOG_USEC="400000")
        heard = [manager.recv(4096).decode()]
        assert heard[0] == "READY=1"
        while heard.count("WATCHDOG=1") < 3:
            heard.append(manager.recv(4096).decode())
        assert [each for each in heard if each.startswith("STATUS=ITER 1 ")]
        loop.send(signal.SIGTERM)
        while heard[-1] != "STOPPING=1":
            heard.append(manager.recv(4096).decode())
        assert loop.ends() == 0


def test_the_log(at: Scene) -> None:
    lines = at.once().lines
    log = at.stage.home / "logs/colony.log"
    stamped = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (.*)")
    found = [stamped.fullmatch(line) for line in log.read_text().splitlines()]
    assert [each[1] for each in found if each] == lines
    assert log.stat().st_mode & 0o777 == 0o600


def test_the_sessions_are_this_program(at: Scene) -> None:
    at.go()
    at.stage.ticket()
    shadow = at.stage.cwd / "colony"
    shadow.mkdir()
    (shadow / "__init__.py").write_text("")
    (shadow / "__main__.py").write_text("raise SystemExit('not this one')\n")
    done = at.once()
    assert at.stage.row(CART).state == "review", done


def test_json_lines(at: Scene) -> None:
    at.go()
    at.stage.ticket()
    objects = [json.loads(line) for line in at.once("--json").lines]
    for each in objects:
        LINES.validate(each)
    kinds = [each["kind"] for each in objects if each["kind"] != "run"]
    assert [kind for kind in kinds if kind != "warning"] == [
        "guard", "iter", "session.end", "run.stopped",
    ]  # fmt: skip
    [ended] = [each for each in objects if each["kind"] == "session.end"]
    assert (ended["ticket"], ended["outcome"]) == ("shop#1", "posted")
    assert ended["costUsd"] == pytest.approx(0.04)


def _is_work(pid: int) -> bool:
    words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return b"work" in words and b"--session" in words
