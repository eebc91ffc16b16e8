"""A ticket's tree: cut, found again as it was left, looked at from outside, taken away."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from colony.core.trees import kept_because
from colony.errors import Busy, Refused
from colony.host.clock import SystemClock
from colony.host.lock import lock_folder
from colony.host.trees import NEW, Trees
from tests.fakes import repositories
from tests.fakes.repositories import ENV, commit, git, refs

NAME, BRANCH = "shop-1", "colony/shop-1"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return repositories.new(tmp_path / "base")


@pytest.fixture
def trees(tmp_path: Path) -> Trees:
    return Trees(tmp_path / "home" / "trees", SystemClock(), ENV["PATH"])


def cut(trees: Trees, base: Path, name: str = NAME, into: str = "") -> Path:
    return trees.make(name, base, trees.start(base, f"colony/{name}", into))


def stays(trees: Trees, name: str = NAME) -> str:
    """Why the reaper would leave it; empty: it may go."""
    return kept_because(trees.look(name), {})


def test_a_tree_is_a_clone_of_its_own_that_borrows_its_objects(trees: Trees, base: Path) -> None:
    tree = cut(trees, base)
    assert (tree / "gate.txt").read_text() == "closed\n"
    assert git(tree, "symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"
    assert git(tree, "rev-parse", "HEAD") == git(base, "rev-parse", "main")
    assert git(tree, "status", "--porcelain") == ""
    borrowed = (tree / ".git/objects/info/alternates").read_text()
    assert borrowed == f"{base / '.git/objects'}\n"
    assert not [each for each in (tree / ".git/objects").rglob("*") if each.stat().st_size > 4096]
    commit(tree, {"gate.txt": "open\n"})
    assert refs(base)[f"refs/heads/{BRANCH}"] == git(base, "rev-parse", "main")
    assert (base / "gate.txt").read_text() == "closed\n"


def test_its_branch_is_cut_from_the_branch_that_is_named(trees: Trees, base: Path) -> None:
    git(base, "checkout", "-q", "-b", "next")
    later = commit(base, {"gate.txt": "later\n"})
    git(base, "checkout", "-q", "main")
    assert (cut(trees, base) / "gate.txt").read_text() == "closed\n"
    tree = cut(trees, base, "shop-2", into="next")
    assert git(tree, "rev-parse", "HEAD") == later
    with pytest.raises(Refused, match="no branch other"):
        cut(trees, base, "shop-3", into="other")


def test_a_re_dispatch_finds_its_branch_as_it_was_left(trees: Trees, base: Path) -> None:
    tree = cut(trees, base)
    mine = commit(tree, {"gate.txt": "open\n"})
    (tree / "draft.txt").write_text("half a thought")
    commit(base, {"fence.txt": "red\n"})
    assert cut(trees, base) == tree
    assert git(tree, "rev-parse", "HEAD") == mine
    assert (tree / "draft.txt").read_text() == "half a thought"


def test_a_tree_that_is_gone_is_cut_again_from_the_branch_in_the_base(
    trees: Trees, base: Path
) -> None:
    tree = cut(trees, base)
    mine = commit(tree, {"gate.txt": "open\n"})
    git(base, "fetch", "-q", str(tree), f"{BRANCH}:{BRANCH}")
    shutil.rmtree(tree)
    commit(base, {"fence.txt": "red\n"})
    assert git(cut(trees, base), "rev-parse", "HEAD") == mine
    assert (tree / "gate.txt").read_text() == "open\n"


def test_what_a_crash_left_half_made_is_made_anew(trees: Trees, base: Path) -> None:
    half = trees.folder / f"{NEW}{NAME}"
    (half / ".git").mkdir(parents=True)
    (half / ".git" / "index.lock").touch()
    tree = cut(trees, base)
    assert git(tree, "status", "--porcelain") == "" and not half.exists()


def test_where_git_fails_nothing_is_left_under_its_name(trees: Trees, base: Path) -> None:
    git(base, "branch", "colony")
    with pytest.raises(Refused, match="colony"):
        cut(trees, base)
    assert not trees.path(NAME).exists()


def test_a_folder_that_is_not_its_own_is_refused(trees: Trees, base: Path, tmp_path: Path) -> None:
    cut(trees, base)
    other = repositories.new(tmp_path / "other")
    with pytest.raises(Refused, match="no tree of"):
        cut(trees, other)
    trees.path("shop-2").symlink_to(base)
    with pytest.raises(Refused, match="is no folder"):
        cut(trees, base, "shop-2")


@pytest.mark.parametrize("kind", ["no repository", "a subfolder", "detached", "empty"])
def test_a_base_that_cannot_be_used_is_refused(trees: Trees, base: Path, kind: str) -> None:
    if kind == "no repository":
        shutil.rmtree(base / ".git")
    elif kind == "a subfolder":
        base = base / "inner"
        base.mkdir()
    elif kind == "detached":
        git(base, "checkout", "-q", "--detach")
    else:
        git(base, "checkout", "-q", "--orphan", "nothing")
    with pytest.raises(Refused):
        cut(trees, base)
    assert not trees.path(NAME).exists()


def test_bases_of_every_kind_are_cut_from(trees: Trees, base: Path, tmp_path: Path) -> None:
    """Bare, shallow, a work tree of another, and one that borrows itself."""
    kinds = {"bare": ("--bare",), "shallow": ("--depth=1",), "shared": ("--shared",)}
    commit(base, {"gate.txt": "second\n"})
    for number, (kind, words) in enumerate(kinds.items(), 1):
        made = tmp_path / kind
        git(
            tmp_path,
            "clone",
            "-q",
            *words,
            f"file://{base}" if kind == "shallow" else str(base),
            kind,
        )
        tree = cut(trees, made, f"{kind}-{number}")
        assert git(tree, "log", "--format=%s") and git(tree, "status", "--porcelain") == ""
        assert stays(trees, tree.name) == ""
    git(base, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    tree = cut(trees, tmp_path / "side", "side-1")
    assert (tree / "gate.txt").read_text() == "second\n"
    assert stays(trees, "side-1") == ""


def test_many_are_cut_from_one_repository_at_once(trees: Trees, base: Path) -> None:
    """`could not lock config` elsewhere: one at a time."""
    failed: list[BaseException] = []

    def one(number: int) -> None:
        try:
            cut(trees, base, f"shop-{number}")
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert trees.names() == tuple(f"shop-{number}" for number in range(1, 9))


# --- what the reaper is told ------------------------------------------------------------------


def test_a_tree_as_it_was_cut_may_go_and_its_branch_stays(trees: Trees, base: Path) -> None:
    tree = cut(trees, base)
    (tree / ".gitignore").write_text("built\n")
    commit(tree, {})
    git(base, "fetch", "-q", str(tree), f"{BRANCH}:{BRANCH}")
    (tree / "built").write_text("what every build makes")
    seen = trees.look(NAME)
    assert kept_because(seen, {}) == ""
    assert trees.remove(NAME, seen) == ""
    assert not tree.exists() and trees.names() == () and trees.record(NAME) is None
    assert f"refs/heads/{BRANCH}" in refs(base)


def test_a_tree_whose_commit_is_not_saved_stays(trees: Trees, base: Path) -> None:
    tree = cut(trees, base)
    commit(tree, {"gate.txt": "open\n"})
    assert "saved nowhere" in stays(trees)
    git(base, "fetch", "-q", str(tree), f"{BRANCH}:refs/remotes/origin/shop-1")
    assert stays(trees) == ""
    git(tree, "checkout", "-q", "-b", "another")
    commit(tree, {"gate.txt": "ajar\n"})
    git(tree, "checkout", "-q", BRANCH)
    git(tree, "pack-refs", "--all")
    assert "saved nowhere" in stays(trees)


def test_a_commit_in_a_recorded_bundle_is_saved(trees: Trees, base: Path, tmp_path: Path) -> None:
    tree = cut(trees, base)
    tip = commit(tree, {"gate.txt": "open\n"})
    bundle = repositories.bundle(tree, tmp_path / "bundle", f"refs/colony/base..{BRANCH}")
    assert kept_because(trees.look(NAME, {tip: bundle}), {}) == ""
    (tree / "gate.txt").write_text("ajar\n")
    assert "not committed" in kept_because(trees.look(NAME, {tip: bundle}), {})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("changed", "not committed"),
        ("untracked", "not committed"),
        ("staged", "not committed"),
        ("removed", "not committed"),
        ("merging", "not committed"),
        ("nested repository", "not committed"),
        ("work trees", "not committed"),
        ("stash", "stashed"),
        ("index.lock", "index.lock"),
        ("locked", "is locked"),
        ("no git folder", "could not be looked at"),
        ("git is a file", "could not be looked at"),
        ("odd ref", "could not be looked at"),
        ("FIFO", "could not be looked at"),
    ],
)
def test_what_keeps_a_tree(trees: Trees, base: Path, change: str, why: str) -> None:
    tree = cut(trees, base)
    dot = tree / ".git"
    match change:
        case "changed":
            (tree / "gate.txt").write_text("open..\n")
        case "untracked":
            (tree / "new.txt").touch()
        case "staged":
            (tree / "gate.txt").write_text("open\n")
            git(tree, "add", "-A")
        case "removed":
            (tree / "gate.txt").unlink()
        case "merging":
            (dot / "MERGE_HEAD").write_text("0" * 40)
        case "nested repository":
            repositories.new(tree / "inner")
        case "work trees":
            (dot / "worktrees").mkdir()
        case "stash":
            (tree / "gate.txt").write_text("open\n")
            git(tree, "stash", "-q")
            git(base, "fetch", "-q", str(tree), "refs/stash:refs/tags/kept")
        case "index.lock" | "locked":
            (dot / change).touch()
        case "no git folder":
            shutil.rmtree(dot)
        case "git is a file":
            dot.rename(tree.parent.parent / "elsewhere")
            dot.write_text(f"gitdir: {tree.parent.parent / 'elsewhere'}\n")
        case "odd ref":
            (dot / "refs" / "heads" / "odd").write_text("../../x")
        case "FIFO":
            os.mkfifo(dot / "refs" / "heads" / "pipe")
    assert why in stays(trees)
    assert tree.is_dir()


def test_a_tree_in_which_a_session_works_is_held(trees: Trees, base: Path) -> None:
    tree = cut(trees, base)
    judged = trees.look(NAME)
    with lock_folder(tree, "session"):
        assert "a session works in it" in stays(trees)
        assert trees.remove(NAME, judged) == "it was just used"
    assert tree.is_dir()


def test_a_tree_that_changed_since_it_was_judged_stays(trees: Trees, base: Path) -> None:
    tree = cut(trees, base)
    judged = trees.look(NAME)
    (tree / "new.txt").touch()
    assert trees.remove(NAME, judged) == "it was just used"
    assert (tree / "new.txt").exists()


def test_a_link_inside_our_folder_that_leads_elsewhere_is_not_followed(
    trees: Trees, base: Path, tmp_path: Path
) -> None:
    cut(trees, base)
    precious = repositories.new(tmp_path / "precious")
    trees.path("shop-2").symlink_to(precious)
    (trees.folder / ".records" / "shop-2.json").write_text(
        (trees.folder / ".records" / "shop-1.json").read_text()
    )
    seen = trees.look("shop-2")
    assert not seen.ours and "leads out" in kept_because(seen, {})
    assert trees.remove("shop-2", seen) != ""
    assert (precious / "gate.txt").exists()


def test_a_folder_that_colony_did_not_make_is_left(trees: Trees, base: Path) -> None:
    cut(trees, base)
    repositories.new(trees.path("shop-2"))
    assert stays(trees, "shop-2") == "it is no tree that Colony made here"


def test_what_an_interrupted_removal_left_is_swept(trees: Trees, base: Path) -> None:
    tree = cut(trees, base)
    tree.rename(trees.folder / ".gone-shop-1")
    trees.sweep()
    assert not list(trees.folder.glob(".gone-*"))


def test_a_repository_that_is_busy_is_said_to_be(
    trees: Trees, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("colony.host.trees.LOCK_WAIT_S", 0.05)
    cut(trees, base)
    with trees.locked(trees.base(base)), pytest.raises(Busy, match="the repository"):
        cut(trees, base, "shop-2")
