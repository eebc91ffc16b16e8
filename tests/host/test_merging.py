"""Merging a branch into the base: no work tree is touched that is not clean, no step done twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from colony.errors import Refused
from colony.host.clock import SystemClock
from colony.host.git import Git
from colony.host.lock import lock_folder
from colony.host.merging import Conflicts, Planned, move, plan
from colony.host.repository import Repository
from tests.fakes import repositories
from tests.fakes.repositories import ENV, commit, git, refs

BRANCH = "colony/shop-1"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A base on `main`, with a branch that opens the gate, and a fence painted since."""
    made = repositories.new(tmp_path / "base")
    git(made, "checkout", "-q", "-b", BRANCH)
    commit(made, {"gate.txt": "open\n", "new/key.txt": "a key\n"})
    git(made, "checkout", "-q", "main")
    commit(made, {"fence.txt": "red\n"})
    return made


def repository(top: Path) -> Repository:
    return Repository.at(Git(SystemClock(), ENV["PATH"]), top)


def planned(top: Path) -> Planned:
    found = plan(repository(top), "main", git(top, "rev-parse", BRANCH), "Merge shop#1")
    assert isinstance(found, Planned)
    return found


def moved(top: Path, to: Planned) -> str:
    return move(repository(top), "main", to, "colony: merge")


def test_a_plan_changes_nothing(top: Path) -> None:
    before = refs(top)
    found = planned(top)
    assert refs(top) == before and git(top, "status", "--porcelain") == ""
    assert git(top, "show", "-s", "--format=%an %ae %s", found.new) == (
        "Colony colony@localhost Merge shop#1"
    )
    assert git(top, "rev-parse", f"{found.new}^1", f"{found.new}^2").split() == [
        git(top, "rev-parse", "main"),
        git(top, "rev-parse", BRANCH),
    ]


def test_a_clean_work_tree_on_that_branch_follows(top: Path) -> None:
    (top / "notes.txt").write_text("mine, untracked")
    found = planned(top)
    assert moved(top, found) == ""
    assert refs(top)["refs/heads/main"] == found.new
    assert (top / "gate.txt").read_text() == "open\n" and (top / "fence.txt").read_text() == "red\n"
    assert git(top, "status", "--porcelain") == "?? notes.txt"
    assert moved(top, found) == "", "once more is no harm"
    assert planned(top) == Planned(found.new, found.new)


def test_a_base_on_another_branch_is_moved_without_its_files(top: Path) -> None:
    git(top, "checkout", "-q", "-b", "other")
    (top / "fence.txt").write_text("blue\n")
    found = planned(top)
    assert moved(top, found) == ""
    assert refs(top)["refs/heads/main"] == found.new
    assert git(top, "status", "--porcelain") == "M fence.txt"
    assert not (top / "new").exists()


def test_a_bare_base_is_moved(top: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(top), "bare")
    found = planned(tmp_path / "bare")
    assert moved(tmp_path / "bare", found) == ""
    assert refs(tmp_path / "bare")["refs/heads/main"] == found.new


@pytest.mark.parametrize("kind", ["changed", "staged", "untracked in the way", "locked", "session"])
def test_a_work_tree_that_is_not_clean_is_left_alone(top: Path, kind: str) -> None:
    found, before = planned(top), refs(top)
    (top / "fence.txt").write_text("blue\n" if kind in ("changed", "staged") else "red\n")
    if kind == "staged":
        git(top, "add", "-A")
    if kind == "untracked in the way":
        (top / "new").mkdir()
        (top / "new/key.txt").write_text("mine")
    if kind == "locked":
        (top / ".git/index.lock").touch()
    if kind == "session":
        with lock_folder(top, "session"):
            assert moved(top, found) != ""
    else:
        assert moved(top, found) != ""
    assert refs(top) == before
    assert (top / "gate.txt").read_text() == "closed\n"
    if kind == "untracked in the way":
        assert (top / "new/key.txt").read_text() == "mine"


def test_a_base_that_is_checked_out_elsewhere_is_left_alone(top: Path, tmp_path: Path) -> None:
    git(top, "checkout", "-q", "-b", "other")
    git(top, "worktree", "add", "-q", str(tmp_path / "side"), "main")
    found, before = planned(top), refs(top)
    assert "is checked out in" in moved(top, found)
    assert refs(top) == before


def test_a_base_that_went_on_is_planned_anew(top: Path) -> None:
    found = planned(top)
    commit(top, {"fence.txt": "white\n"})
    assert moved(top, found) == "main went on meanwhile"
    assert moved(top, planned(top)) == ""
    assert (top / "fence.txt").read_text() == "white\n" and (
        top / "gate.txt"
    ).read_text() == "open\n"


def test_a_crash_between_files_and_branch_is_finished(top: Path) -> None:
    found = planned(top)
    git(top, "read-tree", "-m", "-u", found.old, found.new)
    assert refs(top)["refs/heads/main"] == found.old
    assert moved(top, found) == ""
    assert refs(top)["refs/heads/main"] == found.new and git(top, "status", "--porcelain") == ""


def test_a_conflict_names_the_files_and_changes_nothing(top: Path) -> None:
    commit(top, {"gate.txt": "painted\n", "new/key.txt": "another\n"})
    before = refs(top)
    found = plan(repository(top), "main", git(top, "rev-parse", BRANCH), "Merge")
    assert found == Conflicts(("gate.txt", "new/key.txt"))
    assert refs(top) == before and git(top, "status", "--porcelain") == ""


def test_names_that_cannot_be_printed_are_shown_escaped(top: Path) -> None:
    """F65: newline, bidi, no UTF-8."""
    names = [b"a\nb", "x\u202ey".encode(), b"\xff\xfe"]
    for side, text in ((BRANCH, b"one"), ("main", b"two")):
        git(top, "checkout", "-q", side)
        for name in names:
            Path(os.fsdecode(bytes(top) + b"/" + name)).write_bytes(text)
        commit(top, {})
    found = plan(repository(top), "main", git(top, "rev-parse", BRANCH), "Merge")
    assert isinstance(found, Conflicts)
    assert set(found.files) == {"a\\nb", "x\\u202ey", "\\xff\\xfe"}


def test_what_has_no_history_in_common_is_refused(top: Path) -> None:
    git(top, "checkout", "-q", "--orphan", "alone")
    tip = commit(top, {"x": "x"})
    with pytest.raises(Refused, match="merge-tree"):
        plan(repository(top), "main", tip, "Merge")
    with pytest.raises(Refused, match="no branch"):
        plan(repository(top), "missing", tip, "Merge")
