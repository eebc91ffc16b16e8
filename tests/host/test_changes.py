"""Whether anything in a folder was changed: a bounded look that nothing in it leads astray."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from colony.host import changes
from colony.host.changes import changed_since

SINCE_MS = 1_000_000
OLD, NEW = 999.0, 1001.0


def at(path: Path, time_s: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    os.utime(path, (time_s, time_s))
    return path


def changed(folder: Path) -> bool:
    return changed_since(folder, SINCE_MS)


def test_one_file_that_is_newer_anywhere_below(tmp_path: Path) -> None:
    at(tmp_path / "a/b/c", OLD)
    assert not changed(tmp_path)
    at(tmp_path / "a/b/d", NEW)
    assert changed(tmp_path)


def test_a_folder_that_is_not_there_has_no_news(tmp_path: Path) -> None:
    assert not changed(tmp_path / "gone")
    assert not changed(at(tmp_path / "file", NEW))


@pytest.mark.parametrize("name", sorted(changes.MADE_ANEW))
def test_what_every_run_makes_anew_is_no_work(tmp_path: Path, name: str) -> None:
    at(tmp_path / "sub" / name / "file", NEW)
    assert not changed(tmp_path)


def test_a_commit_is_work(tmp_path: Path) -> None:
    at(tmp_path / ".git/logs/HEAD", OLD)
    assert not changed(tmp_path)
    at(tmp_path / ".git/logs/HEAD", NEW)
    assert changed(tmp_path)


def test_no_link_is_followed(tmp_path: Path) -> None:
    at(tmp_path / "elsewhere/new", NEW)
    folder = tmp_path / "folder"
    at(folder / "old", OLD)
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    os.utime(folder / "link", (OLD, OLD), follow_symlinks=False)
    (folder / "loop").symlink_to(folder)
    os.utime(folder / "loop", (OLD, OLD), follow_symlinks=False)
    assert not changed(folder)
    os.utime(folder / "link", (NEW, NEW), follow_symlinks=False)
    assert changed(folder), "a link that was made is something new"


def test_it_gives_up_after_so_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        at(tmp_path / f"old-{number}", OLD)
    at(tmp_path / "sub/new", NEW)
    assert changed(tmp_path)
    monkeypatch.setattr(changes, "ENTRIES_MAX", 20)
    assert not changed(tmp_path)


def test_a_folder_that_may_not_be_read_hides_nothing_else(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    os.utime(fifo, (OLD, OLD))
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(0)
    try:
        assert not changed(tmp_path)
        at(tmp_path / "zz/new", NEW)
        assert changed(tmp_path)
    finally:
        closed.chmod(0o700)
