"""F51: eight processes hammer one file, and what is busy is neither lost nor written twice."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from edges import Cast, on_file

from colony.core.ticket import Ref

pytestmark = pytest.mark.over("file", "memory", "http")

HERE = Path(__file__).parent
PROCESSES = 8
ROUNDS = 4


def hammers(path: Path) -> list[subprocess.Popen[str]]:
    return [
        subprocess.Popen(
            [sys.executable, HERE / "hammer.py", f"sqlite:///{path}", f"m{at}", str(ROUNDS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": f"{HERE}:{HERE.parents[1]}"},
        )
        for at in range(PROCESSES)
    ]


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.mark.long
@pytest.mark.parametrize("hold", ["BEGIN IMMEDIATE", "BEGIN"], ids=["a writer", "a reader"])
def test_busy_neither_loses_nor_doubles(tmp_path: Path, hold: str) -> None:
    edge = on_file(tmp_path)
    cast = Cast(edge)
    ref = cast.ticket("Begin")
    path = tmp_path / "colony.db"
    processes = hammers(path)
    try:
        assert [said(each) for each in processes] == ["ready"] * PROCESSES
        with closing(sqlite3.connect(path, isolation_level=None)) as holder:
            holder.execute(hold)
            holder.execute("SELECT COUNT(*) FROM events").fetchall()
            for each in processes:
                go(each)
            # Nobody gets through while it is held: all of them have been refused.
            assert [said(each) for each in processes] == ["busy"] * PROCESSES
            holder.execute("ROLLBACK")
        ends = [each.communicate(timeout=120)[0].strip() for each in processes]
        assert [each.returncode for each in processes] == [0] * PROCESSES
        assert all(int(end) > 0 for end in ends)
        check_once(cast, ref)
    finally:
        for each in processes:
            each.kill()
            each.communicate()
        edge.service.close()


def check_once(cast: Cast, ref: Ref) -> None:
    wanted = sorted(f"m{at} {count}" for at in range(PROCESSES) for count in range(ROUNDS))
    feed = cast.alice.changes(0, 10_000).events
    assert [each.event.id for each in feed] == list(range(1, len(feed) + 1))
    history = cast.alice.ticket(ref)
    assert sorted(e.text for e in history.events if e.kind == "comment") == wanted
    assert sorted(e.after for e in history.events if e.kind == "edit") == wanted
    assert history.ticket.version == len(history.events)
    shop = [each for each in cast.alice.tickets("shop") if each.ref != ref]
    assert sorted(each.subject for each in shop) == wanted
    assert sorted(each.ref.number for each in shop) == list(range(2, len(wanted) + 2))
    barn = cast.alice.tickets("barn")
    assert sorted(each.source for each in barn) == sorted(f"mail:{at}" for at in range(ROUNDS))
    assert sorted(each.ref.number for each in barn) == list(range(1, ROUNDS + 1))
    records = cast.alice.sessions()
    assert sorted((each.id, each.step) for each in records) == [
        (f"m{at}", str(ROUNDS - 1)) for at in range(PROCESSES)
    ]
