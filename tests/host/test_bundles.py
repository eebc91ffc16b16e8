"""What is taken out of a bundle: one branch, whole and checked, or nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from colony.errors import Refused
from colony.host import bundles
from colony.host.bundles import BadBundle, take_branch
from colony.host.clock import SystemClock
from colony.host.files import Unsafe, copy_own
from colony.host.git import Git
from colony.host.repository import Repository
from tests.fakes import repositories
from tests.fakes.repositories import ENV, bundle, commit, git, refs

BRANCH = "colony/shop-1"
HEAD = f"refs/heads/{BRANCH}"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return repositories.new(tmp_path / "base")


@pytest.fixture
def work(base: Path, tmp_path: Path) -> Path:
    git(tmp_path, "clone", "-q", str(base), "work")
    git(tmp_path / "work", "checkout", "-q", "-b", BRANCH)
    commit(tmp_path / "work", {"gate.txt": "open\n"})
    return tmp_path / "work"


def take(base: Path, file: Path) -> str:
    return take_branch(Repository.at(Git(SystemClock(), ENV["PATH"]), base), file, BRANCH, "taken")


def held(base: Path) -> set[str]:
    """Every object of it."""
    return set(git(base, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split())


def test_one_ref_comes_out_of_a_bundle(base: Path, work: Path, tmp_path: Path) -> None:
    before, tip = refs(base), git(work, "rev-parse", "HEAD")
    file = bundle(work, tmp_path / "bundle", f"main..{BRANCH}")
    assert take(base, file) == tip
    assert refs(base) == before | {HEAD: tip}
    assert git(base, "show", f"{BRANCH}:gate.txt") == "open"
    assert take(base, file) == tip, "once more is no harm"
    git(base, "fsck", "--strict")


def test_a_branch_that_was_written_anew_is_followed(base: Path, work: Path, tmp_path: Path) -> None:
    take(base, bundle(work, tmp_path / "one", f"main..{BRANCH}"))
    git(work, "commit", "-q", "--amend", "-m", "better words")
    tip = take(base, bundle(work, tmp_path / "two", f"main..{BRANCH}"))
    assert refs(base)[HEAD] == tip == git(work, "rev-parse", "HEAD")


def test_a_bundle_that_brings_other_refs_brings_nothing(
    base: Path, work: Path, tmp_path: Path
) -> None:
    before, objects = refs(base), held(base)
    git(work, "branch", "-f", "main", BRANCH)
    for name, what in (("all", ("--all",)), ("main", ("HEAD~1..main",))):
        with pytest.raises(BadBundle, match="ref"):
            take(base, bundle(work, tmp_path / name, *what))
    assert refs(base) == before and held(base) == objects


def test_a_bundle_over_the_limit_is_not_opened(
    base: Path, work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F60: a limit of 50 kB, 200 kB in the bundle."""
    monkeypatch.setattr(bundles, "BUNDLE_MAX", 50_000)
    (work / "big").write_bytes(os.urandom(200_000))
    commit(work, {})
    before = refs(base)
    with pytest.raises(BadBundle, match="larger than 50000"):
        take(base, bundle(work, tmp_path / "bundle", f"main..{BRANCH}"))
    assert refs(base) == before


@pytest.mark.parametrize("kind", ["cut", "flipped", "garbage", "empty", "no pack"])
def test_a_damaged_bundle_brings_nothing(base: Path, work: Path, tmp_path: Path, kind: str) -> None:
    before, objects = refs(base), held(base)
    data = bundle(work, tmp_path / "good", f"main..{BRANCH}").read_bytes()
    at = data.index(b"PACK")
    flipped = bytearray(data)
    flipped[-30] ^= 0xFF
    bad = {
        "cut": data[:-25],
        "flipped": bytes(flipped),
        "garbage": data[:at] + b"x" * 500,
        "empty": b"",
        "no pack": data[:at],
    }[kind]
    (tmp_path / "bad").write_bytes(bad)
    with pytest.raises(Refused):
        take(base, tmp_path / "bad")
    assert refs(base) == before and held(base) == objects


