"""A session's own limit, as a whole session meets it: real processes in real control groups.

| rule | test |
|---|---|
| past its limit it ends alone, the next gets more | test_a_session_past_its_limit_ends_alone |
| what a killed `work` left goes with the next start | test_a_group_that_was_left_goes |
| an old empty one goes, whoever begins | test_an_old_empty_group_goes |
| `run` says who counts | test_the_loop_says_who_counts |
"""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

from colony.host.cgroup import Group, Grouped, Limits, Ungrouped, made, tier_of
from tests.cli.looping import Gate, end_sessions, until
from tests.cli.stage import CART, PORTS, Stage, a_cart, answer

LIMIT = {"COLONY_SESSION_MEMORY_MAX_MB": "150"}
EATS = {"run": "python3 -c 'import time; kept = b\"x\" * 180_000_000; time.sleep(0.5)' || sleep 60"}
"""Takes 190 MB with the agent. Where it is killed, the agent waits."""


@pytest.fixture
def tier() -> Grouped:
    found = tier_of()
    if isinstance(found, Ungrouped):
        pytest.skip(f"this machine gives no control groups: {found.why}")
    return found


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return a_cart(tmp_path)


def of_shop(stage: Stage) -> list[Path]:
    return [run for run in stage.runs if stage.record(run)["ticket"]["project"] == "shop"]


def there(group: Group) -> bool:
    return any(folder.exists() for folder in group.folders)


def test_a_session_past_its_limit_ends_alone(stage: Stage, tier: Grouped) -> None:
    stage.register("till")
    stage.ticket("till")
    gate = Gate(stage.cwd)
    gate.script(stage)
    neighbour = stage.start("work", "till", "1", "--post", "--ports", f"{PORTS}-{PORTS + 9}")
    try:
        gate.reached()
        stage.script(work=[EATS, answer()])
        done = stage("work", "shop", "1", "--post", **LIMIT)
        assert done.code == 1
        told = re.compile(
            r"it ran out of memory: it held up to 1[2-5][0-9] MiB, its limit is 150 MiB"
        )
        assert told.search(done.lines[-1]), done.out
        assert done.lines[-1].startswith("WORK FAILED — shop#1 is open again: no valid report")
        assert "ended: out of memory — it ran out of memory" in done.out
        assert told.search(stage.texts(CART))
        assert neighbour.poll() is None
        gate.open()
        assert neighbour.wait(60) == 0
    finally:
        neighbour.kill()
        neighbour.communicate()
        end_sessions(stage)
    [eaten] = of_shop(stage)
    [part] = stage.record(eaten)["parts"]
    assert part["ended"] == "out of memory"
    assert 120 << 20 < part["peakBytes"] <= 150 << 20
    shown = stage("sessions", eaten.name).out
    assert re.search(r"out of memory .* · held up to 1[2-5][0-9] MiB of 150 MiB \(cgroup v", shown)
    assert not there(next(tier.groups(eaten.name)))
    assert stage("work", "shop", "1", "--post", **LIMIT).code == 0
    assert stage.row(CART).state == "review"
    [fed] = set(of_shop(stage)) - {eaten}
    assert stage.record(fed)["setup"]["starved"] == 1


def test_a_group_that_was_left_goes(stage: Stage, tier: Grouped) -> None:
    gate = Gate(stage.cwd)
    gate.script(stage)
    begun = stage.start("work", "shop", "1", "--post")
    try:
        gate.reached()
        group = next(tier.groups(stage.run.name))
        assert there(group)
        begun.send_signal(signal.SIGKILL)
        begun.communicate()
        assert there(group)
        gate.open()
        done = stage("work", "shop", "1", "--post")
    finally:
        begun.kill()
        begun.communicate()
        end_sessions(stage)
    assert done.code == 0, done.out
    assert "goes on with session" in done.out
    assert not there(group)


def test_an_old_empty_group_goes(stage: Stage, tier: Grouped) -> None:
    """That of a session which nobody comes back to; a new one may be about to be filled."""
    old, new = (made(tier, f"test-{word}-{os.getpid()}", Limits()) for word in ("old", "new"))
    assert old is not None
    assert new is not None
    try:
        for folder in old.folders:
            os.utime(folder, (1, 1))
        assert stage("work", "shop", "1").code == 0
        until(lambda: not there(old), 5)
        assert there(new)
    finally:
        old.leave()
        new.leave()


def test_the_loop_says_who_counts(stage: Stage) -> None:
    lines = stage("run", "--once").lines
    told = [each for each in lines if "control group" in each]
    assert len(told) == 1
    assert told[0].startswith("RUN: ")
