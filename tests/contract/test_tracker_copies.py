"""Copies of a database: whole, private, and never in the place of a file."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest

from colony.core.ticket import Me, NewTicket
from colony.errors import Damaged, Refused, Unreachable
from colony.flow.wiring.trackers import DERIVE
from colony.tracker.copies import backup
from colony.tracker.embedded import Embedded, open_tracker
from colony.tracker.places import open_reader


def tracker(path: Path) -> Embedded:
    return open_tracker(
        f"sqlite:///{path}",
        me=Me("anna", "", machine=False, owner=True),
        clock=lambda: 1_800_000_000_000,
        derive=DERIVE,
        create=True,
    )


def test_a_copy_holds_what_was_there_while_another_writes(tmp_path: Path) -> None:
    path, target = tmp_path / "colony.db", tmp_path / "copy.db"
    writing = tracker(path)
    first = writing.create(NewTicket("shop", "first"), key="1").ticket
    assert backup(f"sqlite:///{path}", target) == target.stat().st_size
    writing.create(NewTicket("shop", "second"), key="2")
    writing.close()
    copied = open_reader(f"sqlite:///{target}", clock=lambda: 0)
    assert copied.tickets() == (first,)
    copied.close()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert sorted(each.name for each in tmp_path.iterdir()) == ["colony.db", "copy.db"]


def test_a_copy_never_replaces_a_file(tmp_path: Path) -> None:
    path, target = tmp_path / "colony.db", tmp_path / "copy.db"
    tracker(path).close()
    target.write_text("mine")
    with pytest.raises(Refused, match="exists"):
        backup(f"sqlite:///{path}", target)
    assert target.read_text() == "mine"


def test_a_copy_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "colony.db"
    tracker(path).close()
    with pytest.raises(Unreachable):
        backup(f"sqlite:///{path}", tmp_path / "none" / "copy.db")
    with pytest.raises(Unreachable, match="no tracker"):
        backup(f"sqlite:///{tmp_path / 'other.db'}", tmp_path / "copy.db")
    assert [each.name for each in tmp_path.iterdir()] == ["colony.db"]


def test_a_damaged_database_is_not_copied(tmp_path: Path) -> None:
    path, target = tmp_path / "colony.db", tmp_path / "copy.db"
    tracker(path).close()
    path.write_bytes(path.read_bytes()[:8192])
    with pytest.raises(Damaged):
        backup(f"sqlite:///{path}", target)
    assert not target.exists()


def test_a_newer_database_is_not_copied_by_an_older_program(tmp_path: Path) -> None:
    path, target = tmp_path / "colony.db", tmp_path / "copy.db"
    tracker(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    with pytest.raises(Damaged, match="newer"):
        backup(f"sqlite:///{path}", target)