def test_what_needs_a_commit_that_is_not_there_brings_nothing(
    base: Path, work: Path, tmp_path: Path
) -> None:
    git(work, "branch", "first", BRANCH)
    commit(work, {"gate.txt": "wide open\n"})
    before = refs(base)
    with pytest.raises(BadBundle, match="git bundle"):
        take(base, bundle(work, tmp_path / "bundle", f"first..{BRANCH}"))
    assert refs(base) == before


def test_a_ref_that_leads_to_no_commit_brings_nothing(
    base: Path, work: Path, tmp_path: Path
) -> None:
    blob = git(work, "hash-object", "-w", "--stdin", data=b"no commit")
    packed = git(work, "pack-objects", "-q", "pack", data=f"{blob}\n".encode())
    file = tmp_path / "bundle"
    head = f"# v2 git bundle\n{blob} {HEAD}\n\n".encode()
    file.write_bytes(head + (work / f"pack-{packed}.pack").read_bytes())
    before = refs(base)
    with pytest.raises(BadBundle):
        take(base, file)
    assert refs(base) == before


def test_a_tree_with_a_path_into_git_is_not_taken(base: Path, work: Path, tmp_path: Path) -> None:
    """transfer.fsckObjects: `.git/hooks/…` in a tree would be written where it is checked out."""
    blob = git(work, "hash-object", "-w", "--stdin", data=b"#!/bin/sh\n")
    inner = git(work, "mktree", data=f"100755 blob {blob}\tpost-checkout\n".encode())
    outer = git(work, "mktree", data=f"040000 tree {inner}\t.git\n".encode())
    made = git(work, "commit-tree", outer, "-p", "main", "-m", "planted")
    git(work, "update-ref", HEAD, made)
    before, objects = refs(base), held(base)
    with pytest.raises(BadBundle, match="index-pack"):
        take(base, bundle(work, tmp_path / "bundle", f"main..{BRANCH}"))
    assert refs(base) == before and held(base) == objects


def test_a_branch_that_is_checked_out_is_left(base: Path, work: Path, tmp_path: Path) -> None:
    git(base, "checkout", "-q", "-b", BRANCH)
    before = refs(base)
    with pytest.raises(Refused, match="checked out"):
        take(base, bundle(work, tmp_path / "bundle", f"main..{BRANCH}"))
    assert refs(base) == before


# --- copying it in ----------------------------------------------------------------------------


def test_a_bundle_is_copied_whole_or_not_at_all(tmp_path: Path) -> None:
    out, kept = tmp_path / "out", tmp_path / "kept"
    out.mkdir()
    kept.mkdir()
    (out / "bundle").write_bytes(b"x" * 3_000_000)
    sha256 = copy_own(out, "bundle", kept / "one", 3_000_000)
    assert len(sha256) == 64 and (kept / "one").stat().st_size == 3_000_000
    assert (kept / "one").stat().st_mode & 0o777 == 0o600
    with pytest.raises(Unsafe, match="larger"):
        copy_own(out, "bundle", kept / "two", 2_999_999)
    with pytest.raises(Refused):
        copy_own(out, "bundle", kept / "one", 3_000_000)
    assert [each.name for each in kept.iterdir()] == ["one"]


@pytest.mark.parametrize("kind", ["link", "hard link", "FIFO", "folder", "linked folder"])
def test_what_a_worker_put_in_its_place_is_not_read(tmp_path: Path, kind: str) -> None:
    out, secret = tmp_path / "out", tmp_path / "secret"
    out.mkdir()
    secret.write_text("secret")
    name = "bundle"
    match kind:
        case "link":
            (out / name).symlink_to(secret)
        case "hard link":
            (out / name).hardlink_to(secret)
        case "FIFO":
            os.mkfifo(out / name)
        case "folder":
            (out / name).mkdir()
        case _:
            (out / "in").symlink_to(tmp_path)
            name = "in/secret"
    with pytest.raises(Refused):
        copy_own(out, name, tmp_path / "copy", 1000)
    assert not (tmp_path / "copy").exists()
