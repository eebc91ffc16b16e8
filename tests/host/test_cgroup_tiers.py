"""Which tier a machine has, on trees of files: v2 delegated, v1, and the many ways to have none."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from colony.host.boxes import SystemBoxes
from colony.host.cgroup import LEAF, Grouped, Limits, Ungrouped, clear, made, tier_of, told
from colony.host.holding import Holding
from tests.host.conftest import CLOCK

GIB = 1 << 30
V2_FILES = {
    "cgroup.procs": "", "cgroup.controllers": "cpu memory pids\n", "cgroup.subtree_control": "",
    "cgroup.kill": "", "memory.max": "max\n", "memory.swap.max": "max\n", "pids.max": "max\n",
    "memory.oom.group": "0\n", "memory.current": "0\n", "memory.peak": "0\n", "memory.stat": "",
    "memory.events": "oom 0\noom_kill 0\n",
}  # fmt: skip
V1_FILES = {
    "cgroup.procs": "", "memory.limit_in_bytes": "9223372036854771712\n", "pids.max": "max\n",
    "memory.use_hierarchy": "1\n", "memory.oom_control": "oom_kill 0\n",
    "memory.usage_in_bytes": "0\n", "memory.max_usage_in_bytes": "0\n", "memory.stat": "",
}  # fmt: skip


@dataclass
class Tree:
    """Files that stand for /proc and /sys/fs/cgroup; whoever makes a folder there gets the files of
    a group in it, and removes them with it, as the kernel does."""

    folder: Path
    files: dict[str, str]

    @property
    def proc(self) -> Path:
        return self.folder / "proc"

    @property
    def cgroup(self) -> Path:
        return self.folder / "cgroup"

    def group(self, path: str, **files: str) -> Path:
        made = self.cgroup / path
        made.mkdir(parents=True, exist_ok=True)
        for name, text in (self.files | files).items():
            (made / name).write_text(text)
        return made

    def lies_in(self, lines: str, mounts: str) -> None:
        (self.proc / "self").mkdir(parents=True, exist_ok=True)
        (self.proc / "self" / "cgroup").write_text(lines)
        (self.proc / "self" / "mountinfo").write_text(mounts)

    def tier(self) -> Grouped | Ungrouped:
        return tier_of(self.proc, self.cgroup)


def kernel(monkeypatch: pytest.MonkeyPatch, tree: Tree) -> None:
    mkdir, rmdir = os.mkdir, os.rmdir

    def make(path: str | Path, *more: int) -> None:
        mkdir(path, *more)
        if Path(path).is_relative_to(tree.cgroup):
            for name, text in tree.files.items():
                (Path(path) / name).write_text(text)

    def remove(path: str | Path) -> None:
        folder = Path(path)
        if folder.is_relative_to(tree.cgroup):
            if (folder / "cgroup.procs").read_text().strip() or any(
                each.is_dir() for each in folder.iterdir()
            ):
                raise OSError(16, "Device or resource busy")
            for each in folder.iterdir():
                each.unlink()
        rmdir(path)

    monkeypatch.setattr(os, "mkdir", make)
    monkeypatch.setattr(os, "rmdir", remove)


V2_MOUNT = "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
V1_MOUNTS = (
    "31 20 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "32 20 0:28 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
)
UNIT = "system.slice/colony.service"


@pytest.fixture
def v2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    tree = Tree(tmp_path, V2_FILES)
    tree.group(UNIT)
    tree.lies_in(f"0::/{UNIT}\n", V2_MOUNT)
    kernel(monkeypatch, tree)
    return tree


@pytest.fixture
def v1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    tree = Tree(tmp_path, V1_FILES)
    tree.group("memory/a")
    tree.group("pids/b")
    tree.lies_in("4:memory:/a\n8:pids:/b\n0::/\n", V1_MOUNTS)
    kernel(monkeypatch, tree)
    return tree


def read(folder: Path, name: str) -> str:
    return (folder / name).read_text().strip()


def test_delegated_v2_is_divided(v2: Tree) -> None:
    tier = v2.tier()
    assert isinstance(tier, Grouped)
    unit = v2.cgroup / UNIT
    assert read(unit / LEAF, "cgroup.procs") == str(os.getpid())
    assert read(unit, "cgroup.subtree_control") == "+memory +pids"
    assert [each.name for each in unit.iterdir() if each.is_dir()] == [LEAF]
    assert told(tier) == "each session runs in a control group of its own (cgroup v2)"
    group = made(tier, "s-1", Limits(GIB, 99))
    assert group is not None
    assert group.folders == (unit / "colony-s-1",)
    assert read(group.memory, "memory.max") == str(GIB)
    assert read(group.memory, "pids.max") == "99"
    # Swap would let it grow on, and what is left of it after a kill would be of no use.
    assert read(group.memory, "memory.swap.max") == "0"
    assert read(group.memory, "memory.oom.group") == "1"


def test_who_was_started_from_the_leaf_stays_there(v2: Tree) -> None:
    """A session's own process: groups are made beside the leaf, not below it."""
    v2.tier()
    (v2.cgroup / UNIT / LEAF / "cgroup.procs").write_text("1\n")
    v2.lies_in(f"0::/{UNIT}/{LEAF}\n", V2_MOUNT)
    tier = v2.tier()
    assert isinstance(tier, Grouped)
    assert read(v2.cgroup / UNIT / LEAF, "cgroup.procs") == "1"
    group = made(tier, "s-1", Limits())
    assert group is not None
    assert group.memory == v2.cgroup / UNIT / "colony-s-1"


