"""Run folders: one commit point, and garbage that stops nobody."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import pytest

from colony.core.lines import Json
from colony.errors import Refused
from colony.host.files import CannotWrite, NoSpace, Unsafe
from colony.host.journal import RECORD, Garbage, RunFolder, list_runs
from tests.host.conftest import names

S = "s-20260102T0304-0a1b2c"
RECORDED: dict[str, Json] = {"version": 1, "text": "ünï\u2028 \U0001f600", "n": [1]}


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.make(tmp_path / "home" / "runs", S)


def test_a_run_folder_is_private(run: RunFolder) -> None:
    run.save_json(RECORDED)
    run.folder("parts/1-work")
    run.write("parts/1-work/answer.json", b"{}")
    for path in (run.path.parent, run.path, *run.path.rglob("*")):
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path
    assert run.session == S
    assert run.lock == run.path / "lock"


@pytest.mark.parametrize("name", ["", "..", "s-x", f"{S}/x", f"{S}\n", "s-20260102T0304-0A1B2C"])
def test_only_a_session_gets_a_run_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(Refused):
        RunFolder.make(tmp_path, name)
    assert not names(tmp_path)


def test_a_run_folder_that_exists_is_not_taken(run: RunFolder) -> None:
    with pytest.raises(Refused, match="exists"):
        RunFolder.make(run.path.parent, S)


def test_what_is_saved_is_loaded(run: RunFolder) -> None:
    assert run.load_json() is None
    run.save_json(RECORDED)
    assert run.load_json() == RECORDED
    run.save_json({**RECORDED, "n": []})
    assert run.load_json() == {**RECORDED, "n": []}
    assert names(run.path) == [RECORD]


def test_a_record_cut_at_any_byte_is_told_and_raises_nothing(run: RunFolder) -> None:
    """F58"""
    run.save_json(RECORDED)
    whole = (run.path / RECORD).read_bytes()
    for size in range(len(whole.rstrip())):
        (run.path / RECORD).write_bytes(whole[:size])
        assert isinstance(run.load_json(), Garbage), size


@pytest.mark.parametrize(
    "data",
    [
        b"null", b"[]", b"1", b'{"version": 2}', b"{}", b'{"version": true, "a": NaN}', b"\xff\xfe",
        b'{"version": 1, "version": 1}', b'{"version": 1, "a": "\\ud800"}', b"[" * 100_000,
        b'{"version": 1, "a": 1' + b"0" * 5000 + b"}", b"\0" * 64,
    ],
    ids=lambda data: ascii(data[:30]),
)  # fmt: skip
def test_garbage_is_a_value_with_a_reason(run: RunFolder, data: bytes) -> None:
    (run.path / RECORD).write_bytes(data)
    loaded = run.load_json()
    assert isinstance(loaded, Garbage)
    assert loaded.reason.startswith(f"{S}: {RECORD}: ")
    assert "\n" not in loaded.reason


def test_a_record_that_is_no_file_is_garbage(run: RunFolder, tmp_path: Path) -> None:
    path = run.path / RECORD
    path.symlink_to(tmp_path / "elsewhere")
    assert isinstance(run.load_json(), Garbage)
    path.unlink()
    os.mkfifo(path)
    assert isinstance(run.load_json(), Garbage)


def test_a_file_is_known_by_its_hash(run: RunFolder) -> None:
    digest = run.write("report.json", b"one")
    assert digest == hashlib.sha256(b"one").hexdigest()
    assert run.read("report.json", 10, digest) == b"one"
    (run.path / "report.json").write_bytes(b"two")
    with pytest.raises(Unsafe, match="names"):
        run.read("report.json", 10, digest)
    assert run.read("missing", 10, digest) is None


def test_subfolders_are_never_made_through_a_link(run: RunFolder, tmp_path: Path) -> None:
    (run.path / "agent").symlink_to(tmp_path)
    for name in ("agent", "agent/x", "../x", "/x"):
        with pytest.raises(Refused):
            run.folder(name)
    assert names(tmp_path) == ["home"]


def test_removing_a_tree_follows_no_link(run: RunFolder, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("canary")
    folder = run.folder("tmp/1")
    (folder / "out").symlink_to(kept)
    os.mkfifo(folder / "fifo")
    (folder / "deep").mkdir()
    run.remove_tree("tmp/1")
    run.remove_tree("tmp/1")
    assert not folder.exists()
    (run.path / "link").symlink_to(kept)
    for name in ("link", "link/x", "../runs", "."):
        with pytest.raises(Refused):
            run.remove_tree(name)
    assert (kept / "file").read_text() == "canary"
    assert run.path.exists()


def test_a_full_disk_keeps_the_last_record(small_disk: Path) -> None:
    run = RunFolder.make(small_disk, S)
    run.save_json(RECORDED)
    with pytest.raises(NoSpace):
        run.save_json({**RECORDED, "more": "x" * 100_000})
    assert run.load_json() == RECORDED
    with pytest.raises(NoSpace):
        run.write("brief.md", b"x" * 100_000)
    assert names(run.path) == [RECORD]


def test_a_folder_that_vanished_is_one_line(run: RunFolder) -> None:
    run.path.rmdir()
    with pytest.raises(CannotWrite):
        run.save_json(RECORDED)
    assert run.load_json() is None


def test_runs_are_listed_by_name_and_other_things_passed_over(run: RunFolder) -> None:
    runs = run.path.parent
    older = RunFolder.make(runs, "s-20250102T0304-0a1b2c")
    (runs / "notes").mkdir()
    (runs / "s-20240102T0304-0a1b2c").write_text("a file")
    (runs / "s-20230102T0304-0a1b2c").symlink_to(run.path)
    assert list_runs(runs) == (older, run)
    assert list_runs(runs / "missing") == ()


def test_a_list_that_cannot_be_read_is_not_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(Refused):
        list_runs(tmp_path / "runs")
