"""How full the disks are on which Colony's folders lie (F55, F72)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from colony.core.admission import Disk, Reserved, Unknown, judge
from colony.core.guard import Guard
from colony.host import gauge
from colony.host.gauge import SystemGauge

GAUGE = SystemGauge()
MB = 1024 * 1024


def disks(**folders: Path) -> tuple[Disk | Unknown, ...]:
    reading = GAUGE.read({name.replace("_", " "): path for name, path in folders.items()})
    assert reading is not None
    return reading.disks


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """A disk of 20 MB for 30 names."""
    disk = tmp_path / "tiny"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=20m,nr_inodes=30", "none", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("needs root and the right to mount")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_each_disk_is_told_once_and_by_its_first_folder(tmp_path: Path, tiny: Path) -> None:
    (tmp_path / "runs").mkdir()
    found = disks(work_folder=tmp_path, run_folder=tmp_path / "runs", temporary_folder=tiny)
    assert [each.holds for each in found if isinstance(each, Disk)] == [
        "work folder",
        "temporary folder",
    ]


def test_a_folder_that_is_not_there_yet_lies_where_it_will_be_made(tiny: Path) -> None:
    [found] = disks(run_folder=tiny / "home" / "runs")
    assert isinstance(found, Disk)
    assert found.total == 20 * MB


def test_a_small_disk_has_no_room_for_a_session(tiny: Path) -> None:
    reading = GAUGE.read({"work folder": tiny})
    full = judge(reading, Guard(on=True), Reserved(), 0)
    assert full is not None
    assert full.text == (
        "no room: disk — 0.02 GB of 0.02 GB free where the work folder lies"
        " < 2.15 GB for a session + 0.00 GB kept free"
    )


def test_a_disk_that_is_full_of_names_is_full(tiny: Path) -> None:
    nothing = Guard(on=True, session_disk=0, disk_percent=0)
    full = judge(GAUGE.read({"work folder": tiny}), nothing, Reserved(), 0)
    assert full is not None
    assert "of 30 inodes free where the work folder lies < 10000" in full.text


def test_what_is_written_is_seen_at_the_next_look(tiny: Path) -> None:
    [before] = disks(work_folder=tiny)
    (tiny / "file").write_bytes(b"x" * 5 * MB)
    [after] = disks(work_folder=tiny)
    assert isinstance(before, Disk)
    assert isinstance(after, Disk)
    assert before.free - after.free == pytest.approx(5 * MB, abs=8192)
    assert before.free_inodes - after.free_inodes == 1


def test_what_is_kept_for_root_is_not_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = SimpleNamespace(
        f_frsize=4096, f_bsize=1 << 20, f_blocks=1000, f_bfree=500, f_bavail=400,
        f_files=90, f_ffree=80, f_favail=70,
    )  # fmt: skip
    monkeypatch.setattr(gauge.os, "statvfs", lambda _: told)
    [found] = disks(work_folder=tmp_path)
    assert found == Disk("work folder", 400 * 4096, 1000 * 4096, 70, 90)


def test_a_disk_that_cannot_be_asked_is_unknown(plain_folder: Path) -> None:
    closed = plain_folder / "closed"
    closed.mkdir(mode=0)
    [found] = disks(work_folder=closed / "inside")
    if os.geteuid() == 0:
        pytest.skip("root may look everywhere")
    assert found == Unknown("the disk of the work folder cannot be read: Permission denied")
