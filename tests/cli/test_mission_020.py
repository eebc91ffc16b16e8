"""The loop, as the seed's checks of mission 020 name it: real processes, real signals.

| check | test |
|---|---|
| a live tracker is refused | test_a_tracker_of_others_is_refused_without_live |
| `--parallel` beyond the pool | test_more_sessions_than_ports_are_refused |
| SIGKILL of the loop | test_sessions_outlive_a_killed_loop_and_are_adopted |
| SIGKILL of everything | test_after_a_crash_of_all_the_session_is_taken_up |
| a dead lease of another host | test_a_dead_lease_of_another_host_is_given_back_and_worked |
| no colony lease | test_what_is_in_progress_by_hand_is_never_expired |
| SIGTERM idle | test_idle_it_stops_at_once |
| SIGTERM while running | test_a_first_stop_lets_sessions_finish |
| second SIGTERM | test_a_second_stop_parks_and_the_next_run_goes_on |
| usage limit | test_a_limit_parks_the_session_and_holds_the_account |
| `--parallel 2` | test_two_at_once_have_ports_of_their_own |
| one line an iteration | test_each_iteration_is_one_line |
"""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from colony.core.ticket import Ref
from tests.cli.looping import Gate, carriers, loop, session_processes, until
from tests.cli.stage import CART, PORTS, Stage, a_cart, answer, make_stage, moves


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return a_cart(tmp_path)


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path)


def comments(stage: Stage, word: str, ref: Ref = CART) -> int:
    return sum(event.text.count(word) for event in stage.events(ref))


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url", ["https://tickets.example", "http://10.0.0.1:8600", "postgresql://db.example/colony"]
)
def test_a_tracker_of_others_is_refused_without_live(stage: Stage, url: str) -> None:
    done = stage("run", "--once", COLONY_TICKETS_URL=url)
    assert done.code == 3
    assert done.lines[-1].startswith("run: REFUSED — ")
    assert "--live" in done.lines[-1]
    assert not (stage.home / "run.lock").exists()


def test_more_sessions_than_ports_are_refused(stage: Stage) -> None:
    done = stage("run", "--once", "--parallel", "4")
    assert done.code == 2
    assert "--parallel 4" in done.err


def test_a_second_loop_in_one_home_is_refused(stage: Stage, gate: Gate) -> None:
    gate.script(stage)
    with loop(stage) as first:
        gate.reached()
        done = stage("run", "--once")
        assert done.code == 5
        assert str(first.pid) in done.lines[-1]
        gate.open()
        first.until("session.end", outcome="posted")


def test_a_dry_run_prints_the_plan_and_does_nothing(stage: Stage) -> None:
    before = stage.store()
    done = stage("run", "--dry-run")
    assert done.code == 0
    assert [line.strip() for line in done.lines] == [f"start shop#1 (ports {PORTS}-{PORTS + 9})"]
    assert stage.store() == before
    assert not stage.runs
    assert not (stage.home / "logs").exists()


# --- once ----------------------------------------------------------------------------------------


def test_once_is_one_iteration_and_what_it_began(stage: Stage) -> None:
    stage.ticket(subject="Another")
    done = stage("run", "--once")
    assert done.code == 0
    assert moves(stage) == ["progress", "review"]
    assert stage.row(Ref("shop", 2)).state == "open"
    [ended] = [line for line in done.lines if line.startswith("SESSION END")]
    assert ended.startswith(f"SESSION END shop#1 {stage.run.name} · posted · cost $0.0")
    assert ended.endswith(f"ports {PORTS}-{PORTS + 9} freed")
    assert done.lines[-1].startswith("RUN STOPPED")
    told = (stage.run / "work.log").read_text()
    assert "WORK DONE — shop#1" in told
    log = (stage.home / "logs" / "colony.log").read_text().splitlines()
    assert [line.split(" ", 1)[1] for line in log] == done.lines
    assert not list((stage.home / "runs" / ".starting").iterdir())


def test_the_first_lines_name_what_is_not_the_default(stage: Stage) -> None:
    done = stage("run", "--once", "--interval", "7", COLONY_MAX_TURNS="9")
    told = [line for line in done.lines if line.startswith("RUN: COLONY_")]
    assert "RUN: COLONY_RUN_INTERVAL 7" in told
    assert "RUN: COLONY_MAX_TURNS 9" in told
    assert not [line for line in told if "COLONY_PARALLEL" in line]


def test_each_iteration_is_one_line(stage: Stage) -> None:
    stage.move(CART, "canceled")
    with loop(stage) as running:
        for number in (1, 2, 3):
            told = running.until("iter")
            assert (told["iteration"], told["running"]) == (number, 0)
            assert "nothing to start" in told["text"]


