"""A program beside its caller: it is not waited for, ends at its time, and leaves nothing."""

from __future__ import annotations

import select
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from colony.core.endings import Exit
from colony.errors import Unreachable
from colony.host.call import LIMIT_BYTES, CallResult
from colony.host.errand import Errand
from colony.host.identity import has_ended
from tests.host.conftest import CLOCK, PATIENCE_S, SLEEP, marked, until

ENV = {"PATH": "/usr/bin:/bin"}


def open_descriptors() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


@contextmanager
def sent(script: str, timeout_s: float = PATIENCE_S) -> Iterator[Errand]:
    """Nothing of it is left afterwards: no process, no descriptor."""
    before = open_descriptors()
    made = Errand(("/bin/sh", "-c", script), ENV, CLOCK, timeout_s)
    yield made
    assert not marked()
    assert open_descriptors() == before


def finished(made: Errand) -> CallResult:
    select.select([made.pidfd], [], [], PATIENCE_S)
    found = made.result()
    assert found is not None
    return found


def test_what_it_says_and_how_it_ended() -> None:
    with sent("pwd; echo oops >&2; cat; env | grep -c HOME; exit 3") as made:
        assert finished(made) == CallResult(Exit(code=3), b"/\n0\n", b"oops\n")


def test_it_is_not_waited_for() -> None:
    with sent(f"{SLEEP}") as made:
        assert made.result() is None
        made.drop()


def test_at_its_time_all_of_it_is_ended() -> None:
    with sent(f"echo a; trap '' TERM; setsid {SLEEP} & {SLEEP}", 0.3) as made:
        until(lambda: CLOCK.boot_s() >= made.due_s)
        found = made.result()
        assert found is not None
        assert (found.timed_out, found.stdout) == (True, b"a\n")


def test_one_that_ended_in_time_is_not_late_however_late_it_is_asked() -> None:
    with sent("echo a", 0.5) as made:
        assert has_ended(made.pidfd, PATIENCE_S)
        until(lambda: CLOCK.boot_s() >= made.due_s)
        found = made.result()
        assert found is not None
        assert not found.timed_out


def test_dropped_it_is_ended_with_all_it_left() -> None:
    with sent(f"setsid {SLEEP} & {SLEEP}") as made:
        until(lambda: len(marked()) >= 2)
        made.drop()


def test_one_that_leaves_a_daemon_has_ended() -> None:
    with sent(f"setsid {SLEEP} & echo done") as made:
        assert finished(made).stdout == b"done\n"


def test_of_output_without_end_the_beginning_is_kept() -> None:
    with sent(f"head -c {LIMIT_BYTES + 9} /dev/zero") as made:
        found = finished(made)
        assert (len(found.stdout), found.cut) == (LIMIT_BYTES, True)


def test_a_missing_program_is_said_to_be_missing() -> None:
    before = open_descriptors()
    with pytest.raises(Unreachable, match="claude-x: no such program"):
        Errand(("claude-x",), ENV, CLOCK, 1.0)
    assert open_descriptors() == before
