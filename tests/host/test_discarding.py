"""Removing run folders for good, counting what lies in them, and locks that make nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from colony.errors import Busy
from colony.host import sizes
from colony.host.discarding import put_away, put_away_before, remove_away
from colony.host.ended import known_ended, note_ended
from colony.host.files import CannotWrite
from colony.host.journal import RunFolder, list_runs, misplaced
from colony.host.lock import is_locked, lock_file, lock_found
from colony.host.sizes import Size, size_of

S = "s-20260131T1819-abc123"


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    made = RunFolder.make(tmp_path / "runs", S)
    made.write("report.json", b"x" * 5000)
    return made


def test_a_folder_is_out_of_sight_before_it_is_emptied(run: RunFolder) -> None:
    runs = run.path.parent
    note_ended(runs, S)
    away = put_away(run)
    assert list_runs(runs) == ()
    assert known_ended(runs) == frozenset()
    assert (runs / away / "report.json").exists()
    assert put_away_before(runs) == ((away, S),)
    remove_away(runs, away)
    assert put_away_before(runs) == ()
    assert [path.name for path in runs.iterdir()] == [".ended"]


def test_the_runs_may_lie_behind_a_link(run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(run.path.parent)
    away = put_away(RunFolder(tmp_path / "link" / S))
    remove_away(tmp_path / "link", away)
    assert put_away_before(tmp_path / "link") == ()


def test_a_folder_in_the_way_loses_nothing(run: RunFolder) -> None:
    (run.path.parent / f".removed-{S}" / "kept").mkdir(parents=True)
    with pytest.raises(CannotWrite):
        put_away(run)
    assert (run.path / "report.json").exists()


def test_what_is_no_leftover_is_let_alone(run: RunFolder) -> None:
    (run.path.parent / ".removed-letters").mkdir()
    assert put_away_before(run.path.parent) == ()
    assert put_away_before(run.path / "nowhere") == ()


def test_a_tree_is_counted_by_names_and_no_link_followed(run: RunFolder, tmp_path: Path) -> None:
    big = tmp_path / "big"
    big.write_bytes(b"x" * 1_000_000)
    before = size_of(run.path)
    (run.path / "link").symlink_to(big)
    (run.path / "folder").symlink_to(tmp_path)
    os.mkfifo(run.path / "fifo")
    (run.path / "hard").hardlink_to(big)
    after = size_of(run.path)
    assert after.files == before.files + 4
    # What has a name elsewhere, too, is not freed.
    assert after.on_disk < before.on_disk + 500_000
    assert after.whole
    assert size_of(run.path / "report.json").content == 5000
    assert size_of(run.path / "nothing") == Size()


def test_a_tree_without_end_is_at_least_so_large(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "ENTRIES_MAX", 3)
    for at in range(5):
        (run.path / f"f{at}").write_bytes(b"x")
    found = size_of(run.path)
    assert (found.files, found.whole) == (3, False)


def test_a_lock_that_is_there_is_taken_and_none_is_made(run: RunFolder) -> None:
    with lock_found(run.lock, "it"):
        assert not run.lock.exists()
    with lock_file(run.lock, "it"), pytest.raises(Busy, match="it: held"):
        lock_found(run.lock, "it")
    with lock_found(run.lock, "it"):
        assert is_locked(run.lock)
    assert not is_locked(run.lock)


def test_a_lock_behind_a_link_is_never_taken(run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("canary")
    run.lock.symlink_to(tmp_path / "other")
    with pytest.raises(Busy, match="cannot be locked"):
        lock_found(run.lock, "it")
    assert (tmp_path / "other").read_text() == "canary"


def test_what_has_a_sessions_name_and_is_no_folder_is_named(run: RunFolder) -> None:
    runs = run.path.parent
    (runs / "s-20260131T1819-def456").symlink_to("/etc")
    (runs / "s-20260131T1820-def456").write_text("x")
    (runs / "notes").write_text("x")
    assert [each.reason for each in misplaced(runs)] == [
        "s-20260131T1819-def456: is a symbolic link, no run folder",
        "s-20260131T1820-def456: is a file, no run folder",
    ]
    assert misplaced(runs / "nowhere") == ()
