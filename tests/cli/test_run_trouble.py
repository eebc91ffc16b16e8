"""`colony run` where its home or its tracker fails it, which ends nothing and hides nothing.

| rule | test |
|---|---|
| no tracker there: refused, nothing made | test_without_a_tracker_nothing_is_written |
| a tracker that is away is asked once an iteration | test_an_iteration_is_no_longer_than_one_try |
| run folders not listed, at the start | test_runs_that_cannot_be_listed_at_the_start |
| the same while it runs: nothing begun | test_runs_that_cannot_be_listed_for_a_while |
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.run_scene import Scene, scene
from tests.cli.stage import CART
from tests.fakes import served


@pytest.fixture(name="at")
def made_scene(tmp_path: Path) -> Iterator[Scene]:
    with scene(tmp_path) as made:
        yield made


def test_without_a_tracker_nothing_is_written(at: Scene) -> None:
    home = at.stage.cwd / "mistyped"
    for words in ([], ["--dry-run"]):
        done = at.stage("run", "--once", *words, COLONY_HOME=str(home))
        assert done.code == 4
        assert "there is no tracker at" in done.lines[-1]
        assert not home.exists()


def test_an_iteration_is_no_longer_than_one_try(at: Scene) -> None:
    """What asks again soon by itself must not be deaf to signals and ends of sessions meanwhile."""
    token = at.stage.cwd / "token"
    store = served.in_memory(clock=lambda: served.START_MS)
    with closing(store):
        token.write_text(store.token("colony", machine=True) + "\n")
        token.chmod(0o600)
        with served.serving(store) as url:
            loop = at.run(COLONY_TICKETS_URL=url, COLONY_TOKEN_FILE=str(token))
            loop.says("ITER 1 ")
        loop.says("the tracker does not answer")
        # A patient client would try for 15 s each time.
        first = _last_iteration(loop.lines)
        loop.says(f"ITER {first + 2} ", seconds=12)
        assert loop.process.poll() is None


def test_runs_that_cannot_be_listed_at_the_start(at: Scene) -> None:
    (at.stage.home / "runs").write_text("no folder")
    done = at.once()
    assert done.code == 3
    assert "the runs cannot be listed" in done.lines[-1]


def test_runs_that_cannot_be_listed_for_a_while(at: Scene) -> None:
    at.go()
    loop = at.run()
    loop.says("ITER 1 ")
    runs = at.stage.home / "runs"
    runs.write_text("no folder")
    loop.says("the runs cannot be listed")
    at.stage.ticket()
    first = _last_iteration(loop.lines)
    loop.says(f"ITER {first + 2} ")
    assert "started" not in loop.out.read_text()
    runs.unlink()
    at.in_review(CART)
    assert loop.process.poll() is None


def _last_iteration(lines: list[str]) -> int:
    return int(next(line for line in reversed(lines) if line.startswith("ITER")).split()[1])
