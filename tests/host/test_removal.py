"""Removing a tree: whatever is in it goes, and nothing beside it."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from colony.host.files import CannotWrite
from colony.host.removal import remove_own
from tests.host.conftest import names

DEEP = 3000
FEW = 40
"""Descriptors a removal has to manage with."""


def descriptors() -> list[int]:
    """Those of this process, and one with which they were listed."""
    return [int(name) for name in names(Path("/proc/self/fd"))]


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(descriptors()) + FEW, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def dig(folder: Path, depth: int, mode: int = 0o700) -> None:
    """Folders inside each other, each with a file, closed to `mode`."""
    at = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=at)
        os.close(os.open("f", os.O_CREAT | os.O_WRONLY, 0o400, dir_fd=at))
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.fchmod(at, mode)
        os.close(at)
        at = below
    os.close(at)


def test_every_kind_of_thing_is_removed_and_no_link_followed(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("canary")
    tree = tmp_path / "run" / "tmp" / "1"
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "empty").mkdir()
    for at in (tree, tree / "a" / "b"):
        (at / "out").symlink_to(kept)
        (at / "dangling").symlink_to("nowhere")
        (at / "hard").hardlink_to(kept / "file")
        os.mkfifo(at / "fifo")
        Path(os.fsdecode(bytes(at) + b"/\xff\n")).mkdir()
        with socket.socket(socket.AF_UNIX) as server, contextlib.chdir(at):
            server.bind("socket")
    for _ in range(2):
        remove_own(tmp_path / "run", "tmp/1")
        assert names(tmp_path / "run" / "tmp") == []
    assert (kept / "file").read_text() == "canary"


@pytest.mark.parametrize("name", ["../kept", "/tmp", "", ".", "a/../../kept", "nul\0", "\ud800"])
def test_only_a_name_inside_the_folder_is_removed(tmp_path: Path, name: str) -> None:
    for each in ("run", "kept"):
        (tmp_path / each).mkdir()
    with pytest.raises(CannotWrite, match="not removed: "):
        remove_own(tmp_path / "run", name)
    assert names(tmp_path) == ["kept", "run"]


def test_what_is_missing_is_fine(tmp_path: Path) -> None:
    for name in ("missing", "missing/too"):
        remove_own(tmp_path, name)
    remove_own(tmp_path / "missing", "too")


@pytest.fixture
def abyss(tmp_path: Path) -> Iterator[Path]:
    """A tree so deep that pytest itself could not remove it."""
    tree = tmp_path / "tmp"
    tree.mkdir()
    dig(tree, DEEP)
    yield tree
    subprocess.run(["rm", "-rf", str(tree)], check=True)


def test_a_very_deep_tree_is_removed(abyss: Path, few_descriptors: None) -> None:
    remove_own(abyss.parent, abyss.name)
    assert names(abyss.parent) == []


def test_a_wide_tree_is_removed(tmp_path: Path, few_descriptors: None) -> None:
    for number in range(200):
        (tmp_path / "tmp" / f"{number}" / "sub").mkdir(parents=True)
        (tmp_path / "tmp" / f"{number}" / "sub" / "file").write_text("")
    remove_own(tmp_path, "tmp")
    assert names(tmp_path) == []


@pytest.mark.parametrize("mode", [0, 0o100, 0o400, 0o500, 0o555])
def test_a_tree_that_its_user_closed_is_removed(plain_folder: Path, mode: int) -> None:
    """Go's module cache is read-only."""
    tree = plain_folder / "tmp" / "1"
    tree.mkdir(parents=True)
    dig(tree, 5, mode)
    tree.parent.chmod(mode)
    remove_own(plain_folder, "tmp/1")
    assert names(plain_folder / "tmp") == []


def test_a_closed_folder_behind_a_link_stays_closed(plain_folder: Path) -> None:
    kept = plain_folder / "kept"
    kept.mkdir()
    kept.chmod(0o500)
    (plain_folder / "tmp").mkdir()
    (plain_folder / "tmp" / "out").symlink_to(kept)
    remove_own(plain_folder, "tmp")
    assert kept.stat().st_mode & 0o777 == 0o500