def test_v2_counts_and_is_ended_whole(v2: Tree) -> None:
    tier = v2.tier()
    group = made(tier, "s-1", Limits(GIB))
    assert group is not None
    holding = Holding(group, GIB)
    (group.memory / "memory.current").write_text(f"{GIB}\n")
    (group.memory / "memory.stat").write_text(f"anon {GIB // 2}\ninactive_file {GIB // 2}\n")
    holding.look(1)
    assert (holding.peak_bytes, holding.too_much) == (GIB // 2, False)
    (group.memory / "memory.peak").write_text(f"{GIB}\n")
    (group.memory / "memory.events").write_text("oom 1\noom_kill 2\n")
    assert holding.too_much
    assert (holding.peak_bytes, holding.oom_kills, holding.by) == (GIB, 2, "cgroup v2")
    clear(tier, "s-1")
    assert not group.memory.exists()


def test_the_kernel_is_asked_to_kill_all_at_once(v2: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("colony.host.cgroup.ROUNDS", 1)
    tier = v2.tier()
    group = made(tier, "s-1", Limits())
    assert group is not None
    (group.memory / "cgroup.procs").write_text("4999999\n")
    assert clear(tier, "s-1") == ()
    assert read(group.memory, "cgroup.kill") == "1"
    assert read(group.memory, "pids.max") == "0"


def test_a_group_with_others_in_it_is_not_divided(
    v2: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person's terminal: the kernel divides no group with processes, and all is as before."""
    unit = v2.cgroup / UNIT
    (unit / "cgroup.subtree_control").unlink()
    (unit / "cgroup.subtree_control").mkdir()
    moved: list[str] = []
    put = os.write

    def write(fd: int, data: bytes) -> int:
        moved.append(str(Path(f"/proc/self/fd/{fd}").readlink()).removeprefix(str(unit)))
        if moved[-1] == "/cgroup.procs":
            (unit / LEAF / "cgroup.procs").write_text("")
        return put(fd, data)

    monkeypatch.setattr(os, "write", write)
    tier = v2.tier()
    assert isinstance(tier, Ungrouped)
    assert moved == [f"/{LEAF}/cgroup.procs", "/cgroup.procs"]
    assert not (unit / LEAF).exists()
    assert told(tier) == (
        "sessions have no control group (none can be made: is a directory): their memory is looked"
        " at once a second, and their processes are not limited"
    )


def test_v1_has_a_group_below_ours_in_each_hierarchy(v1: Tree) -> None:
    tier = v1.tier()
    assert isinstance(tier, Grouped)
    group = made(tier, "s/1", Limits(GIB, 99))
    assert group is not None
    memory, processes = v1.cgroup / "memory/a/colony-s_1", v1.cgroup / "pids/b/colony-s_1"
    assert group.folders == (memory, processes)
    assert read(memory, "memory.limit_in_bytes") == str(GIB)
    assert read(processes, "pids.max") == "99"
    clear(tier, "s/1")
    assert not memory.exists()
    assert not processes.exists()


def test_a_group_of_an_earlier_place_is_found(v1: Tree) -> None:
    """Whoever goes on with a session may have been started further down, or further up."""
    v1.group("memory/a/deeper")
    left = v1.group("memory/a/colony-s-1")
    v1.lies_in("4:memory:/a/deeper\n8:pids:/b\n0::/\n", V1_MOUNTS)
    clear(v1.tier(), "s-1")
    assert not left.exists()


def test_v1_without_the_hierarchy_of_processes_limits_memory(v1: Tree) -> None:
    v1.lies_in("4:memory:/a\n0::/\n", V1_MOUNTS)
    tier = v1.tier()
    assert isinstance(tier, Grouped)
    assert told(tier).endswith("(cgroup v1); its processes cannot be limited")
    group = made(tier, "s-1", Limits(GIB, 99))
    assert group is not None
    assert group.folders == (v1.cgroup / "memory/a/colony-s-1",)


def no_hierarchy(tree: Tree) -> None:
    (tree.cgroup / "memory/a/memory.use_hierarchy").write_text("0\n")


def no_files(tree: Tree) -> None:
    tree.files.clear()


def no_proc(tree: Tree) -> None:
    (tree.proc / "self" / "cgroup").unlink()


def only_devices(tree: Tree) -> None:
    tree.lies_in("4:devices:/a\n", V1_MOUNTS)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (no_hierarchy, "groups below ours would not count in it (memory.use_hierarchy is 0)"),
        (no_files, "none can be made: no such file or directory"),
        (no_proc, "the kernel shows no control group for memory"),
        (only_devices, "the kernel shows no control group for memory"),
    ],
)
def test_there_is_none(v1: Tree, change: Callable[[Tree], None], why: str) -> None:
    v1.files = dict(v1.files)
    change(v1)
    tier = v1.tier()
    assert tier == Ungrouped(why)
    assert made(tier, "s-1", Limits(1, 1)) is None
    assert clear(tier, "s-1") == ()


def test_a_limit_that_cannot_be_set_makes_no_group(v1: Tree) -> None:
    tier = v1.tier()
    assert isinstance(tier, Grouped)
    v1.files = {name: text for name, text in v1.files.items() if "limit" not in name}
    assert made(tier, "s-1", Limits(GIB)) is None
    assert not (v1.cgroup / "memory/a/colony-s-1").exists()
    assert not (v1.cgroup / "pids/b/colony-s-1").exists()
    assert SystemBoxes(tier).sweep("test-none-at-all", CLOCK) == ()
