"""The seed's checks of its loop ("Tests of `run`", mission 020), one by one.

| check | test |
|---|---|
| the live address is refused, however it is written | test_a_live_address_is_refused |
| more at once than the pool has ports for | test_more_sessions_than_ports_are_refused |
| ports in the brief and in the environment of both agents | test_the_ports_of_a_session |
| a crashed host: its live lease stays, is expired after its time, one new session | \
test_a_host_that_is_gone |
| what has no lease of Colony is never expired | test_a_host_that_is_gone |
| SIGTERM while idle | test_a_stop_while_idle |
| SIGTERM while running: it finishes and posts, nothing new | test_a_stop_while_running |
| a second SIGTERM parks; the next run goes on with the same conversation | test_two_stops_park |
| a third kills; the next run takes it up | test_three_stops_kill |
| sessions that take too long after a stop are parked | test_a_stop_has_its_time |
| adopted sessions are parked, too | test_an_adopted_session_is_parked |
| usage limit: parked, nothing else starts, resumed, both parts counted | test_a_usage_limit |
| two at once, disjoint ports, the same folder waits | test_two_at_once |

Here a killed loop takes no session with it: `test_run.py` has what becomes of them. The readings of
the quota come with the quota; a limit that was met holds all starts as there.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from colony.core.ticket import Ref
from tests.cli.looping import Loop, Scene, scene, until
from tests.cli.stage import CART, PORTS, answer, moves

SECOND = Ref("shop", 2)
BANK = Ref("bank", 1)


@pytest.fixture(name="at")
def made_scene(tmp_path: Path) -> Iterator[Scene]:
    with scene(tmp_path) as made:
        yield made


@pytest.mark.parametrize(
    "url", ["https://tickets.example", "http://TICKETS.example:80", "http://u@127.0.0.1.example"]
)
def test_a_live_address_is_refused(at: Scene, url: str) -> None:
    done = at.once(COLONY_TICKETS_URL=url)
    assert (done.code, len(done.lines)) == (3, 1)
    assert "add --live" in done.lines[0]


def test_more_sessions_than_ports_are_refused(at: Scene) -> None:
    done = at.once("--parallel", "4")
    assert done.code == 2
    assert done.error == f"ERROR --parallel 4: the pool {PORTS}-{PORTS + 29} has ports for 3"


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
    for pid in at.processes():
        os.kill(pid, signal.SIGKILL)
    first.ends()
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


def test_a_stop_while_idle(at: Scene) -> None:
    loop = at.run("--interval", "3600")
    loop.says("ITER 1")
    loop.send(signal.SIGTERM)
    assert loop.ends(5) == 0
    assert loop.lines[-1].startswith("RUN STOPPED")


def test_a_stop_while_running(at: Scene) -> None:
    at.stage.ticket()
    at.stage.ticket(subject="A till")
    loop = stopped(at, 1)
    loop.says("stop requested")
    at.go()
    assert loop.ends() == 0
    assert at.stage.row(CART).state == "review"
    assert "SESSION END shop#1" in loop.out.read_text()
    assert moves(at.stage, SECOND) == []
    assert not at.processes()


def test_two_stops_park(at: Scene) -> None:
    at.stage.ticket()
    loop = stopped(at, 2)
    assert loop.ends(5) == 0
    [end] = [line for line in loop.lines if line.startswith("SESSION END")]
    assert "· parked: it was stopped ·" in end
    assert not at.processes()
    assert at.stage.row(CART).state == "progress"
    assert "colony-parked:" in at.stage.texts(CART)
    at.go()
    done = at.once()
    assert f"resumed shop#1 ({at.stage.run.name}" in done.out
    assert at.stage.row(CART).state == "review"
    parts = at.stage.record()["parts"]
    assert [part["kind"] for part in parts] == ["work", "work", "check"]
    assert parts[0]["agentSession"] == parts[1]["agentSession"]
    assert at.stage.texts(CART).count("colony-report:") == 1


def test_three_stops_kill(at: Scene) -> None:
    at.stage.ticket()
    at.stage.script(work=[{"ignore_term": True}, at_work(), answer()], resume=[answer()])
    loop = stopped(at, 3)
    assert loop.ends(8) == 0
    until(lambda: not at.processes(), 8, at.processes)
    assert at.stage.row(CART).state == "progress"
    at.go()
    assert at.once().code == 0
    assert at.stage.row(CART).state == "review"


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
    at.stage.script(work=[{"limit": "five_hour", "reset_in": 1000}], resume=[answer()])
    loop = at.run("--parallel", "2")
    loop.says("· parked until ", "LIMIT: usage limit reached")
    at.stage.ticket("bank")
    loop.says("bank#1 (usage limit reached until ")
    assert loop.out.read_text().count("LIMIT:") == 1, "it is said once"
    session = at.stage.run.name
    at.stage.script(work=[answer()], resume=[answer()])
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


def test_two_at_once(at: Scene) -> None:
    at.stage.register("bank")
    for project in ("shop", "bank", "shop"):
        at.stage.ticket(project)
    loop = at.run("--parallel", "3")
    at.waits_for(CART)
    at.waits_for(BANK)
    first = next(line for line in loop.lines if line.startswith("ITER 1 "))
    spans = re.findall(r"(?:shop|bank)#1 \(s-\S+, ports (\d+-\d+)\)", first)
    assert sorted(spans) == [f"{PORTS}-{PORTS + 9}", f"{PORTS + 10}-{PORTS + 19}"]
    assert "waiting: shop#2 (shop#1 is worked on in its folder)" in first
    assert not at.began(SECOND).exists()
    at.go("shop")
    at.go("bank")
    at.in_review(CART, BANK, SECOND)
    loop.send(signal.SIGTERM)
    assert loop.ends() == 0
    numbers = [int(line.split()[1]) for line in loop.lines if line.startswith("ITER ")]
    assert numbers == list(range(1, len(numbers) + 1))
    assert not at.processes()


def stopped(at: Scene, times: int) -> Loop:
    """A loop whose worker runs, asked so often to stop."""
    loop = at.run()
    at.waits_for()
    for number in range(times):
        loop.send((signal.SIGTERM, signal.SIGINT, signal.SIGTERM)[number])
        loop.says(("stop requested", "parking 1 session", "killing 1 session")[number], seconds=5)
    return loop


def at_work() -> dict[str, str]:
    return {"run": "touch began-{name}; until [ -e go ]; do sleep 0.02; done"}
