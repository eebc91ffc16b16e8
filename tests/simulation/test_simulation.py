"""Simulated days: whatever befalls them, the invariants hold after every step and at the end."""

from __future__ import annotations

import ast
import os
import pty
import shlex
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from colony.core import plan as plans
from colony.core import session as sessions
from colony.flow import advance, kept
from colony.flow import run as loops
from tests.simulation import kernel
from tests.simulation.mutants import MUTANTS, Mutant
from tests.simulation.run import NEEDED, play

HERE = Path(__file__).parent
SEEDS = 300
CHUNK = 100
KEPT = tuple(
    int(line.split()[0])
    for line in (HERE / "seeds.txt").read_text().splitlines()
    if line[:1].isdigit()
)
"""Seeds that once found something."""


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_days_of_faults_break_nothing(first: int) -> None:
    counts: Counter[str] = Counter()
    late_s = worked_s = 0.0
    for seed in range(first, first + CHUNK):
        result = play(seed)
        counts += result.counts
        late_s, worked_s = late_s + result.late_s, worked_s + result.worked_s
    missing = [what for what in NEEDED if not counts[what]]
    assert not missing, "it never happened in these runs, so nothing shows that it is survived"
    assert late_s / worked_s < 0.05, "L5: too much of the work was for results that came late"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", KEPT)
def test_what_once_failed_holds(seed: int) -> None:
    play(seed)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_deliberate_bug_is_found(mutant: Mutant) -> None:
    seeds = dict.fromkeys((mutant.found_by, *range(50)))
    with mutant.in_place():
        for seed in seeds:
            try:
                play(seed)
            except kernel.Violation:
                return
    pytest.fail(f"{mutant.name}: nobody notices")


def test_a_seed_is_replayed_exactly() -> None:
    """In processes of their own, whose sets and dictionaries are in another order."""
    code = "from tests.simulation.run import play; print([play(seed).digest for seed in (3, 11)])"
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PATH": os.environ["PATH"]},
            cwd=HERE.parents[1], capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(told) == 1


COMMAND = (sys.executable, "-m", "tests.simulation")


def test_ctrl_c_tells_what_was_played() -> None:
    """As on a terminal, where it reaches every process of the group."""
    terminal, shown = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "--seeds", "500", "--jobs", "1"],
        cwd=HERE.parents[1], stdout=subprocess.PIPE, stderr=shown, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        os.close(shown)
        seen = b""
        while b"1 of 500" not in seen:
            seen += os.read(terminal, 4096)
        os.killpg(process.pid, signal.SIGINT)
        told, _ = process.communicate(timeout=60)
    os.close(terminal)
    assert process.returncode == 128 + signal.SIGINT
    assert "of 500 simulated days" in told
    assert told.splitlines()[-1].startswith("0 of ")
    assert b"Traceback" not in seen


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    command = f"{shlex.join(COMMAND)} --replay 3 | head -1"
    done = subprocess.run(
        ["sh", "-c", command], cwd=HERE.parents[1], capture_output=True, text=True, check=True
    )
    assert (len(done.stdout.splitlines()), done.stderr) == (1, "")


@pytest.mark.parametrize(
    "words", ["--replay -1", "--replay 3 --seeds 2", "--seeds 0", "--jobs 0", "--from x"]
)
def test_a_command_line_that_says_nothing_is_refused(words: str) -> None:
    done = subprocess.run(
        [*COMMAND, *words.split()], cwd=HERE.parents[1], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")


def test_it_is_the_products_own_plan_and_steps_that_run() -> None:
    assert loops.plan is plans.plan
    assert advance.next_step is sessions.next_step is kept.next_step
    for path in HERE.glob("*.py"):
        if path.name in ("mutants.py", Path(__file__).name):
            continue
        names = {
            alias.name for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.ImportFrom | ast.Import) for alias in node.names
        }  # fmt: skip
        assert not names & {"plan", "next_step", "patch", "mock"}, path.name


def test_nothing_of_a_run_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.simulation import run

    made: list[run.Run] = []
    real = run.Run

    def noted(*args: object) -> run.Run:
        made.append(real(*args))  # type: ignore[arg-type]
        return made[-1]

    monkeypatch.setattr(run, "Run", noted)
    play(2)
    (one,) = made
    assert not one.world.processes
    assert not Path(one.stage.homes[0].folder).exists()
