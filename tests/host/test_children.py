"""Processes that outlive their parent: started apart, found again by their lock, never mistaken."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from colony.core.endings import Exit
from colony.errors import Refused
from colony.host.children import Child, adopt, start
from colony.host.files import CannotWrite
from colony.host.identity import has_ended, stat_of
from colony.host.lock import lock_file
from colony.host.starting_log import Said
from tests.host.conftest import PATIENCE_S, SLEEP, until

ROOT = Path(__file__).resolve().parents[2]
SH = "/bin/sh"
ENV = {"PATH": "/usr/bin:/bin"}


@contextmanager
def running(script: str, log: Path, env: dict[str, str] | None = None) -> Iterator[Child]:
    child = start([SH, "-c", script], env or ENV, log)
    try:
        yield child
    finally:
        child.signal(signal.SIGKILL)
        assert has_ended(child.pidfd, PATIENCE_S)
        child.reap()
        child.close()


def finished(child: Child) -> Exit | None:
    assert has_ended(child.pidfd, PATIENCE_S)
    found = child.reap()
    child.close()
    return found


def test_what_it_says_is_appended_to_a_private_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for word in ("one", "two"):
        child = start([SH, "-c", f"echo {word}; echo {word} >&2; cat"], ENV, log)
        assert finished(child) == Exit(code=0), "its input is empty: cat ends"
    assert log.read_text() == "one\none\ntwo\ntwo\n"
    assert log.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("script", "ended"), [("exit 5", Exit(code=5)), ("kill -9 $$", Exit(signal=9))]
)
def test_how_it_ended(script: str, ended: Exit, tmp_path: Path) -> None:
    assert finished(start([SH, "-c", script], ENV, tmp_path / "log")) == ended


def test_it_is_in_a_session_of_its_own_with_signals_as_a_fresh_program_has_them(
    tmp_path: Path,
) -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with running(f"exec {SLEEP}", tmp_path / "log") as child:
            assert os.getsid(child.pid) == child.pid
            child.signal(signal.SIGTERM)
            assert has_ended(child.pidfd, PATIENCE_S)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_it_inherits_no_descriptor_and_nothing_that_is_meant_for_the_loop(tmp_path: Path) -> None:
    log = tmp_path / "log"
    reads, writes = os.pipe()
    os.set_inheritable(writes, True)
    own = {"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "1", "KEPT": "yes"}
    try:
        assert finished(start([SH, "-c", "ls -l /proc/self/fd; env"], ENV | own, log)) == Exit(
            code=0
        )
    finally:
        os.close(reads)
        os.close(writes)
    said = log.read_text()
    assert "KEPT=yes" in said
    assert "NOTIFY" not in said and "WATCHDOG" not in said
    assert "pipe:" not in said


def test_a_log_or_a_program_that_is_none_starts_nothing(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CannotWrite, match="link"):
        start([SH, "-c", "true"], ENV, tmp_path / "link")
    assert not (tmp_path / "elsewhere").exists()
    with pytest.raises(Refused, match="/no/such/program: not started"):
        start(["/no/such/program"], ENV, tmp_path / "log")


HOLDS = """
import sys, signal
from pathlib import Path
from colony.host.lock import lock_file
with lock_file(Path(sys.argv[1]), "it"):
    print("held", flush=True)
    signal.pause()
"""


@contextmanager
def holder(lock: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(lock)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout and process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def test_whoever_holds_the_lock_is_watched_and_never_reaped(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with holder(lock) as process:
        found = adopt(lock)
        assert found is not None and found.pid == process.pid and not found.own
        assert not found.ended()
        found.signal(signal.SIGTERM)
        until(found.ended)
        assert found.reap() is None
        stat = stat_of(process.pid)
        assert stat is not None and not stat.running, "its parent still has to look"
        found.close()


def test_a_lock_that_nobody_holds_has_no_process(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    assert adopt(lock) is None
    lock_file(lock, "it").release()
    assert adopt(lock) is None
    with holder(lock) as process:
        process.kill()
        process.wait()
        assert adopt(lock) is None


def test_what_it_said_last_is_read_wherever_its_log_is(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert Said.of(log) is None
    log.write_text("")
    said = Said.of(log)
    assert said is not None and said.last_line() == ""
    with log.open("a") as file:
        file.write("first\n  why it failed  \n\n")
    moved = log.rename(tmp_path / "moved")
    assert said.last_line() == "why it failed"
    moved.unlink()
    assert said.last_line() == "why it failed"
    said.close()