def test_an_option_of_the_loop_is_one_of_its_sessions(stage: Stage) -> None:
    assert stage("run", "--once", "--max-turns", "17").code == 0
    assert stage.record()["setup"]["worker"]["maxTurns"] == 17


# --- stopping ------------------------------------------------------------------------------------


def test_idle_it_stops_at_once(stage: Stage) -> None:
    stage.move(CART, "canceled")
    with loop(stage, interval=60) as running:
        running.until("iter")
        running.send(signal.SIGTERM)
        assert running.ends() == 0
        assert running.said[-1]["kind"] == "run.stopped"


def test_a_first_stop_lets_sessions_finish(stage: Stage, gate: Gate) -> None:
    gate.script(stage)
    stage.ticket(subject="Another")
    with loop(stage) as running:
        gate.reached()
        running.send(signal.SIGTERM)
        running.until("run", "stop requested")
        gate.open()
        running.until("session.end", outcome="posted")
        assert running.ends() == 0
    assert moves(stage) == ["progress", "review"]
    assert stage.row(Ref("shop", 2)).state == "open", "nothing new was started"


@pytest.mark.parametrize("how", ["twice", "in time"])
def test_a_second_stop_parks_and_the_next_run_goes_on(stage: Stage, gate: Gate, how: str) -> None:
    gate.script(stage)
    words = [] if how == "twice" else ["--stop-finish-seconds", "1"]
    with loop(stage, *words) as running:
        gate.reached()
        running.send(signal.SIGTERM)
        running.until("run", "stop requested")
        stopped_s = time.monotonic() + (0 if how == "twice" else 1)
        if how == "twice":
            running.send(signal.SIGTERM)
        told = running.until("session.end")
        assert running.ends() == 0
        assert time.monotonic() - stopped_s < 3.5
        assert "parked: it was stopped" in told["text"]
    assert not carriers(stage)
    assert not session_processes(stage)
    assert stage.row(CART).state == "progress"
    assert comments(stage, "colony-parked:") == 1
    gate.open()
    done = stage("run", "--once")
    assert f"resumed shop#1 ({stage.run.name}" in done.out
    assert moves(stage) == ["progress", "review"]
    assert comments(stage, "· resumed (park 1) ·") == 1
    parts = stage.record()["parts"]
    assert [(part["kind"], part["resumes"]) for part in parts[:2]] == [
        ("work", False),
        ("work", True),
    ]
    assert parts[0]["agentSession"] == parts[1]["agentSession"]


def test_a_third_stop_kills_what_does_not_end(stage: Stage, gate: Gate) -> None:
    deaf = [{"ignore_term": True}, gate.wait, answer()]
    stage.script(work=deaf, resume=deaf)
    with loop(stage) as running:
        gate.reached()
        [work] = session_processes(stage)
        for told in ("stop requested", "parking", "killing"):
            running.send(signal.SIGTERM)
            running.until("run", told)
        assert running.ends() == 0
        until(lambda: not carriers(stage), 5)
        assert work not in session_processes(stage)
    gate.open()
    assert stage("run", "--once").code == 0
    assert moves(stage) == ["progress", "review"]


# --- crashes -------------------------------------------------------------------------------------


def test_sessions_outlive_a_killed_loop_and_are_adopted(stage: Stage, gate: Gate) -> None:
    gate.script(stage)
    with loop(stage, "--parallel", "1") as first:
        gate.reached()
        first.send(signal.SIGKILL)
        first.process.wait()
        assert len(session_processes(stage)) == 1
        stage.ticket(project="barn", subject="Another")
        stage.register("barn")
        with loop(stage, "--parallel", "1") as second:
            told = second.until("iter")
            assert f"adopted shop#1 ({stage.run.name})" in told["text"]
            assert (told["started"], told["running"]) == ([], 1), "its slot is taken"
            gate.open()
            ended = second.until("session.end", outcome="posted")
            assert ended["session"] == stage.runs[0].name
            second.until("session.end", ticket="barn#1")
    assert gate.count == 2, "one start each"
    assert moves(stage) == ["progress", "review"]


def test_after_a_crash_of_all_the_session_is_taken_up(stage: Stage, gate: Gate) -> None:
    gate.script(stage)
    with loop(stage) as running:
        gate.reached()
        running.send(signal.SIGKILL)
    assert not session_processes(stage)
    assert not carriers(stage)
    gate.open()
    done = stage("run", "--once")
    assert f"resumed shop#1 ({stage.run.name}" in done.out
    assert moves(stage) == ["progress", "review"]
    assert comments(stage, "colony-lease:") == 1, "the same lease"
    assert comments(stage, "colony-report:") == 1


