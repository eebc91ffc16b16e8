"""The sweep: a session's processes are ended, and nobody else's."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from colony.host.identity import identify, is_alive, session_of, stat_of
from colony.host.sweep import sweep
from tests.host.conftest import CLOCK, MARK, SLEEP, until

ROOT = Path(__file__).resolve().parents[2]
OURS, OTHER = f"test-{MARK}-ours", f"test-{MARK}-other"

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts scripts that print one line when they stand, and ends them after the test."""
    running: list[subprocess.Popen[str]] = []

    def started(script: str, session: str | None) -> subprocess.Popen[str]:
        env = {"PATH": "/usr/bin:/bin"} | ({"COLONY_SESSION": session} if session else {})
        process = subprocess.Popen(
            ["/bin/sh", "-c", script], env=env, stdout=subprocess.PIPE, text=True
        )
        running.append(process)
        assert process.stdout
        assert process.stdout.readline()
        return process

    yield started
    for process in running:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


def test_only_the_session_is_swept(start: Start) -> None:
    ours = start(f"echo up; exec {SLEEP}", OURS)
    spared = [
        start(f"echo up; exec {SLEEP}", OTHER),
        start(f"echo up; exec {SLEEP}", OURS + "x"),
        start(f"echo up; exec {SLEEP}", None),
    ]
    (swept,) = sweep(OURS, CLOCK)
    assert swept.process.pid == ours.pid
    assert swept.command == SLEEP
    assert swept.ended == "TERM"
    assert ours.wait() == -15
    assert [process.poll() for process in spared] == [None, None, None]
    assert sweep(OURS, CLOCK) == ()


def test_what_moved_to_a_session_of_its_own_is_found(start: Start) -> None:
    """F16, where no box held it."""
    gone = start(f"(setsid nohup sh -c 'echo $$; exec {SLEEP}' &) 2>/dev/null; exit 0", OURS)
    gone.wait()
    (swept,) = sweep(OURS, CLOCK)
    assert swept.command in (SLEEP, f"sh -c echo $$; exec {SLEEP}")
    until(lambda: not is_alive(swept.process))


def test_one_that_ignores_sigterm_is_killed(start: Start) -> None:
    deaf = start(f"trap '' TERM; echo up; while :; do {SLEEP}; done", OURS)
    swept = {each.process.pid: each for each in sweep(OURS, CLOCK, grace_s=0.1)}
    assert swept[deaf.pid].ended == "KILL"
    assert deaf.wait() == -9


def test_what_is_started_in_answer_to_sigterm_is_swept_too(start: Start) -> None:
    script = f"trap '(setsid {SLEEP} &) ; exit' TERM; echo up; while :; do {SLEEP} & wait; done"
    start(script, OURS)
    sweep(OURS, CLOCK)
    assert sweep(OURS, CLOCK) == ()


def test_what_must_be_kept_is_kept(start: Start) -> None:
    kept = start(f"echo up; exec {SLEEP}", OURS)
    assert sweep(OURS, CLOCK, keep=[kept.pid]) == ()
    assert kept.poll() is None


SWEEPS_ITSELF = """
import os, subprocess, sys
from colony.host.clock import SystemClock
from colony.host.sweep import sweep
print(*[each.process.pid for each in sweep(os.environ["COLONY_SESSION"], SystemClock())])
"""


def test_a_sweep_ends_neither_itself_nor_what_it_runs_under(start: Start) -> None:
    script = f"{SLEEP} & '{sys.executable}' -c '{SWEEPS_ITSELF}'"
    done = subprocess.run(
        ["/bin/sh", "-c", f"echo $$; {script}; echo alive"],
        cwd=ROOT, env={"COLONY_SESSION": OURS}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    own, swept, alive = done.stdout.splitlines()
    assert alive == "alive"
    assert len(swept.split()) == 1
    assert own not in swept.split()


def test_a_sweep_of_no_session_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="session"):
        sweep("", CLOCK)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has processes of several users")
def test_another_users_process_is_not_swept() -> None:
    theirs = f"test-{MARK}-nobodys"
    env = {"PATH": "/usr/bin:/bin", "COLONY_SESSION": theirs}
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    script = f"echo up; exec {SLEEP}"
    with subprocess.Popen(
        [*nobody, "sh", "-c", script], env=env, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            process.stdout.readline()
            assert session_of(process.pid) == theirs
            assert sweep(theirs, CLOCK) == ()
        finally:
            process.kill()


# --- reused pids -----------------------------------------------------------------------------

REUSES_A_PID = """
import os, signal, subprocess, sys
from pathlib import Path
from colony.host.clock import SystemClock
from colony.host.ending import end_process
from colony.host.identity import identify, is_alive, open_process
clock = SystemClock()
def start():
    return subprocess.Popen(["sleep", sys.argv[1]])
culprit = start()
recorded = identify(culprit.pid)
assert is_alive(recorded)
culprit.kill()
culprit.wait()
assert not is_alive(recorded)
for _ in range(1000):
    Path("/proc/sys/kernel/ns_last_pid").write_text(str(recorded.pid - 1))
    innocent = start()
    again = identify(innocent.pid)
    if innocent.pid == recorded.pid and again.start_ticks != recorded.start_ticks:
        break
    innocent.kill()
    innocent.wait()
else:
    sys.exit("the pid was not reused")
assert open_process(recorded) is None
assert not is_alive(recorded)
assert end_process(recorded, clock) == "gone"
assert innocent.poll() is None
assert end_process(again, clock) == "TERM"
print("innocent lived")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root chooses the next pid")
def test_a_reused_pid_is_never_hurt() -> None:
    """F18"""
    unshare = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
    done = subprocess.run(
        [*unshare, sys.executable, "-c", REUSES_A_PID, MARK],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "innocent lived\n", done.stderr


def test_a_zombie_is_not_alive(start: Start) -> None:
    process = start("echo up", None)
    until(lambda: (stat := stat_of(process.pid)) and stat.state == "Z")
    assert identify(process.pid) is None
