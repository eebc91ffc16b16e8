"""`colony run` where time, signals and accounts interrupt it, beside what mission 020 checks.

| rule | test |
|---|---|
| ports in the brief and in the environment of both agents | test_the_ports_of_a_session |
| a host that is gone: its live lease stays, is expired after its time | test_a_host_that_is_gone |
| sessions that take too long after a stop are parked | test_a_stop_has_its_time |
| adopted sessions are parked, too, also by SIGINT | test_an_adopted_session_is_parked |
| usage limit: told once, nothing else starts, the cost of both parts | test_a_usage_limit |
"""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from colony.core.ticket import Ref
from tests.cli.run_scene import Scene, scene, until
from tests.cli.stage import CART, PORTS, answer, moves

SECOND = Ref("shop", 2)
BANK = Ref("bank", 1)


@pytest.fixture(name="at")
def made_scene(tmp_path: Path) -> Iterator[Scene]:
    with scene(tmp_path) as made:
        yield made


def test_the_ports_of_a_session(at: Scene) -> None:
    at.stage.ticket()
    tells = {"run": "echo {name} $COLONY_PORTS $COLONY_PORT_FROM $COLONY_PORT_TO >> told"}
    at.stage.script(work=[tells, answer()], check=[tells, {"recheck": True}])
    assert at.once().code == 0
    at.in_review(CART)
    span = f"{PORTS}-{PORTS + 9}"
    told = f"shop-1 {span} {PORTS} {PORTS + 9}"
    assert (at.dev() / "told").read_text().splitlines() == [told, told]
    assert span in (at.stage.run / "brief.md").read_text()


def test_a_host_that_is_gone(at: Scene) -> None:
    at.stage.ticket()
    at.stage.ticket(subject="Somebody's own")
    at.stage.move(SECOND, "progress", "I do this one")
    first = at.run("--lease-ttl", "10")
    at.waits_for()
    first.send(signal.SIGKILL)
    first.ends()
    at.kill_all()
    until(lambda: not at.processes(), 10, "a process is left")
    shutil.rmtree(at.stage.home / "runs")
    at.go()
    second = at.run("--lease-ttl", "10")
    second.says("nothing to start")
    assert "expired" not in second.out.read_text()
    second.says("expired shop#1", "started shop#1")
    at.in_review(CART)
    assert moves(at.stage) == ["progress", "open", "progress", "review"]
    assert at.stage.row(SECOND).state == "progress"
    assert len(at.stage.runs) == 1


def test_a_stop_has_its_time(at: Scene) -> None:
    at.stage.ticket()
    loop = at.run("--stop-finish-seconds", "1")
    at.waits_for()
    loop.send(signal.SIGTERM)
    assert loop.ends(8) == 0
    loop.says("stop requested", "· parked: it was stopped ·")
    assert not at.processes()


def test_an_adopted_session_is_parked(at: Scene) -> None:
    at.stage.ticket()
    first = at.run()
    at.waits_for()
    first.send(signal.SIGKILL)
    first.ends()
    second = at.run()
    second.says("adopted shop#1")
    second.send(signal.SIGTERM)
    second.says("stop requested")
    second.send(signal.SIGINT)
    assert second.ends(8) == 0
    second.says("· parked: it was stopped ·")
    assert not at.processes()


def test_a_usage_limit(at: Scene) -> None:
    at.stage.register("bank")
    at.stage.ticket()
    limited = [{"limit": "five_hour", "reset_in": 1000}]
    at.stage.script(work=limited, resume=[answer()], account="anna")
    loop = at.run("--parallel", "2")
    loop.says("· parked until ", "LIMIT: usage limit reached")
    at.stage.ticket("bank")
    assert "wait bank#1: usage limit reached until " in at.stage("run", "--dry-run").out
    assert loop.out.read_text().count("LIMIT:") == 1, "it is said once"
    session = at.stage.run.name
    at.stage.script(work=[answer()], resume=[answer()], account="anna")
    assert at.stage("resume", session).code == 0
    loop.says("LIMIT: resumed", f"resumed shop#1 ({session}")
    at.in_review(CART, BANK)
    loop.says(f"SESSION END shop#1 {session} · posted")
    record = json.loads((at.stage.home / "runs" / session / "session.json").read_text())
    parts = record["parts"]
    assert [part["kind"] for part in parts] == ["work", "work", "check"]
    total = sum(part["costUsd"] for part in parts)
    [end] = [line for line in loop.lines if f"{session} · posted" in line]
    assert f"${total:.4f} (" in end
