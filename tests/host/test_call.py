"""Short programs: bounded in time and size, ended whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from colony.core.endings import Exit
from colony.errors import Unreachable
from colony.host.call import CallResult, call
from tests.host.conftest import CLOCK, PATIENCE_S, SLEEP, marked

ENV = {"PATH": "/usr/bin:/bin"}


def sh(script: str, timeout_s: float = PATIENCE_S, limit_bytes: int = 1000) -> CallResult:
    argv = ("/bin/sh", "-c", script)
    return call(argv, ENV, Path("/tmp"), CLOCK, timeout_s=timeout_s, limit_bytes=limit_bytes)


def test_output_and_exit_come_back() -> None:
    told = sh("pwd; echo oops >&2; cat; exit 3")
    assert told == CallResult(Exit(code=3), b"/tmp\n", b"oops\n")
    assert sh("kill -9 $$").exit == Exit(signal=9)


def test_the_environment_is_exact() -> None:
    told = call(("/usr/bin/env",), {"A": "1"}, Path("/"), CLOCK)
    assert told.stdout == b"A=1\n"


def test_a_program_that_takes_too_long_is_killed_whole() -> None:
    """Whatever it started, deaf and in whatever session."""
    told = sh(f"trap '' TERM; setsid {SLEEP} & setsid nohup {SLEEP} >/dev/null & {SLEEP}", 0.3)
    assert told.timed_out
    assert told.exit == Exit(signal=9)
    assert not marked()


def test_one_that_leaves_a_daemon_with_its_output_open_does_not_hang_the_call() -> None:
    told = sh(f"setsid {SLEEP} & echo done")
    assert told == CallResult(Exit(code=0), b"done\n", b"")
    assert not marked()


@pytest.mark.parametrize("where", ["", ">&2"])
def test_output_without_end_is_cut_and_ended(where: str) -> None:
    told = sh(f"while :; do echo 0123456789; done {where}")
    assert told.cut
    assert not told.timed_out
    assert len(told.stdout) + len(told.stderr) == 1000


def test_output_up_to_the_limit_is_whole() -> None:
    told = sh("head -c 1000 /dev/zero")
    assert (len(told.stdout), told.cut) == (1000, False)
    assert len(sh("head -c 3000000 /dev/zero", limit_bytes=3_000_000).stdout) == 3_000_000


def test_a_missing_program_is_said_to_be_missing() -> None:
    with pytest.raises(Unreachable, match="claude-x: no such program"):
        call(("claude-x",), ENV, Path("/"), CLOCK)
    told = call(("true",), ENV, Path("/nonexistent"), CLOCK)
    assert told.exit == Exit(code=127)
