"""A log that turns over, that nothing stops, and that stops nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from colony.host.log_file import LogFile
from tests.host.conftest import names

AT_MS = 1_767_323_045_999
STAMP = "2026-01-02T03:04:05Z"


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def log(tmp_path: Path, said: list[str]) -> Iterator[LogFile]:
    with closing(LogFile(tmp_path / "logs" / "colony.log", said.append, 100, 3)) as made:
        yield made


def text(tmp_path: Path, name: str = "colony.log") -> str:
    return (tmp_path / "logs" / name).read_text()


def test_a_line_has_its_time_in_front_and_is_one_line(
    log: LogFile, tmp_path: Path, said: list[str]
) -> None:
    log.write("ITER 1", AT_MS)
    log.write("a\nb \x1b[31m \ud800", AT_MS)
    assert text(tmp_path) == f"{STAMP} ITER 1\n{STAMP} a b \\x1b[31m \\ud800\n"
    assert stat.S_IMODE((tmp_path / "logs/colony.log").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "logs").stat().st_mode) == 0o700
    assert not said


def test_files_take_turns_and_the_oldest_goes(log: LogFile, tmp_path: Path) -> None:
    for number in range(20):
        log.write(f"line {number:02} {'x' * 40}", AT_MS)
    assert names(tmp_path / "logs") == ["colony.log"] + [f"colony.log.{n}" for n in (1, 2, 3)]
    for name, number in (("colony.log", 19), ("colony.log.1", 18), ("colony.log.3", 16)):
        assert f"line {number}" in text(tmp_path, name)
        assert len(text(tmp_path, name)) <= 100
        assert stat.S_IMODE((tmp_path / "logs" / name).stat().st_mode) == 0o600


def test_a_line_that_is_longer_than_a_file_is_there_once(log: LogFile, tmp_path: Path) -> None:
    for letter in "abc":
        log.write(letter * 500, AT_MS)
    assert names(tmp_path / "logs") == ["colony.log", "colony.log.1", "colony.log.2"]
    assert "c" * 500 in text(tmp_path)


def test_another_start_goes_on_in_the_same_file(
    log: LogFile, tmp_path: Path, said: list[str]
) -> None:
    log.write("first", AT_MS)
    with closing(LogFile(tmp_path / "logs" / "colony.log", said.append, 100, 3)) as again:
        again.write("second", AT_MS)
    log.write("third", AT_MS)
    assert [line.split()[-1] for line in text(tmp_path).splitlines()] == [
        "first", "second", "third",
    ]  # fmt: skip


def test_a_file_that_somebody_moved_away_is_not_written_to(log: LogFile, tmp_path: Path) -> None:
    log.write("first", AT_MS)
    (tmp_path / "logs/colony.log").rename(tmp_path / "kept")
    log.write("second", AT_MS)
    assert text(tmp_path) == f"{STAMP} second\n"
    assert "second" not in (tmp_path / "kept").read_text()


@pytest.mark.parametrize("kind", ["link", "folder", "fifo", "file for the folder"])
def test_what_is_no_log_is_not_written_to_and_said_once(
    kind: str, log: LogFile, tmp_path: Path, said: list[str]
) -> None:
    logs = tmp_path / "logs"
    target = tmp_path / "target"
    target.write_text("mine")
    if kind == "file for the folder":
        logs.write_text("")
    else:
        logs.mkdir()
    match kind:
        case "link":
            (logs / "colony.log").symlink_to(target)
        case "folder":
            (logs / "colony.log").mkdir()
        case "fifo":
            os.mkfifo(logs / "colony.log")
    for _ in range(3):
        log.write("a line", AT_MS)
    assert target.read_text() == "mine"
    [only] = said
    assert "colony.log cannot be written" in only


def test_a_full_disk_keeps_whole_lines_and_stops_nothing(small_disk: Path) -> None:
    said: list[str] = []
    with closing(LogFile(small_disk / "colony.log", said.append)) as log:
        for number in range(40):
            log.write(f"{number} {'x' * 5000}", AT_MS)
        lines = (small_disk / "colony.log").read_text().splitlines()
        assert lines
        assert all(len(line) > 5000 for line in lines), "no line is torn"
        assert len(said) == 1
        (small_disk / "colony.log").write_text("")
        log.write("there is room again", AT_MS)
    assert "room again" in (small_disk / "colony.log").read_text()


def test_a_folder_that_cannot_be_written_stops_nothing(plain_folder: Path) -> None:
    said: list[str] = []
    plain_folder.chmod(0o500)
    try:
        with closing(LogFile(plain_folder / "logs" / "colony.log", said.append)) as log:
            log.write("one", AT_MS)
            log.write("two", AT_MS)
    finally:
        plain_folder.chmod(0o700)
    assert len(said) == 1
    assert names(plain_folder) == []
