"""What is read of a machine's memory, on every layout that is known.

The layouts are those at the end of the reference of faults, section 6.4.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from machine_trees import GB, MB, NONE_V1, V2, Machine, meminfo, on_v1, on_v2, stat, v1, v2

from colony.core.admission import Bound, Memory, Reserved, Unknown, judge, reads
from colony.core.guard import Guard
from colony.host.gauge import SystemGauge

ON: Final = Guard(on=True)
CACHED: Final = {"anon": 1 * GB, "active_file": 9 * GB, "inactive_file": 1 * GB}

Groups = list[tuple[str, int | None, int]]
"""Files, limit and what is held, the nearest first."""

LAYOUTS: Final[dict[str, tuple[Machine, Groups]]] = {
    "v2 with a limit": (
        on_v2("/app", {"app": v2(24 * GB, 11 * GB, **CACHED)}),
        [("cgroup v2", 24 * GB, 1 * GB)],
    ),
    "v2 without a limit": (
        on_v2("/app", {"app": v2("max", 2 * GB)}), [("cgroup v2", None, 2 * GB)],
    ),
    "v2, the root group": (
        on_v2("/", {"": {"memory.stat": stat(anon=5 * GB), "cgroup.controllers": "memory\n"}}), [],
    ),
    "v2, the limit of the grandparent": (
        on_v2("/a/b/c", {
            "a": v2(4 * GB, 3 * GB), "a/b": v2("max", 2 * GB), "a/b/c": v2("max", 1 * GB),
        }),
        [("cgroup v2", None, 1 * GB), ("cgroup v2", None, 2 * GB), ("cgroup v2", 4 * GB, 3 * GB)],
    ),
    "v2, a container with a name space of its own": (
        on_v2("/", {"": v2(2 * GB, 1 * GB)}), [("cgroup v2", 2 * GB, 1 * GB)],
    ),
    "v2, outside of the name space": (
        on_v2("/../../else", {"": v2(2 * GB, 1 * GB)}), [("cgroup v2", 2 * GB, 1 * GB)],
    ),
    "v2, a container that is told the host's path": (
        on_v2("/docker/abc", {"": v2(2 * GB, 1 * GB)}, root="/docker/abc"),
        [("cgroup v2", 2 * GB, 1 * GB)],
    ),
    "v2, memory.high below the limit": (
        on_v2("/app", {"app": v2(8 * GB, 1 * GB, high=6 * GB)}), [("cgroup v2", 6 * GB, 1 * GB)],
    ),
    "v2, memory.high alone": (
        on_v2("/app", {"app": v2("max", 1 * GB, high=6 * GB)}), [("cgroup v2", 6 * GB, 1 * GB)],
    ),
    "v1": (
        on_v1("/app", {
            "/app": v1(4 * GB, 3 * GB, total_active_file=1 * GB, total_inactive_file=1 * GB),
            "": v1(NONE_V1, 9 * GB),
        }),
        [("cgroup v1", 4 * GB, 1 * GB), ("cgroup v1", None, 9 * GB)],
    ),
    "v1 without a limit": (
        on_v1("/", {"": v1(NONE_V1, 5 * GB)}), [("cgroup v1", None, 5 * GB)],
    ),
    "v1, a container that is told the host's path": (
        on_v1("/docker/abc", {"": v1(4 * GB, 1 * GB)}, root="/docker/abc"),
        [("cgroup v1", 4 * GB, 1 * GB)],
    ),
    "v1 controllers beside an empty v2": (
        on_v1("/api/one", {"/api/one": v1(4 * GB, 1 * GB), "": v1(NONE_V1, 2 * GB)}),
        [("cgroup v1", 4 * GB, 1 * GB), ("cgroup v1", None, 2 * GB)],
    ),
    "negative difference": (
        on_v2("/app", {"app": v2(4 * GB, 1 * GB, inactive_file=2 * GB)}),
        [("cgroup v2", 4 * GB, 0)],
    ),
    "keys are missing": (
        on_v2("/app", {"app": v2(4 * GB, 3 * GB, anon=1 * GB)}), [("cgroup v2", 4 * GB, 3 * GB)],
    ),
    "no memory.stat": (
        on_v2("/app", {"app": {"memory.max": "4000000000", "memory.current": "3000000000"}}),
        [("cgroup v2", 4 * GB, 3 * GB)],
    ),
    "huge values": (
        on_v2("/app", {"app": v2(2**63, 2**63, anon=2**63)}), [("cgroup v2", None, 2**63)],
    ),
    "a limit above all memory": (
        on_v2("/app", {"app": v2(900 * GB, 1 * GB)}), [("cgroup v2", None, 1 * GB)],
    ),
    "a limit of nothing": (on_v2("/app", {"app": v2(0, 0, anon=0)}), [("cgroup v2", 0, 0)]),
    "lxcfs": (
        replace(on_v2("/", {"": v2(8 * GB, 2 * GB)}), meminfo=meminfo(8 * GB, 9 * GB)),
        [("cgroup v2", None, 2 * GB)],
    ),
    "docker in docker": (
        on_v2("/docker/a/docker/b", {
            "": v2(6 * GB, 5 * GB), "docker": v2("max", 3 * GB), "docker/b": v2("max", 2 * GB),
        }, root="/docker/a"),
        [("cgroup v2", None, 2 * GB), ("cgroup v2", None, 3 * GB), ("cgroup v2", 6 * GB, 5 * GB)],
    ),
    "no mounts are told": (
        replace(on_v2("/app", {"app": v2(4 * GB, 1 * GB)}), mounts=()),
        [("cgroup v2", 4 * GB, 1 * GB)],
    ),
    "no groups at all": (Machine(None, ()), []),
    "mounted elsewhere": (
        Machine("0::/app\n", (V2.format(root="/").replace("/sys/fs/cgroup", "/mnt/x"),)), [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_is_read(name: str, tmp_path: Path) -> None:
    made, expected = LAYOUTS[name]
    reading = made.built(tmp_path).read({})
    assert reading is not None
    assert isinstance(reading.memory, Memory)
    found = [(one.files, one.limit, one.held) for one in reading.memory.groups]
    assert found == expected
    machine = reading.memory.machine
    assert (machine.files, machine.by) == ("/proc/meminfo", "the machine")
    total, left = (8 * GB, 9 * GB) if name == "lxcfs" else (64 * GB, 60 * GB)
    assert machine.limit == pytest.approx(total, abs=2048)
    assert machine.held == pytest.approx(max(0, total - left), abs=2048)


@pytest.mark.parametrize(
    ("name", "need", "fits"),
    [
        ("v2 with a limit", 20_600 * MB, True),
        ("v2 with a limit", 20_601 * MB, False),
        ("v2 without a limit", 53_500 * MB, True),
        ("v2 without a limit", 53_700 * MB, False),
        ("v2, the root group", 53_700 * MB, False),
        ("v2, the limit of the grandparent", 600 * MB, True),
        ("v2, the limit of the grandparent", 601 * MB, False),
        ("docker in docker", 400 * MB, True),
        ("docker in docker", 401 * MB, False),
        ("v1", 2_600 * MB, True),
        ("v1", 2_601 * MB, False),
        ("lxcfs", 7_100 * MB, True),
        ("lxcfs", 7_300 * MB, False),
        ("a limit of nothing", 1, False),
    ],
)
def test_what_fits_into_a_layout(name: str, need: int, fits: bool, tmp_path: Path) -> None:
    reading = LAYOUTS[name][0].built(tmp_path).read({})
    assert (judge(reading, ON, Reserved(), need) is None) == fits


# --- what cannot be read is no room ----------------------------------------------------------

GOOD: Final = on_v2("/app", {"app": v2(4 * GB, 1 * GB)})


def said(machine: Machine, folder: Path) -> str:
    reading = machine.built(folder).read({})
    assert reading is not None
    assert isinstance(reading.memory, Unknown)
    assert judge(reading, ON, Reserved(), 1) is not None
    return reading.memory.why


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("memory.max", "lots\n", "memory.max says 'lots', which is no number"),
        ("memory.max", "", "memory.max says 'nothing', which is no number"),
        ("memory.high", "-1\n", "memory.high says '-1', which is no number"),
        ("memory.current", "9" * 40, "which is no number"),
    ],
)
def test_a_file_that_says_nothing_of_use(file: str, text: str, why: str, tmp_path: Path) -> None:
    group = v2(4 * GB, 1 * GB) | {file: text}
    assert why in said(on_v2("/app", {"app": group}), tmp_path)


@pytest.mark.parametrize("file", ["memory.max", "memory.high", "memory.current", "memory.stat"])
def test_a_file_that_cannot_be_read(file: str, tmp_path: Path) -> None:
    """A folder in its place cannot be read by anybody, root included."""
    group = {name: text for name, text in v2(4 * GB, 1 * GB).items() if name != file}
    machine = on_v2("/app", {"app": group, f"app/{file}": {}})
    assert said(machine, tmp_path) == f"{file} cannot be read: Is a directory"


def test_a_limit_without_its_usage(tmp_path: Path) -> None:
    group = v2(4 * GB, 1 * GB)
    del group["memory.current"]
    why = "the cgroup app has a limit and tells no usage"
    assert said(on_v2("/app", {"app": group}), tmp_path) == why
    old = v1(4 * GB, 1 * GB)
    del old["memory.usage_in_bytes"]
    (tmp_path / "v1").mkdir()
    assert said(on_v1("/app", {"/app": old}), tmp_path / "v1") == why


@pytest.mark.parametrize("text", [None, "", "MemFree: 12 kB\n", "MemTotal: many kB\n"])
def test_a_machine_that_does_not_tell_its_memory(text: str | None, tmp_path: Path) -> None:
    assert said(replace(GOOD, meminfo=text), tmp_path).startswith("/proc/meminfo does not tell")


def test_no_proc(tmp_path: Path) -> None:
    gauge = SystemGauge(tmp_path / "nowhere", tmp_path / "neither")
    reading = gauge.read({})
    assert reading is not None
    assert isinstance(reading.memory, Unknown)


def test_a_stated_limit_with_the_machine_alone_is_unknown(tmp_path: Path) -> None:
    reading = LAYOUTS["no groups at all"][0].built(tmp_path).read({})
    assert judge(reading, ON, Reserved(), 1) is None
    full = judge(reading, replace(ON, memory_limit=4 * GB), Reserved(), 1)
    assert full is not None
    assert full.cause == "unknown"


# --- nothing is cached, and what is only shown -----------------------------------------------


def test_every_look_reads_anew(tmp_path: Path) -> None:
    gauge = GOOD.built(tmp_path)
    before = gauge.read({})
    (tmp_path / "cgroup" / "app" / "memory.max").write_text(f"{3 * GB}\n")
    after = gauge.read({})
    assert before is not None
    assert after is not None
    assert reads(before, ON) != reads(after, ON)
    assert "limit 3.00 GB from cgroup" in reads(after, ON)


def test_pressure_and_kills_are_told(tmp_path: Path) -> None:
    for name, files, told in (("v2", v2(4 * GB, 1), (1.25, 3)), ("v1", v1(4 * GB, 1), (0.5, 2))):
        folder = tmp_path / name
        folder.mkdir()
        made = on_v2("/app", {"app": files}) if name == "v2" else on_v1("/app", {"/app": files})
        gauge = made.built(folder)
        (gauge.proc / "pressure").mkdir()
        (gauge.proc / "pressure" / "memory").write_text("some avg10=0.50 avg60=0.00 total=1\n")
        reading = gauge.read({})
        assert reading is not None
        assert (reading.pressure, reading.kills) == told


@pytest.mark.parametrize("text", ["", "some avg10=nan", "some avg10=..", "full avg10=9.0 x"])
def test_pressure_that_is_not_told_is_no_trouble(text: str, tmp_path: Path) -> None:
    files: dict[str, Any] = v2(4 * GB, 1) | {"memory.pressure": text, "memory.events": "oom x\n"}
    reading = on_v2("/app", {"app": files}).built(tmp_path).read({})
    assert reading is not None
    assert isinstance(reading.memory, Memory)
    assert (reading.pressure, reading.kills) == (None, None)


def test_this_machine_can_be_read() -> None:
    reading = SystemGauge().read({"work folder": Path(os.devnull).parent})
    assert reading is not None
    assert isinstance(reading.memory, Memory)
    machine = reading.memory.machine
    assert isinstance(machine, Bound)
    assert 0 < machine.held < (machine.limit or 0)
