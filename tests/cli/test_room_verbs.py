"""Does one more fit? As it is asked by the commands that start sessions, and answered to people.

| rule | test |
|---|---|
| `work` is refused (5) and writes nothing | test_work_is_refused_and_writes_nothing |
| `cycle` and `run` alike | test_cycle_is_refused_alike, test_run_waits_and_says_so |
| a session that goes on asks, too | test_a_session_that_goes_on_asks_too |
| off is said | test_the_guard_is_off |
| a bad value gives way to its default, said once | test_a_bad_value_gives_way_to_its_default |
| `config`, `doctor`, `explain` | test_config_shows_…, test_doctor_…, test_explain_… |
| forty at once | test_a_burst_of_forty_in_a_container_of_4_gb |
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cli.looping import Gate, end_sessions, until
from tests.cli.stage import CART, PORTS, Stage, a_cart, answer, make_stage, timeless, valid
from tests.fakes.real_group import RealGroup, real_group

HUGE: Final = {"COLONY_SESSION_MEMORY_MB": "1000000"}
"""More than any machine has."""
NO_ROOM: Final = re.compile(
    r"no room: memory — [0-9.]+ GB held \+ 0\.00 GB for 0 just begun \+ 1048\.58 GB for this one"
    r" > [0-9.]+ GB of [\w/ ]+ - [0-9.]+ GB kept free"
)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return a_cart(tmp_path)


def test_work_is_refused_and_writes_nothing(stage: Stage) -> None:
    kept, before = stage.store(), sorted(stage.home.iterdir())
    for words in (("work", "shop", "1", "--post"), ("work", "shop", "1", "--dry-run")):
        done = stage(*words, **HUGE)
        assert done.code == 5
        guard, refused = done.lines
        assert guard.startswith("GUARD on: memory from ")
        assert refused.startswith("work: REFUSED — ")
        assert NO_ROOM.fullmatch(refused.removeprefix("work: REFUSED — "))
    assert stage.store() == kept
    assert {*stage.home.iterdir()} - {*before} <= {stage.home / "home.lock"}
    assert stage.runs == []
    assert stage("work", "shop", "1", "--post").code == 0


def test_a_refusal_by_json_has_its_code(stage: Stage) -> None:
    refused = stage("work", "shop", "1", "--json", **HUGE).objects[-1]
    assert (refused["kind"], refused["code"]) == ("work.refused", "no_room")


def test_the_disk_is_asked_too(stage: Stage) -> None:
    done = stage("work", "shop", "1", COLONY_SESSION_DISK_MB="99000000")
    assert done.code == 5
    assert "no room: disk — " in done.lines[-1]
    assert "free where the work folder lies < 103809.02 GB for a session" in done.lines[-1]


def test_cycle_is_refused_alike(stage: Stage) -> None:
    done = stage("cycle", "--post", **HUGE)
    assert done.code == 5
    assert "work: REFUSED — no room: memory — " in done.lines[-1]
    assert stage.row(CART).state == "open"


def test_run_waits_and_says_so(stage: Stage) -> None:
    kept = stage.store()
    done = stage("run", "--once", "--json", **HUGE)
    assert done.code == 0
    lines = [each for each in valid(done) if each["kind"] != "warning"]
    [guard] = [each for each in lines if each["kind"] == "guard"]
    assert guard["text"].startswith("on: memory from ")
    [line] = [each for each in lines if each["kind"] == "iter"]
    assert (line["room"], line["waiting"], line["started"]) == ("memory", {"shop#1": "room"}, [])
    assert "waiting: shop#1 (no room: memory) · " in line["text"]
    assert NO_ROOM.search(line["text"])
    assert stage.store() == kept
    assert stage.runs == []
    log = (stage.home / "logs" / "colony.log").read_text()
    assert log.count("GUARD on: ") == 1
    assert NO_ROOM.search(log)


def test_a_session_that_goes_on_asks_too(stage: Stage) -> None:
    stage.script(work=[{"hang": True}])
    running = stage.start("work", "shop", "1", "--post")
    assert running.stdout is not None
    next(line for line in running.stdout if line.startswith("work: PART"))
    running.terminate()
    running.communicate(timeout=30)
    left = stage.record()
    stage.script(work=[answer()], resume=[answer()])
    done = stage("work", "shop", "1", **HUGE | {"COLONY_MEMORY_LIMIT_MB": "1"})
    assert done.code == 5
    assert "no room: " in done.lines[-1]
    assert stage.record() == left
    done = stage("work", "shop", "1")
    assert done.code == 0
    assert stage.record()["admittedMs"] > left["admittedMs"] > 0


def test_what_it_is_expected_to_hold_is_on_record(stage: Stage) -> None:
    assert stage("work", "shop", "1", COLONY_SESSION_MEMORY_MB="77").code == 0
    assert stage.record()["setup"]["memoryMb"] == 77


def test_the_guard_is_off(stage: Stage) -> None:
    told = "WARNING — COLONY_GUARD=off: sessions are started without asking whether they fit here"
    once = stage("run", "--once", COLONY_GUARD="off", **HUGE)
    assert told in once.err
    assert "GUARD" not in once.out.replace("COLONY_GUARD", "")
    assert stage.row(CART).state == "review"
    stage.ticket()
    done = stage("work", "shop", "2", COLONY_GUARD="off", **HUGE)
    assert (done.code, done.err.count(told)) == (0, 1)


# --- values that cannot be used --------------------------------------------------------------

BAD: Final = {
    "COLONY_GUARD": "maybe",
    "COLONY_SESSION_MEMORY_MB": "lots",
    "COLONY_MEMORY_HEADROOM_PERCENT": "101",
    "COLONY_WARMUP_SECONDS": "-1",
    "COLONY_SESSION_DISK_MB": "",
    "COLONY_DISK_HEADROOM_PERCENT": "ten",
    "COLONY_MEMORY_LIMIT_MB": "0",
}


def test_a_bad_value_gives_way_to_its_default(stage: Stage) -> None:
    done = stage("work", "shop", "1", **BAD)
    assert done.code == 0
    told = [line for line in done.err.splitlines() if "is used" in line]
    assert [line.split()[1].rstrip(":") for line in told] == list(BAD)
    assert told[1] == (
        "WARNING COLONY_SESSION_MEMORY_MB lots: must be a whole number; the default 1024 is used"
    )
    assert told[-1].endswith("must be 1 or more; no limit is used")


def test_config_shows_the_default_that_holds(stage: Stage) -> None:
    (stage.home / ".env").write_text("COLONY_WARMUP_SECONDS=soon\n")
    names = ("warmup-seconds", "session-memory-mb")
    done = stage("config", *names, COLONY_SESSION_MEMORY_MB="2048")
    assert done.code == 0
    assert [re.split("  +", line) for line in done.lines] == [
        ["CONFIG session-memory-mb", "COLONY_SESSION_MEMORY_MB", "2048"],
        ["CONFIG warmup-seconds", "default (COLONY_WARMUP_SECONDS cannot be used)", "600"],
    ]
    assert done.error == (
        f"WARNING {stage.home}/.env:1: COLONY_WARMUP_SECONDS soon: must be a whole number;"
        " the default 600 is used"
    )
    [line] = [each for each in stage("config", "warmup-seconds", "--json").objects
              if each["kind"] == "config"]  # fmt: skip
    assert (line["value"], line["usable"]) == ("600", False)


def test_a_bad_value_of_any_other_setting_is_refused(stage: Stage) -> None:
    assert stage("work", "shop", "1", COLONY_STALL_SECONDS="soon", **BAD).code == 2


# --- who asks why ----------------------------------------------------------------------------


def test_doctor_says_whether_one_more_fits(stage: Stage) -> None:
    def line(**environ: str) -> str:
        [found] = [each for each in stage("doctor", **environ).lines if " room — " in each]
        return found

    assert re.search(r"^DOCTOR ok   room — one more session fits: .* memory held .*; memory from "
                     r".*; disk .*run folder lies", line())  # fmt: skip
    assert line(**HUGE).startswith("DOCTOR warn room — no room: memory — ")
    assert line(COLONY_GUARD="off").startswith("DOCTOR warn room — COLONY_GUARD=off: ")


def test_explain_says_whether_one_more_fits(stage: Stage) -> None:
    fits = stage("explain", "shop", "1").lines
    assert "  for: there is memory and disk for one more session" in fits
    refused = stage("explain", "shop", "1", **HUGE).lines
    assert refused[0].startswith("EXPLAIN shop#1 is not started: no room: memory — ")
    assert refused[1].endswith("let sessions end, or make room; what is read: colony doctor")
    off = stage("explain", "shop", "1", COLONY_GUARD="off", **HUGE).lines
    assert "  for: COLONY_GUARD=off: nothing asks whether it fits" in off


# --- forty at once ---------------------------------------------------------------------------

MANY: Final = 40
CONTAINER: Final = 4_000_000_000


@pytest.fixture
def container() -> Iterator[RealGroup]:
    with real_group(CONTAINER) as made:
        yield made


@pytest.mark.long
def test_a_burst_of_forty_in_a_container_of_4_gb(container: RealGroup, tmp_path: Path) -> None:
    """Of forty `colony work` that are started together in a real control group as many begin as
    are to fit together, and each of the others says why. What the forty hold while they ask is
    itself held: two or three fit."""
    stage = make_stage(tmp_path)
    gate = Gate(tmp_path)
    gate.script(stage)
    for number in range(MANY):
        stage.register(f"p{number}")
        stage.ticket(f"p{number}")
    environ = stage.environ | {
        "COLONY_PORTS_PER_SESSION": "1", "COLONY_PORT_POOL": f"{PORTS}-{PORTS + MANY - 1}",
    }  # fmt: skip
    argv = (sys.executable, "-m", "colony", "work")
    begun = []
    for number in range(MANY):
        with (tmp_path / f"out-{number}").open("w") as out:
            words = container.joined((*argv, f"p{number}", "1"))
            begun.append(subprocess.Popen(
                words, cwd=stage.cwd, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=out
            ))  # fmt: skip
    try:
        until(lambda: sum(each.poll() is None for each in begun) <= 3, 120)
        until(lambda: gate.count == sum(each.poll() is None for each in begun), 60)
        runs = len(stage.runs)
        gate.open()
        codes = [each.wait(60) for each in begun]
    finally:
        for each in begun:
            each.kill()
            each.wait()
        end_sessions(stage)
    told = [(tmp_path / f"out-{number}").read_text().splitlines()[-1] for number in range(MANY)]
    started = [number for number, code in enumerate(codes) if code == 0]
    assert runs == len(started) == gate.count
    assert 1 <= len(started) <= 3, told
    for number in set(range(MANY)) - {*started}:
        assert codes[number] == 5, told[number]
        assert re.search(r"work: REFUSED — no room: memory — [0-9.]+ GB held \+ [0-9.]+ GB for"
                         r" [0-3] just begun \+ 1\.07 GB for this one > 4\.00 GB of cgroup v[12]",
                         told[number])  # fmt: skip
    assert all("WORK" in told[number] for number in started), timeless(told)
