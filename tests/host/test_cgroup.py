"""A control group for each session, in this machine's own hierarchies: v1 here, as root.

| rule | test |
|---|---|
| past its limit a box ends, and its neighbour does not | test_past_its_limit_it_ends_alone |
| F73: a fork bomb takes nothing from others | test_a_fork_bomb_stays_in_its_box |
| F20: the worker goes before its controller | test_the_kernel_takes_the_worker_first |
| nothing of a box is outside its group | test_all_of_a_box_is_in_its_group |
| what a killed process left is ended and removed | test_what_was_left_is_ended_and_removed |
| without a group it is looked at | test_without_a_group_it_is_looked_at |
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from colony.core.endings import Exit
from colony.host.boxes import SystemBoxes
from colony.host.cgroup import Group, Grouped, Limits, Ungrouped, clear, made, tier_of
from colony.host.identity import is_alive, pids
from colony.host.process import Confinement, Running, spawn
from tests.fakes.real_group import real_group
from tests.host.conftest import CLOCK, MARK, PATIENCE_S, SLEEP, Parts, until

MB = 1_000_000
LIMIT = 100 * MB
PYTHON = "/usr/bin/python3"
GREEDY = f"kept = [bytearray(b'x' * 1_000_000) for _ in range(400)]; time.sleep({MARK})"
EATS = f'{PYTHON} -c "import time; {GREEDY}"'
"""Takes 400 MB."""
_NUMBERS = itertools.count(1)


@pytest.fixture
def tier() -> Grouped:
    found = tier_of()
    if isinstance(found, Ungrouped):
        pytest.skip(f"this machine gives no control groups: {found.why}")
    return found


@pytest.fixture
def session(tier: Grouped) -> Iterator[str]:
    """A session's name; whatever is left of its group goes."""
    name = f"test-{MARK}-{next(_NUMBERS)}"
    yield name
    clear(tier, name)


def group_of(tier: Grouped, session: str) -> Group:
    return next(tier.groups(session))


def begun(parts: Parts, tier: Grouped, session: str, script: str, limits: Limits) -> Running:
    env = {"PATH": "/usr/bin:/bin", "COLONY_SESSION": session}
    command = parts.command(script, env=env)
    running = spawn(command, parts.containment, Confinement(tier, limits))
    parts.running.append(running)
    running.go()
    return running


def test_past_its_limit_it_ends_alone(parts: Parts, tier: Grouped, session: str) -> None:
    """F19"""
    neighbour = parts.start(SLEEP)
    # What the kernel killed may not have been the agent: whoever looks ends the rest.
    running = begun(parts, tier, session, EATS, Limits(LIMIT))
    until(lambda: running.wait(0.05) or running.out_of_memory)
    running.kill()
    assert running.out_of_memory
    assert running.oom_kills >= 1
    assert 0.8 * LIMIT < running.peak_bytes <= LIMIT
    assert running.counted_by == group_of(tier, session).name
    assert is_alive(neighbour.agent)
    assert neighbour.wait(0) is None
    assert not any(folder.exists() for folder in group_of(tier, session).folders)


def test_an_agent_that_eats_is_killed_by_the_kernel(
    parts: Parts, tier: Grouped, session: str
) -> None:
    running = begun(parts, tier, session, f"exec {EATS}", Limits(LIMIT))
    assert running.wait(PATIENCE_S) == Exit(signal=signal.SIGKILL)
    assert running.out_of_memory


def test_what_it_held_is_known_where_it_did_not_run_out(
    parts: Parts, tier: Grouped, session: str
) -> None:
    held = f"{PYTHON} -c \"kept = b'x' * 60_000_000; print('up', flush=True); input()\""
    running = begun(parts, tier, session, f"sleep {MARK} | {held}", Limits(500 * MB))
    parts.says("up")
    assert running.wait(0) is None
    running.kill()
    assert not running.out_of_memory
    assert 55 * MB < running.peak_bytes < 200 * MB


def test_all_of_a_box_is_in_its_group(parts: Parts, tier: Grouped, session: str) -> None:
    running = begun(parts, tier, session, f"setsid {SLEEP} & {SLEEP} & wait", Limits(LIMIT, 50))
    until(lambda: len(sleepers()) == 2)
    for folder in group_of(tier, session).folders:
        inside = set(map(int, (folder / "cgroup.procs").read_text().split()))
        assert {*sleepers(), running.agent.pid} <= inside
        assert os.getpid() not in inside
    score = int(Path("/proc/self/oom_score_adj").read_text())
    for pid in (*sleepers(), running.agent.pid):
        assert int(Path(f"/proc/{pid}/oom_score_adj").read_text()) == min(1000, score + 500)
    assert int(Path("/proc/self/oom_score_adj").read_text()) == score


