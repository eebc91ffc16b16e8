"""A corpus of hostile repositories (F61, F77, T4, T8, T20): the canary never sings on this host.

Each entry plants, in a tree or in the base, what makes some git run a program. All that the host
does with the two is then done: look, take the branch, merge, cut again, remove.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from colony.errors import ColonyError
from colony.host.bundles import take_branch
from colony.host.clock import SystemClock
from colony.host.merging import Planned, move, plan
from colony.host.trees import Trees
from tests.fakes import repositories
from tests.fakes.repositories import ENV, bundle, commit, git

NAME, BRANCH = "shop-1", "colony/shop-1"
HEAD = f"refs/heads/{BRANCH}"


@dataclass
class Scene:
    base: Path
    tree: Path
    canary: Path
    trees: Trees

    @property
    def song(self) -> str:
        """A program that sings."""
        path = self.canary.parent / "sing"
        if not path.exists():
            path.write_text(f"#!/bin/sh\necho sung >>{self.canary}\ncat\n")
            path.chmod(0o755)
        return str(path)

    def silent(self, at: Path, *args: str, **env: str) -> str:
        """The test's own git in a hostile place: it obeys nothing, either."""
        switches = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
        return git(at, *switches, *args, **env)


Plant = Callable[[Scene], object]
CORPUS: dict[str, Plant] = {}


def plant(name: str) -> Callable[[Plant], Plant]:
    def noted(made: Plant) -> Plant:
        CORPUS[name] = made
        return made

    return noted


def config(at: Path, text: str) -> None:
    with (at / ".git" / "config").open("a") as file:
        file.write(text)


def in_both(name: str, make: Callable[[Scene, Path], object]) -> None:
    CORPUS[f"{name} in the tree"] = lambda scene: make(scene, scene.tree)
    CORPUS[f"{name} in the base"] = lambda scene: make(scene, scene.base)


def hooks(scene: Scene, at: Path) -> None:
    folder = at / ".git" / "hooks"
    folder.mkdir(exist_ok=True)
    for name in (
        "post-checkout", "post-merge", "pre-commit", "post-commit", "reference-transaction",
        "post-index-change", "pre-auto-gc", "update", "pre-receive", "post-rewrite",
    ):  # fmt: skip
        shutil.copy(scene.song, folder / name)


def other_hooks(scene: Scene, at: Path) -> None:
    hooks(scene, at)
    (at / ".git" / "hooks").rename(at / ".git" / "kooks")
    config(at, f"[core]\n\thooksPath = {at}/.git/kooks\n")


def programs(scene: Scene, at: Path) -> None:
    song = scene.song
    config(
        at,
        f"[core]\n\tfsmonitor = {song}\n\tsshCommand = {song}\n\tgitProxy = {song}\n"
        f"\tpager = {song}\n\teditor = {song}\n"
        f"\talternateRefsCommand = {song}\n\taskPass = {song}\n"
        f"[credential]\n\thelper = !{song}\n[gpg]\n\tprogram = {song}\n[commit]\n\tgpgSign = true\n"
        f"[diff]\n\texternal = {song}\n[uploadpack]\n\tpackObjectsHook = {song}\n"
        f"[sequence]\n\teditor = {song}\n[gc]\n\tauto = 1\n\trecentObjectsHook = {song}\n",
    )


def filters(scene: Scene, at: Path) -> None:
    song = scene.song
    config(
        at,
        f'[filter "x"]\n\tclean = {song}\n\tsmudge = {song}\n\tprocess = {song}\n'
        "\trequired = true\n"
        f'[diff "x"]\n\ttextconv = {song}\n\tcommand = {song}\n[merge "x"]\n\tdriver = {song}\n',
    )
    text = "* filter=x diff=x merge=x\n"
    (at / ".git" / "info").mkdir(exist_ok=True)
    (at / ".git" / "info" / "attributes").write_text(text)
    (scene.tree / ".gitattributes").write_text(text)


