"""`colony test`, `bench` and `simulate`: in a checkout they become other programs.

| rule | test |
|---|---|
| options that Colony does not know go on as they are | test_arguments_go_on_as_they_are |
| on all processors, unless said otherwise | test_on_all_processors_unless_said_otherwise |
| settings of this shell stay behind | test_settings_stay_behind |
| what is missing is named | test_what_is_missing_is_named |
| an installed program has neither | tests/cli/test_init_to_review.py |
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT
from tests.cli.stage import Stage, make_stage, valid

SPREAD = ["-n", str((os.cpu_count() or 1) + 1), "--dist", "worksteal"]
"""One process more than there are processors."""

SHOW = "import os, sys; print(sys.argv[1:], os.getcwd(), sorted(os.environ), sep='\\n')\n"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A checkout whose test runner and whose benchmarks show what they were called with."""
    folder = tmp_path_factory.mktemp("checkout")
    stage = make_stage(folder)
    root = folder / "checkout"
    (root / "tests").mkdir(parents=True)
    (root / "colony.sh").touch()
    shutil.copytree(ROOT / "colony", root / "colony", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pytest", "bench", "tests/simulation"):
        (root / name).mkdir()
        (root / name / "__init__.py").touch()
        (root / name / "__main__.py").write_text(SHOW)
    stage.environ |= {"PYTHONPATH": str(root)}
    return stage


@pytest.mark.parametrize(
    "words",
    [
        "tests/core -k lease -x",
        "-k lease --durations=5 -x tests/core",
        "-vv --lf -p no:randomly",
        "-- --home --json",
    ],
)
def test_arguments_go_on_as_they_are(checkout: Stage, words: str) -> None:
    given = [word for word in words.split() if word != "--"]
    tests = checkout("test", *words.split())
    assert (tests.code, tests.err) == (0, "")
    assert tests.lines[0] == str([*SPREAD, *given])
    for verb in ("bench", "simulate"):
        assert checkout(verb, *words.split()).lines[0] == str(given)


@pytest.mark.parametrize("words", ["-n 2", "-n0", "--numprocesses=4", "-p no:xdist", "--pdb"])
def test_on_all_processors_unless_said_otherwise(checkout: Stage, words: str) -> None:
    assert checkout("test", *words.split()).lines[0] == str(words.split())
    assert checkout("test").lines[0] == str(SPREAD)


def test_settings_stay_behind(checkout: Stage) -> None:
    _, cwd, names = checkout("test", COLONY_LEASE_TTL="60", TEST_CLAUDE="/kept").lines
    assert Path(cwd) == Path(checkout.environ["PYTHONPATH"])
    kept = names.split("'")
    assert "TEST_CLAUDE" in kept
    assert not [name for name in kept if name.startswith("COLONY_")]


def test_what_is_missing_is_named(checkout: Stage, tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    shutil.copytree(checkout.environ["PYTHONPATH"], root)
    for name in ("bench", "tests"):
        shutil.rmtree(root / name)
    simulation = "tests/simulation/__main__.py"
    for verb, entry in (
        ("bench", "bench/__main__.py"),
        ("test", "tests"),
        ("simulate", simulation),
    ):
        done = checkout(verb, PYTHONPATH=str(root))
        assert (done.code, done.error) == (3, f"ERROR {root / entry} does not exist")
    [line] = valid(checkout("bench", "--json", PYTHONPATH=str(root)))
    assert (line["kind"], line["code"]) == ("error", "refused")