def sleepers() -> list[int]:
    found = []
    for pid in pids():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:2] == [b"sleep", MARK.encode()]:
            found.append(pid)
    return found


BOMB = f"""{PYTHON} -c "
import os, sys
left = 0
while left < 5:
    try:
        if not os.fork():
            left = 0
    except OSError:
        left += 1
        if left == 1:
            print('full', flush=True)
input()
" """


def test_a_fork_bomb_stays_in_its_box(parts: Parts, tier: Grouped, session: str) -> None:
    """F73: each copy forks on until none can; all others still can."""
    if not tier.processes:
        pytest.skip("processes cannot be limited here")
    script = f"{SLEEP} | {BOMB}"
    running = begun(parts, tier, session, script, Limits(400 * MB, processes=60))
    try:
        parts.says("full")
        count = (group_of(tier, session).folders[-1] / "cgroup.procs").read_text().split()
        assert 30 < len(count) <= 60
        assert subprocess.run(("true",), check=False, timeout=PATIENCE_S).returncode == 0
    finally:
        running.kill()
    assert not any(folder.exists() for folder in group_of(tier, session).folders)


CONTROLLER = """
import subprocess, sys
from colony.host.memory import take_first
kept = b"x" * 90_000_000
eats = "input(); kept = [bytearray(b'x' * 1_000_000) for _ in range(400)]"
worker = subprocess.Popen([sys.executable, "-c", eats], stdin=subprocess.PIPE)
take_first(worker.pid)
worker.communicate(b"go\\n")
print(worker.returncode, len(kept))
"""


def test_the_kernel_takes_the_worker_first() -> None:
    """F20: in a group that both are in, where the worker has not even grown as large yet."""
    with real_group(150 * MB) as group:
        done = subprocess.run(
            group.joined((sys.executable, "-c", CONTROLLER)),
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "-9 90000000\n"), done.stderr


def test_what_was_left_is_ended_and_removed(tier: Grouped, session: str) -> None:
    """Who has left its session's environment behind is still in its group, and in one below."""
    group = made(tier, session, Limits(LIMIT, 50))
    assert group is not None
    with subprocess.Popen(("sleep", MARK), env={}) as hidden:
        try:
            below = group.memory / "below"
            below.mkdir()
            group.take((hidden.pid,))
            (below / "cgroup.procs").write_text(str(hidden.pid))
            [swept] = SystemBoxes(tier).sweep(session, CLOCK)
        finally:
            hidden.kill()
        assert hidden.wait(PATIENCE_S) == -signal.SIGKILL
    assert (swept.process.pid, swept.command) == (hidden.pid, f"sleep {MARK}")
    assert not any(folder.exists() for folder in group.folders)
    assert SystemBoxes(tier).sweep(session, CLOCK) == ()


def test_a_group_that_is_there_already_is_not_shared(tier: Grouped, session: str) -> None:
    """Its counters tell of another run: without a group of its own it is looked at."""
    first = made(tier, session, Limits(LIMIT))
    assert first is not None
    assert made(tier, session, Limits(LIMIT)) is None


def test_without_a_group_it_is_looked_at(parts: Parts) -> None:
    confinement = Confinement(limits=Limits(LIMIT))
    running = spawn(parts.command(EATS), parts.containment, confinement)
    parts.running.append(running)
    running.go()
    until(lambda: running.wait(0.05) or running.out_of_memory)
    assert running.wait(0) is None
    running.kill()
    assert running.out_of_memory
    assert running.peak_bytes > LIMIT
    assert running.counted_by == "looked at"


def test_what_is_shared_is_no_reason(parts: Parts) -> None:
    """Four that have the same 60 MB hold 60 MB, and not 240."""
    forks = (
        "import os, time; kept = b'x' * 60_000_000; os.fork(); os.fork();"
        f" print('up', flush=True); time.sleep({MARK})"
    )
    confinement = Confinement(limits=Limits(150 * MB))
    running = spawn(parts.command(f'{PYTHON} -c "{forks}"'), parts.containment, confinement)
    parts.running.append(running)
    running.go()
    until(lambda: parts.out.read_text().count("up") == 4)
    assert running.wait(0) is None
    assert running.peak_bytes > 200 * MB
    assert not running.out_of_memory