def included(scene: Scene, at: Path) -> None:
    (at / "more.cfg").write_text(f"[core]\n\tfsmonitor = {scene.song}\n\thooksPath = {at}\n")
    shutil.copy(scene.song, at / "reference-transaction")
    config(at, f'[include]\n\tpath = ../more.cfg\n[includeIf "gitdir:/"]\n\tpath = {at}/more.cfg\n')


def promisor(scene: Scene, at: Path) -> None:
    config(
        at,
        f'[remote "origin"]\n\turl = ext::{scene.song}\n\tpromisor = true\n'
        f"\tpartialclonefilter = blob:none\n\tuploadpack = {scene.song}\n"
        "[extensions]\n\tpartialClone = origin\n[protocol]\n\tallow = always\n",
    )


for name_, make_ in (
    ("hooks", hooks), ("core.hooksPath", other_hooks), ("programs", programs),
    ("filters and drivers", filters), ("includes", included), ("a promisor", promisor),
):  # fmt: skip
    in_both(name_, make_)


@plant("a symlinked .git")
def _(scene: Scene) -> None:
    elsewhere = scene.canary.parent / "elsewhere"
    hooks(scene, scene.tree)
    programs(scene, scene.tree)
    (scene.tree / ".git").rename(elsewhere)
    (scene.tree / ".git").symlink_to(elsewhere)


@plant("a .git that is a file")
def _(scene: Scene) -> None:
    programs(scene, scene.tree)
    (scene.tree / ".git").rename(scene.canary.parent / "elsewhere")
    (scene.tree / ".git").write_text(f"gitdir: {scene.canary.parent}/elsewhere\n")


@plant("a common folder elsewhere")
def _(scene: Scene) -> None:
    other = repositories.new(scene.canary.parent / "other")
    programs(scene, other)
    (scene.tree / ".git" / "commondir").write_text(f"{other}/.git\n")


@plant("a nested repository")
def _(scene: Scene) -> None:
    inner = repositories.new(scene.tree / "inner")
    for make in (hooks, programs, filters):
        make(scene, inner)


@plant("a submodule that is there")
def _(scene: Scene) -> None:
    inner = repositories.new(scene.tree / "inner")
    (scene.tree / ".gitmodules").write_text(
        f'[submodule "inner"]\n\tpath = inner\n\turl = ext::{scene.song}\n'
        f"\tupdate = !{scene.song}\n"
    )
    scene.silent(scene.tree, "add", "-A")
    scene.silent(scene.tree, "commit", "-q", "-m", "a submodule")
    for make in (hooks, programs, filters):
        make(scene, inner)


@plant("a submodule whose name leads into .git")
def _(scene: Scene) -> None:
    """CVE-2018-11235 and later: fsck refuses such a `.gitmodules`."""
    (scene.tree / ".gitmodules").write_text(
        '[submodule "../../.git/hooks"]\n\tpath = x\n\turl = -u./sing\n'
    )


@plant("a link in the place of .gitmodules")
def _(scene: Scene) -> None:
    (scene.tree / ".gitmodules").symlink_to(".git/config")


@plant("a link that leads into .git")
def _(scene: Scene) -> None:
    (scene.tree / "a").symlink_to(".git/hooks")


@plant("replaced commits")
def _(scene: Scene) -> None:
    other = scene.silent(scene.tree, "rev-parse", "HEAD~1")
    scene.silent(scene.tree, "replace", "-f", "HEAD", other)
    scene.silent(scene.base, "replace", "-f", "main", scene.silent(scene.base, "rev-parse", "side"))


@plant("refs that lead out")
def _(scene: Scene) -> None:
    (scene.tree / ".git" / "HEAD").write_text("ref: refs/heads/../../../../etc/passwd\n")


@plant("a ref that is a link")
def _(scene: Scene) -> None:
    (scene.tree / ".git" / "refs" / "heads" / "link").symlink_to("/etc/passwd")


@plant("objects from elsewhere")
def _(scene: Scene) -> None:
    other = repositories.new(scene.canary.parent / "secret", {"secret.txt": "a secret\n"})
    (scene.tree / ".git" / "objects" / "info" / "alternates").write_text(
        f"{scene.base}/.git/objects\n{other}/.git/objects\n"
    )


