"""The crash matrix: the real loop, killed at every durable effect of a session, and started again.

For n = 1, 2, 3 … until a run passes without a kill: the n-th effect of all processes together is
the last one (`tests/fakes/dying`). Over the embedded tracker the whole machine dies (`all`); over
HTTP the process that made the effect (`self`). What stands at the end is what a run stands for that
nobody killed: posted once, by one agent at a time, the money right, nothing left behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import pytest

from colony.core.ticket import Event
from tests.cli.conftest import ROOT
from tests.cli.looping import carriers, end_sessions, session_processes, until
from tests.cli.stage import CART, Stage, a_cart, answer
from tests.fakes import served

DYING: Final = ROOT / "tests" / "fakes" / "dying"
CHUNKS: Final = 6
"""The instants are dealt out to so many tests, which run side by side."""
ROUNDS: Final = 8
"""Runs of the loop after a crash, at most."""

Edge = Literal["embedded", "http"]


@dataclass
class Scene:
    """A stage, its agents' diary, and the tracker that its sessions reach."""

    stage: Stage
    edge: Edge
    stack: ExitStack

    @property
    def diary(self) -> Path:
        return self.stage.cwd / "diary"

    @property
    def count(self) -> Path:
        return self.stage.cwd / "count"

    def run(self, **dying: str) -> None:
        """One iteration and what it began; with `dying`, somebody is killed on the way."""
        path = f"{DYING}:{ROOT}" if dying else str(ROOT)
        done = self.stage("run", "--once", "--interval", "1", PYTHONPATH=path, **dying)
        assert dying or done.code == 0, done
        # Sessions outlive their loop: what is looked at next stands still.
        until(lambda: not session_processes(self.stage), 30, "a session does not end")

    def settle(self) -> None:
        for _ in range(ROUNDS):
            if self.ended:
                return
            self.run()

    @property
    def ended(self) -> bool:
        records = [self.stage.record(run) for run in self.stage.runs if _begun(run)]
        return bool(records) and all(record["outcome"] for record in records) and self.posted

    @property
    def posted(self) -> bool:
        return self.stage.row(CART).state == "review"

    def events(self) -> tuple[Event, ...]:
        return self.stage.events(CART)


def _begun(run: Path) -> bool:
    return (run / "session.json").exists()


def scene(folder: Path, edge: Edge, stack: ExitStack) -> Scene:
    folder.mkdir()
    stage = a_cart(folder)
    made = Scene(stage, edge, stack)
    alone = f"exec 9> {made.diary}.lock; flock -n 9 || echo overlap >> {made.diary}"
    note = f"{alone}; echo agent $COLONY_SESSION >> {made.diary}; sleep 0.05"
    work = [{"run": note}, answer()]
    stage.script(work=work, resume=work)
    if edge == "http":
        store = stack.enter_context(closing(served.on_file(stage.home)))
        url = stack.enter_context(served.serving(store))
        token = stage.home / "token"
        token.write_text(store.token("colony", machine=True))
        token.chmod(0o600)
        stage.environ |= {"COLONY_TICKETS_URL": url, "COLONY_TOKEN_FILE": str(token)}
    return made


def check(scene: Scene, number: int) -> None:
    """Every invariant, from outside of the product."""
    told = f"killed at {number}"
    stage, events = scene.stage, scene.events()
    texts = "\n".join(event.text for event in events)
    states = [event.after for event in events if event.kind == "state"]
    assert states == ["progress", "review"], told
    assert texts.count("colony-report:") == 1, told
    assert texts.count("· started ·") == 1, told
    assert "overlap" not in scene.diary.read_text(), f"{told}: two agents at once"
    assert not carriers(stage), told
    assert not session_processes(stage), told
    [run] = [run for run in stage.runs if _begun(run)]
    record = stage.record(run)
    assert record["outcome"] == "posted", told
    assert all(effect["status"] == "done" for effect in record["outbox"]), told
    assert all(part["ended"] for part in record["parts"]), told
    assert not list((run / "tmp").iterdir()), told
    money(run, record, told)


def money(run: Path, record: dict[str, Any], told: str) -> None:
    """I9: what the parts cost is what the agents' own accounts say; at least, where one was killed
    and nobody went on with its conversation."""
    accounts = sum(
        json.loads(file.read_text())["cost"] for file in (run / "agent" / "stand-in").glob("*.json")
    )
    counted = sum(part["costUsd"] for part in record["parts"])
    assert counted <= accounts + 1e-9, told
    if all(part["costKnown"] for part in record["parts"]):
        assert counted == pytest.approx(accounts), told


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.long
@pytest.mark.parametrize("first", range(1, CHUNKS + 1))
@pytest.mark.parametrize(("edge", "whom"), [("embedded", "all"), ("http", "self")])
def test_killed_at_every_effect_it_ends_as_if_nothing_had_happened(
    tmp_path: Path, stack: ExitStack, edge: Edge, whom: str, first: int
) -> None:
    number = first
    while True:
        one = scene(tmp_path / str(number), edge, stack)
        one.run(DYING_COUNT=str(one.count), DYING_AT=str(number), DYING_WHOM=whom)
        passed = int(one.count.read_text())
        one.settle()
        try:
            check(one, number)
        finally:
            end_sessions(one.stage)
        if passed < number:
            return
        number += CHUNKS
