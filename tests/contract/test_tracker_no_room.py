"""An import where there is no room, or no right to write: all of it or nothing."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from edges import DERIVE, Cast, Clock, EmbeddedEdge, on_file

from colony.errors import Busy, Unreachable
from colony.tracker.moving.arrival import take
from colony.tracker.moving.databases import read_into, snapshot
from colony.tracker.moving.export import lines
from colony.tracker.service import Service
from colony.tracker.sql import files

TINY = """
import sys
from pathlib import Path
from edges import DERIVE
from colony.errors import ColonyError
from colony.tracker.moving.databases import read_into, snapshot
from colony.tracker.copies import backup
small, data, source = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
def told(call):
    try:
        call()
    except ColonyError as error:
        print(error.exit_code, error.line)
    print(sorted(each.name for each in small.iterdir()))
with data.open("rb") as file:
    told(lambda: read_into(f"sqlite:///{small}/colony.db", file, DERIVE))
told(lambda: backup(source, small / "copy.db"))
"""


def exported(folder: Path) -> bytes:
    edge = on_file(folder)
    cast = Cast(edge)
    for at in range(8):
        cast.comment(cast.alice, cast.ticket(f"Ticket {at}"), "y" * 200_000)
    edge.service.close()
    with snapshot(f"sqlite:///{folder}/colony.db") as engine:
        return b"".join(lines(engine, 1))


def test_an_import_without_room_leaves_the_tracker_empty(tmp_path: Path) -> None:
    data = exported(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["colony.db"]
    path = tmp_path / "new.db"
    files.make_file(path)
    engine = files.open_file(path, create=False, timeout_s=1)
    connection = engine.connection()
    connection.execute("PRAGMA max_page_count = 200")
    with pytest.raises(Busy, match="no room") as refusal:
        take(engine, io.BytesIO(data), DERIVE)
    assert "\n" not in refusal.value.line
    connection.execute("PRAGMA query_only = ON")
    with pytest.raises(Unreachable, match="read-only"):
        take(engine, io.BytesIO(data), DERIVE)
    connection.execute("PRAGMA query_only = OFF")
    connection.execute("PRAGMA max_page_count = 100000")
    assert take(engine, io.BytesIO(data), DERIVE)["ticket"] == 8
    assert len(Cast(EmbeddedEdge(Service(engine, Clock(), DERIVE), Clock())).alice.tickets()) == 8
    engine.close()


def test_a_tiny_disk_gets_nothing_or_all(tmp_path: Path) -> None:
    data = exported(tmp_path)
    (tmp_path / "all.jsonl").write_bytes(data)
    small = tmp_path / "small"
    small.mkdir()
    box = [
        "bwrap",
        "--bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--bind",
        "/dev/shm",
        "/dev/shm",
        "--size",
        "700000",
        "--tmpfs",
        str(small),
    ]
    if not shutil.which("bwrap") or subprocess.run([*box, "true"], check=False).returncode:
        missing = "no bubblewrap to make a small disk with"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    here = Path(__file__).parent
    source = f"sqlite:///{tmp_path}/colony.db"
    done = subprocess.run(
        [*box, sys.executable, "-c", TINY, str(small), str(tmp_path / "all.jsonl"), source],
        capture_output=True, text=True, env={"PYTHONPATH": f"{here.parents[1]}:{here}"},
        check=False,
    )  # fmt: skip
    assert done.stderr == ""
    imported, left, copied, left_too = done.stdout.splitlines()
    assert imported.startswith("5 no room left to write")
    assert copied.startswith("5 no room left to write")
    assert (left, left_too) == ("[]", "[]")


def test_a_new_database_gets_its_name_alone(tmp_path: Path) -> None:
    data = exported(tmp_path)
    there = tmp_path / "there"
    there.mkdir()
    url = f"sqlite:///{there}/colony.db"
    counts = read_into(url, io.BytesIO(data), DERIVE)
    assert counts["event"] == 17
    assert [each.name for each in there.iterdir()] == ["colony.db"]
