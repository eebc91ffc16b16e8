"""A real control group with a real limit: what this machine's kernel tells of it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.fakes.real_group import RealGroup, real_group

MB: Final = 1_000_000
LIMIT: Final = 600 * MB

PROGRAM: Final = """
import dataclasses, json, os, sys
from pathlib import Path
from colony.host.gauge import SystemGauge

def look():
    memory = SystemGauge().read({}).memory
    print(json.dumps(dataclasses.asdict(memory)["groups"][0]), flush=True)

look()
file = Path(sys.argv[1])
file.write_bytes(bytes(200_000_000))
with file.open("rb+") as opened:
    os.fsync(opened.fileno())
for _ in range(3):
    file.read_bytes()[:1]
look()
kept = bytearray(150_000_000)
kept[::4096] = b"x" * len(kept[::4096])
look()
"""


@pytest.fixture
def group() -> Iterator[RealGroup]:
    with real_group(LIMIT) as made:
        yield made


@pytest.fixture
def on_disk() -> Iterator[Path]:
    """A folder whose files the kernel may drop from memory: what lies in a tmpfs stays there."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        kind = subprocess.run(
            ("stat", "-f", "-c", "%T", name), capture_output=True, text=True, check=True
        ).stdout.strip()
        if kind == "tmpfs":
            pytest.skip("/var/tmp lies in memory here")
        yield Path(name)


def test_active_cache_is_not_counted_as_used_in_a_real_group(
    group: RealGroup, on_disk: Path
) -> None:
    """The file is read again and again, so that the kernel takes it for active; what a program
    fills itself counts from then on."""
    done = subprocess.run(
        group.joined((sys.executable, "-c", PROGRAM, str(on_disk / "file"))),
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    looks: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    first, read, filled = looks
    assert all(each["limit"] == pytest.approx(LIMIT, abs=65536) for each in looks)
    assert read["held"] - first["held"] < 60 * MB
    assert filled["held"] - read["held"] == pytest.approx(150 * MB, abs=40 * MB)