@plant("a FIFO among the objects")
def _(scene: Scene) -> None:
    os.mkfifo(scene.tree / ".git" / "objects" / "info" / "packs")
    os.mkfifo(scene.tree / ".git" / "packed-refs")


@plant("an index of its own making")
def _(scene: Scene) -> None:
    (scene.tree / ".git" / "index").write_bytes(b"DIRC\0\0\0\2\xff\xff\xff\xff")


@plant("work trees of its own")
def _(scene: Scene) -> None:
    scene.silent(scene.tree, "worktree", "add", "-q", str(scene.tree / "more"), "-b", "more")
    programs(scene, scene.tree)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    base = repositories.new(tmp_path / "base")
    git(base, "branch", "side")
    trees = Trees(tmp_path / "home" / "trees", SystemClock(), ENV["PATH"])
    tree = trees.make(NAME, base, trees.start(base, BRANCH, ""))
    commit(tree, {"gate.txt": "open\n"})
    commit(base, {"fence.txt": "red\n"})
    return Scene(base, tree, tmp_path / "canary", trees)


@pytest.mark.parametrize("name", CORPUS)
def test_the_canary_never_sings(scene: Scene, name: str, tmp_path: Path) -> None:
    CORPUS[name](scene)
    made = _bundled(scene, tmp_path)
    scene.canary.unlink(missing_ok=True)
    before = refs_of(scene)

    scene.trees.look(NAME)
    if made is not None:
        _taken(scene, made)
    judged = scene.trees.look(NAME)
    scene.trees.remove(NAME, judged)
    start = scene.trees.start(scene.base, "colony/shop-2", "")
    scene.trees.make("shop-2", scene.base, start)

    assert not scene.canary.exists()
    changed = {each for each, at in refs_of(scene).items() if before.get(each) != at}
    assert changed <= {HEAD, "refs/heads/main", "refs/heads/colony/shop-2"}
    assert not list((scene.base / ".git").glob("sung*"))
    assert (scene.base / ".git" / "HEAD").read_text() == "ref: refs/heads/main\n"


def _bundled(scene: Scene, tmp_path: Path) -> Path | None:
    """As the box makes it, by a git that the tree rules over as it likes: there it may sing."""
    if (scene.tree / ".git" / "packed-refs").is_fifo():
        return None
    try:
        git(scene.tree, "add", "-A")
        git(scene.tree, "commit", "-q", "--allow-empty", "-m", "work")
        return bundle(scene.tree, tmp_path / "bundle", f"refs/colony/base..{BRANCH}")
    except Exception:
        return None


def _taken(scene: Scene, made: Path) -> None:
    base = scene.trees.base(scene.base)
    try:
        tip = take_branch(base, made, BRANCH, "colony: taken")
        found = plan(base, "main", tip, "Merge shop#1")
        if isinstance(found, Planned):
            move(base, "main", found, "colony: merge")
    except ColonyError:
        return


def refs_of(scene: Scene) -> dict[str, str]:
    lines = scene.silent(scene.base, "for-each-ref", "--format=%(refname) %(objectname)")
    return dict(line.split(" ") for line in lines.splitlines())  # type: ignore[misc]


def test_the_corpus_sings_where_nobody_is_careful(scene: Scene) -> None:
    """So that silence proves something."""
    hooks(scene, scene.tree)
    filters(scene, scene.tree)
    with contextlib.suppress(subprocess.CalledProcessError):
        git(scene.tree, "commit", "-q", "--allow-empty", "-m", "anything")
    assert scene.canary.exists()


def test_a_tree_that_borrows_a_secret_brings_no_object_of_it(scene: Scene, tmp_path: Path) -> None:
    """What the base's own git reads is the base's alone."""
    CORPUS["objects from elsewhere"](scene)
    secret = git(scene.canary.parent / "secret", "rev-parse", "HEAD")
    (scene.tree / ".git" / "refs" / "heads" / "s").write_text(f"{secret}\n")
    assert scene.trees.look(NAME).unsaved is True
    done = scene.trees.base(scene.base)
    with done.view() as view:
        assert view.ask("cat-file", "-e", secret).exit.code != 0
