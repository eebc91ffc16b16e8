"""Several threads and processes on one tracker at once."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from edges import Cast, on_file

from colony.core.ticket import Me
from colony.tracker.protocol import Conflict, Guard, Written

HERE = Path(__file__).parent


def started(folder: Path, count: int, *what: str) -> list[subprocess.Popen[str]]:
    """Writers that wait for their line."""
    url = f"sqlite:///{folder / 'colony.db'}"
    writers = [
        subprocess.Popen(
            [sys.executable, HERE / "writers.py", url, f"m{at}", *what],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={"PYTHONPATH": f"{HERE}:{HERE.parents[1]}"},
        )
        for at in range(count)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    return writers


def finished(writers: list[subprocess.Popen[str]]) -> list[str]:
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    said = [writer.communicate(timeout=60)[0].strip() for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * len(writers)
    return said


@pytest.mark.needs("expect")
def test_of_ten_threads_with_one_view_one_moves_the_ticket(cast: Cast) -> None:
    """F32: the others are told, and nothing of them is written."""
    ref = cast.ticket()
    guard = Guard(event=cast.alice.ticket(ref).ticket.last_event)
    barrier = Barrier(10, timeout=30)
    trackers = [cast.edge.tracker(Me(f"m{at}", "", machine=True, owner=False)) for at in range(10)]
    for tracker in trackers:
        tracker.me()

    def take(at: int) -> object:
        barrier.wait()
        return trackers[at].move(ref, "progress", text=f"m{at}", key="take", guard=guard)

    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(take, range(10)))
    [won] = [each for each in answers if isinstance(each, Written)]
    assert sum(isinstance(each, Conflict) for each in answers) == 9
    events = cast.alice.ticket(ref).events
    assert [(each.id, each.kind) for each in events[1:]] == [(won.event, "state")]


def test_of_ten_processes_with_one_view_one_moves_the_ticket(tmp_path: Path) -> None:
    edge = on_file(tmp_path)
    cast = Cast(edge)
    ref = cast.ticket()
    event = cast.alice.ticket(ref).ticket.last_event
    said = finished(started(tmp_path, 10, "race", str(event)))
    assert sorted(said) == ["Conflict"] * 9 + ["Written"]
    events = cast.alice.ticket(ref).events
    assert len(events) == 2
    assert events[1].text == events[1].author == f"m{said.index('Written')}"
    edge.service.close()


def test_a_reader_sees_event_ids_without_gaps_while_eight_processes_write(tmp_path: Path) -> None:
    edge = on_file(tmp_path)
    cast = Cast(edge)
    ref = cast.ticket()
    writers = started(tmp_path, 8, "comments", "25")
    after, seen = 0, []
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    while any(writer.poll() is None for writer in writers):
        page = cast.alice.changes(after)
        seen += [each.event.id for each in page.events]
        after = page.last
    seen += [each.event.id for each in cast.alice.changes(after).events]
    assert finished_cleanly(writers)
    assert seen == list(range(1, len(seen) + 1))
    events = cast.alice.ticket(ref).events
    assert len(events) == 1 + 8 * 25
    for at in range(8):
        own = [each.text for each in events if each.author == f"m{at}"]
        assert own == [f"m{at} {each}" for each in range(25)]
    edge.service.close()


def finished_cleanly(writers: list[subprocess.Popen[str]]) -> bool:
    for writer in writers:
        writer.communicate(timeout=60)
    return all(writer.returncode == 0 for writer in writers)