def test_one_that_dies_each_time_is_given_back(stage: Stage, gate: Gate) -> None:
    """`COLONY_CRASH_RESUMES`: so often and no more."""
    gate.script(stage)
    with loop(stage, "--crash-resumes", "1") as running:
        for start in (1, 2):
            until(lambda: gate.count >= start)  # noqa: B023
            [work] = session_processes(stage)
            Path(f"/proc/{work}").exists()
            import os

            os.kill(work, signal.SIGKILL)
            running.until("session.end", outcome=None)
        running.until("session.end", outcome="given back")
        gate.open()
    assert comments(stage, "given back · reason crashed") == 1


def test_a_dead_lease_of_another_host_is_given_back_and_worked(stage: Stage) -> None:
    stage.lease(CART, stage.now_ms - 60_000)
    with loop(stage) as running:
        told = running.until("iter")
        assert told["expired"] == ["shop#1 (session s-20260131T1819-abc123) → open"]
        running.until("session.end", outcome="posted")
    assert moves(stage) == ["progress", "open", "progress", "review"]


def test_what_is_in_progress_by_hand_is_never_expired(stage: Stage) -> None:
    stage.move(CART, "progress")
    before = len(stage.events(CART))
    done = stage("run", "--once")
    assert "nothing to start" in done.out
    assert len(stage.events(CART)) == before


# --- limits, slots, ports ------------------------------------------------------------------------


def test_a_limit_parks_the_session_and_holds_the_account(stage: Stage) -> None:
    stage.register("barn")
    stage.ticket(project="barn", subject="Another")
    hits = {"work": [{"limit": "five_hour", "reset_in": 5}], "account": "anna"}
    stage.script(**hits, resume=[answer()])
    with loop(stage) as running:
        ended = running.until("session.end")
        assert "parked until" in ended["text"]
        # The loop may have seen the limit in the stream before the session ended.
        [held] = running.of("limit") or [running.until("limit")]
        assert "usage limit reached" in held["text"]
    told = stage("run", "--once", "--json").objects[-2]
    assert told["waiting"] == {"barn#1": "held", "shop#1": "parked"}
    stage.script(work=[answer()], resume=[answer()], account="anna")
    # Time passes in the record, not in the test.
    record = stage.record()
    for part in record["parts"]:
        part |= {"startedMs": 1, "endedMs": 2, "limitUntilMs": 3}
    (stage.run / "session.json").write_text(json.dumps(record))
    assert "resumed shop#1" in stage("run", "--once").out
    assert moves(stage) == ["progress", "review"]
    assert comments(stage, "colony-parked:") == 1


def test_two_at_once_have_ports_of_their_own(tmp_path: Path) -> None:
    stage, gate = make_stage(tmp_path), Gate(tmp_path)
    gate.script(stage)
    for name in ("shop", "barn", "mill"):
        stage.register(name)
        stage.ticket(project=name, subject="A cart")
    stage.ticket(subject="A second one")
    with loop(stage, "--parallel", "2") as running:
        told = running.until("iter")
        assert len(told["started"]) == 2
        assert told["waiting"]["mill#1"] == "slots"
        assert told["waiting"]["shop#2"] == "folder"
        until(lambda: gate.count == 2)
        gate.open()
        for _ in range(4):
            running.until("session.end", outcome="posted")
    ports = [line.split()[1] for line in gate.starts.read_text().splitlines()]
    assert len({*ports[:2]}) == 2


def test_a_refused_start_is_told_with_its_reason_and_tried_later(stage: Stage) -> None:
    with loop(stage, COLONY_STAND_IN_SCRIPT=str(stage.home / "none.json")) as running:
        ended = running.until("session.end")
        assert "not started: " in ended["text"]
        assert "none.json" in ended["text"]
        told = running.until("iter")
        assert told["waiting"] == {"shop#1": "refused"}
    assert not stage.runs
    assert moves(stage) == []


def test_a_pause_holds_starts_until_it_is_taken_away(stage: Stage) -> None:
    assert stage("pause", "shop").code == 0
    with loop(stage) as running:
        assert running.until("iter")["waiting"] == {"shop#1": "paused"}
        assert stage("resume", "shop").code == 0
        running.until("session.end", outcome="posted")


def test_a_signal_to_read_again_takes_new_settings(stage: Stage) -> None:
    stage.move(CART, "canceled")
    with loop(stage, interval=30) as running:
        assert running.until("iter")["parallel"] == 1
        (stage.home / ".env").write_text("COLONY_PARALLEL=2\n")
        running.send(signal.SIGHUP)
        running.until("run", text="settings and registry were read again")
        assert running.until("iter")["parallel"] == 2
        (stage.home / ".env").write_text("COLONY_PARALLEL=none\n")
        running.send(signal.SIGHUP)
        assert "not read again" in running.until("run")["text"]
        assert running.until("iter")["parallel"] == 2
