"""A project with `worktrees` through the commands: each ticket in a tree of its own, in a box.

| rule | test |
|---|---|
| works in its tree, on its branch | test_a_ticket_is_worked_on_in_a_tree_of_its_own |
| several sessions of one project at once | test_two_tickets_of_a_project_are_worked_on_at_once |
| `run` starts them side by side | test_the_loop_starts_both |
| a refusal writes nothing | test_what_has_no_tree_is_refused_before_the_lease |
| a re-dispatch finds its tree | test_sent_back_it_goes_on_in_the_same_tree |
| what stays, and why | test_the_doctor_names_the_trees_that_stay |
| the brief says where and on which branch | test_a_brief_says_where_and_on_which_branch |
| of the base objects are read, nothing is written | test_nothing_of_the_base_can_be_written_… |
| what the box shows as empty is not committed so | test_a_tracked_env_file_… |
| a full disk, and whose tree stays | test_a_full_disk_… test_a_re_dispatch_… |
| `--dry-run` makes nothing | test_a_dry_run_makes_no_tree |
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.cli.stage import CART, Stage, answer, make_stage, moves
from tests.fakes.repositories import commit, git

WRITES = {"run": "echo open >gate.txt"}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = make_stage(tmp_path)
    made.environ["COLONY_SANDBOX"] = "on"
    made.register("shop", worktrees=True, merge="pass")
    dev = made.cwd / "dev-shop"
    git(dev, "init", "-q", "--initial-branch=main")
    commit(dev, {"gate.txt": "closed\n", ".gitignore": "here\n"})
    made.ticket()
    return made


def dev(stage: Stage) -> Path:
    return stage.cwd / "dev-shop"


def tree(stage: Stage, number: int = 1) -> Path:
    return stage.home / "trees" / f"shop-{number}"


def plays(stage: Stage, *work: Any) -> None:
    stage.script(work=[*work, answer()])


def test_a_ticket_is_worked_on_in_a_tree_of_its_own(stage: Stage) -> None:
    sees = "pwd; git symbolic-ref HEAD; git log --format=%s -1; ls ..; ls -d ../../runs/* || :"
    plays(stage, {"run": f"({sees}) >seen.txt 2>&1"}, WRITES)
    done = stage("work", "shop", "1", "--post")
    assert done.code == 0, done.out + done.err
    seen = (dev(stage) / "seen.txt").read_text().splitlines()
    assert seen[:4] == [str(tree(stage)), "refs/heads/colony/shop-1", "change", "shop-1"]
    assert (dev(stage) / "gate.txt").read_text() == "open\n"
    assert git(dev(stage), "status", "--porcelain") == ""
    record = stage.record()
    assert record["setup"]["folder"] == str(tree(stage))
    assert record["tree"]["merged"] == "merged" and record["tree"]["bundleSha256"]
    assert (stage.run / "bundle").is_file()
    brief = (stage.run / "brief.md").read_text()
    assert f"where you work: `{tree(stage)}`" in brief and "Your branch: `colony/shop-1`" in brief
    assert "merged into main" in stage.texts(CART)
    assert not list((stage.run / "inside").glob("*/scratch"))


def test_nothing_of_the_base_can_be_written_from_a_worker(stage: Stage) -> None:
    """Its objects are borrowed: they are read. Its refs and files are not even seen."""
    base = dev(stage)
    before = git(base, "for-each-ref") + git(base, "rev-parse", "HEAD")
    canaries = [
        "canary", "gate.txt", ".git/canary", ".git/config", ".git/HEAD", ".git/hooks/post-merge",
        ".git/refs/heads/main", ".git/refs/heads/canary", ".git/objects/canary",
        ".git/objects/info/alternates", ".git/objects/pack/canary",
    ]  # fmt: skip
    tries = " ".join(f"{base}/{each}" for each in canaries)
    writes = f'for each in {tries}; do (mkdir -p "${{each%/*}}"; echo canary >>"$each"); done'
    removes = f"find {base}/.git/objects -type f -exec rm -f {{}} +"
    reads = "git cat-file -p refs/colony/base:gate.txt >read.txt"
    plays(stage, {"run": f"({writes}; {removes}) 2>/dev/null; {reads}"})
    done = stage("work", "shop", "1", "--post")
    assert done.code == 0, done.out + done.err
    assert (base / "read.txt").read_text() == "closed\n", "it was read, and merged"
    assert git(base, "rev-parse", "main^1") in before
    assert git(base, "fsck", "--strict") == ""
    for path in base.rglob("*"):
        assert path.name not in ("canary", "post-merge")
        assert path.is_dir() or b"canary" not in path.read_bytes()


@pytest.mark.parametrize("how", ["left to Colony", "by the worker"])
def test_a_tracked_env_file_is_not_committed_as_the_box_shows_it(stage: Stage, how: str) -> None:
    commit(dev(stage), {".env": "KEY=real\n", "apps/.env.local": "KEY=two\n"})
    commits = "git add -A; git -c user.name=a -c user.email=a@a commit -qm all"
    looks = "cat .env apps/.env.local >seen.txt; echo KEY=new >new.env; echo open >gate.txt"
    makes = "mkdir b; echo KEY=made >b/.env"
    also = commits if how == "by the worker" else makes
    plays(stage, {"run": f"{looks}; {also}"})
    done = stage("work", "shop", "1", "--post")
    assert done.code == 0, done.out + done.err
    assert (dev(stage) / "seen.txt").read_text() == ""
    assert (dev(stage) / "gate.txt").read_text() == "open\n"
    assert git(dev(stage), "show", "main:.env") == "KEY=real"
    assert git(dev(stage), "show", "main:apps/.env.local") == "KEY=two"
    assert (dev(stage) / ".env").read_text() == "KEY=real\n"
    files = git(dev(stage), "ls-tree", "-r", "--name-only", "main").split()
    assert "new.env" in files and "b/.env" not in files
    assert how != "left to Colony" or (tree(stage) / "b/.env").read_text() == "KEY=made\n"


def test_setup_runs_in_the_box(stage: Stage) -> None:
    stage.register(
        "shop", worktrees=True, setup=[f"ls {stage.home}/colony.db >/dev/null && touch leaked || :"]
    )
    plays(stage, WRITES)
    done = stage("work", "shop", "1", "--post")
    assert done.code == 0, done.out + done.err
    assert "TREE — shop#1: setup: ls" in done.out
    assert not (tree(stage) / "leaked").exists()


def test_two_tickets_of_a_project_are_worked_on_at_once(stage: Stage) -> None:
    """Each waits until the other is at work, so one after the other they would never end."""
    stage.environ["COLONY_SANDBOX"] = "off"
    stage.ticket(subject="A door")
    waits = (
        "touch here; n=0; until [ -e ../shop-1/here ] && [ -e ../shop-2/here ] || [ $n -gt 300 ];"
        ' do sleep 0.1; n=$((n+1)); done; [ $n -le 300 ] && echo both >"of-${PWD##*/}"'
    )
    plays(stage, {"run": waits})
    started = [stage.start("work", "shop", str(number), "--post") for number in (1, 2)]
    for process in started:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, out + err
    assert (dev(stage) / "of-shop-1").read_text() == "both\n"
    assert (dev(stage) / "of-shop-2").read_text() == "both\n"


def test_the_loop_starts_both(stage: Stage) -> None:
    stage.environ["COLONY_SANDBOX"] = "off"
    stage.ticket(subject="A door")
    plays(stage, {"run": 'echo x >"of-${PWD##*/}"'})
    done = stage("run", "--once", "--parallel", "2")
    assert done.code == 0, done.out + done.err
    [iteration] = [line for line in done.lines if line.startswith("ITER")][:1]
    assert "shop#1" in iteration and "shop#2" in iteration
    assert "in its folder" not in done.out
    for number in (1, 2):
        assert (dev(stage) / f"of-shop-{number}").read_text() == "x\n", done.out


@pytest.mark.parametrize("kind", ["no repository", "no such branch"])
def test_what_has_no_tree_is_refused_before_the_lease(stage: Stage, kind: str) -> None:
    if kind == "no repository":
        shutil.rmtree(dev(stage) / ".git")
    else:
        stage.register("shop", worktrees=True, base="next")
    plays(stage, WRITES)
    before = stage.store()
    done = stage("work", "shop", "1", "--post")
    assert done.code == 3 and "work: REFUSED" in done.out
    assert stage.store() == before and stage.runs == [] and not tree(stage).exists()


def test_sent_back_it_goes_on_in_the_same_tree(stage: Stage) -> None:
    stage.script(work=[WRITES, answer(complete=False, open=["the hinge"])])
    assert stage("work", "shop", "1", "--post").code == 0
    assert moves(stage)[-1] == "open"
    assert (dev(stage) / "gate.txt").read_text() == "closed\n"
    plays(stage, {"run": "grep -q open gate.txt && git log --format=%an -1 >before.txt"})
    assert stage("work", "shop", "1", "--post").code == 0
    assert (dev(stage) / "before.txt").read_text() == "Colony\n"
    assert (dev(stage) / "gate.txt").read_text() == "open\n"


def test_the_doctor_names_the_trees_that_stay(stage: Stage) -> None:
    plays(stage, WRITES)
    assert stage("work", "shop", "1", "--post").code == 0
    assert "1 may be removed to make room" in stage("doctor").out
    (tree(stage) / "draft.txt").touch()
    said = stage("doctor").out
    assert "shop-1 stays: it has changes that are not committed" in said


def test_a_full_disk_takes_the_trees_that_are_nobodys(stage: Stage) -> None:
    plays(stage, WRITES)
    stage.ticket(subject="A door")
    for number in (1, 2):
        assert stage("work", "shop", str(number), "--post").code == 0
    stage.ticket(subject="A roof")
    (tree(stage, 2) / "draft.txt").touch()
    huge = str(10**8)
    done = stage("work", "shop", "3", "--post", COLONY_SESSION_DISK_MB=huge, COLONY_GUARD="on")
    assert done.code == 5 and "no room: disk" in done.out
    assert not tree(stage, 1).exists() and tree(stage, 2).is_dir()
    assert "TREE — shop-1 is removed" in done.out


def test_a_re_dispatch_does_not_reap_its_own_tree(stage: Stage) -> None:
    stage.script(work=[WRITES, answer(complete=False, open=["the hinge"])])
    stage.ticket(subject="A door")
    for number in (1, 2):
        assert stage("work", "shop", str(number), "--post").code == 0
    huge = str(10**8)
    done = stage("work", "shop", "1", "--post", COLONY_SESSION_DISK_MB=huge, COLONY_GUARD="on")
    assert done.code == 5 and "no room: disk" in done.out
    assert tree(stage, 1).is_dir() and not tree(stage, 2).exists()


def test_a_dry_run_makes_no_tree(stage: Stage) -> None:
    plays(stage, WRITES)
    done = stage("work", "shop", "1", "--dry-run")
    assert done.code == 0 and str(tree(stage)) in done.out
    assert not tree(stage).exists()
    assert "refs/heads/colony/shop-1" not in git(dev(stage), "for-each-ref")


def test_a_brief_says_where_and_on_which_branch(stage: Stage) -> None:
    done = stage("brief", "shop", "1", "--out", "-")
    assert done.code == 0, done.err
    assert f"where you work: `{tree(stage)}`" in done.out
    assert "Your branch: `colony/shop-1`" in done.out and "cut from `main`" in done.out