def test_what_another_user_closed_is_told_and_stays(plain_folder: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("needs root")
    foreign = plain_folder / "tmp" / "foreign"
    foreign.mkdir(parents=True)
    (foreign / "file").write_text("canary")
    os.seteuid(0)
    os.chown(foreign, 0, 0)
    os.seteuid(65534)
    with pytest.raises(CannotWrite, match="tmp: not removed: permission denied"):
        remove_own(plain_folder, "tmp")
    assert (foreign / "file").read_text() == "canary"


def test_what_cannot_be_changed_is_told(tmp_path: Path) -> None:
    file = tmp_path / "tmp" / "sub" / "file"
    file.parent.mkdir(parents=True)
    file.write_text("canary")
    locked = subprocess.run(["chattr", "+i", file], check=False, capture_output=True)
    if locked.returncode:
        pytest.skip("needs a file system with immutable files, and the right to make them")
    try:
        with pytest.raises(CannotWrite, match="tmp: not removed: operation not permitted"):
            remove_own(tmp_path, "tmp")
        assert file.read_text() == "canary"
    finally:
        subprocess.run(["chattr", "-i", file], check=True)
    remove_own(tmp_path, "tmp")
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["tmp/1", "tmp"])
def test_what_is_mounted_is_not_emptied(tmp_path: Path, name: str) -> None:
    kept, place = tmp_path / "kept", tmp_path / "tmp" / "1"
    kept.mkdir()
    (kept / "file").write_text("canary")
    place.mkdir(parents=True)
    mount = ["mount", "--bind", str(kept), str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs root and the right to mount")
    try:
        with pytest.raises(CannotWrite, match="busy"):
            remove_own(tmp_path, name)
    finally:
        subprocess.run(["umount", place], check=True)
    assert (kept / "file").read_text() == "canary"


@pytest.mark.parametrize("function", ["scandir", "rmdir"])
def test_what_vanishes_meanwhile_does_not_end_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / "tmp" / "sub" / name / "full").mkdir(parents=True)
        (tmp_path / "tmp" / "sub" / f"{name}-file").write_text("")
    real, calls = getattr(os, function), []

    def vanish(name: str | int, **at: int) -> object:
        calls.append(name)
        try:
            # The listing as it was: of `sub`, in the second call.
            found = real(name, **at)
            return contextlib.nullcontext(list(found)) if function == "scandir" else found
        finally:
            if function == "scandir" and len(calls) == 2:
                gone = ["b", "b-file"]
            else:
                gone = [str(name)] if name in ("a", "b") and calls.count(name) == 1 else []
            paths = [str(tmp_path / "tmp" / "sub" / each) for each in gone]
            subprocess.run(["rm", "-rf", *paths], check=True)

    monkeypatch.setattr(os, function, vanish)
    remove_own(tmp_path, "tmp")
    assert names(tmp_path) == []


class Meddler:
    """Puts `other` in the place of the folder `name` after the n-th call of an `os` function."""

    def __init__(self, patch: pytest.MonkeyPatch, function: str, calls: int) -> None:
        self.real, self.calls = getattr(os, function), calls
        patch.setattr(os, function, self)

    def swap(self, name: Path, away: Path, other: Path) -> None:
        self.places = (name, away, other)

    def __call__(self, *args: object, **named: object) -> object:
        self.calls -= 1
        try:
            return self.real(*args, **named)
        finally:
            if not self.calls:
                name, away, other = self.places
                name.rename(away)
                name.symlink_to(other)


def test_a_folder_that_fills_again_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp" / "sub").mkdir(parents=True)
    real = os.scandir

    def refill(at: int) -> object:
        found = list(real(at))
        os.close(os.open("more", os.O_CREAT, dir_fd=at))
        return contextlib.nullcontext(found)

    monkeypatch.setattr(os, "scandir", refill)
    with pytest.raises(CannotWrite, match="not empty"):
        remove_own(tmp_path, "tmp")


def test_a_link_put_in_the_place_of_a_folder_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, tree = tmp_path / "kept", tmp_path / "tmp"
    for each in (kept, tree / "sub"):
        each.mkdir(parents=True)
        (each / "file").write_text("canary")
    # The second call finds that `sub` is not empty; then it is no folder any more.
    Meddler(monkeypatch, "rmdir", 2).swap(tree / "sub", tmp_path / "away", kept)
    with pytest.raises(CannotWrite, match="leads through a link"):
        remove_own(tmp_path, "tmp")
    assert (kept / "file").read_text() == "canary"
    assert (tmp_path / "away" / "file").read_text() == "canary"
    remove_own(tmp_path, "tmp")
    assert names(tmp_path) == ["away", "kept"]


def test_a_folder_that_is_moved_away_leads_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside, tree = tmp_path / "outside", tmp_path / "tmp"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub" / "file").write_text("")
    (outside / "sub").mkdir(parents=True)
    # The second listing is that of `sub`.
    Meddler(monkeypatch, "scandir", 2).swap(tree / "sub", outside / "away", outside)
    with pytest.raises(CannotWrite, match="moved"):
        remove_own(tmp_path, "tmp")
    assert names(outside) == ["away", "sub"]


def test_descriptors_are_given_back(tmp_path: Path) -> None:
    before = descriptors()
    (tmp_path / "tmp" / "a" / "b" / "c").mkdir(parents=True)
    remove_own(tmp_path, "tmp/a")
    with pytest.raises(CannotWrite):
        remove_own(tmp_path, "..")
    assert descriptors() == before
