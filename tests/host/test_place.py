"""Clock, chance and the names of this place."""

from __future__ import annotations

import os
import re
import time
import uuid
from pathlib import Path

from colony.host.chance import SESSION, SystemChance
from colony.host.place import host_name, login_name
from tests.host.conftest import CLOCK


def test_the_clocks_are_the_kernels() -> None:
    assert abs(CLOCK.wall_ms() - time.time() * 1000) < 1000
    first = CLOCK.boot_s()
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    assert abs(first - uptime) < 1
    assert CLOCK.boot_s() >= first
    assert re.fullmatch(r"[0-9a-f-]{36}", CLOCK.boot_id())


def test_names_are_in_their_form_and_never_twice() -> None:
    chance = SystemChance()
    session = chance.session_id(1_767_323_045_999)
    assert session.startswith("s-20260102T0304-")
    assert SESSION.fullmatch(session)
    assert len({chance.session_id(0) for _ in range(50)}) == 50
    assert uuid.UUID(chance.uuid4()).version == 4
    assert all(0 <= chance.fraction() < 1 for _ in range(1000))


def test_the_host_is_called_by_the_file_then_by_the_kernel(tmp_path: Path) -> None:
    file = tmp_path / "hostname"
    assert host_name(file) in (os.uname().nodename, "localhost")
    file.write_text("box-7\nsecond line\n")
    assert host_name(file) == "box-7"
    for bad in (b"", b"\n", b"a b\n", b"\xff\n", b"x" * 5000):
        file.write_bytes(bad)
        assert host_name(file) in (os.uname().nodename, "localhost")


def test_the_login_name_is_somebodys() -> None:
    assert login_name()
