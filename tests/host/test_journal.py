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
from colony.host.journal import RECORD, RECORD_LIMIT, Garbage, RunFolder, list_runs
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


def nested(levels: int) -> Json:
    value: Json = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        float("nan"), float("inf"), 10**18, -(10**18), 10**5000, "\ud800", {"\udc00": 1},
        nested(32), nested(50_000), "x" * RECORD_LIMIT, "é" * (RECORD_LIMIT // 2),
    ],
    ids=["nan", "inf", "big", "small", "huge", "half", "key", "deep", "abyss", "long", "wide"],
)  # fmt: skip
def test_what_could_not_be_loaded_is_not_saved(run: RunFolder, value: Json) -> None:
    run.save_json(RECORDED)
    with pytest.raises(CannotWrite, match=f"{RECORD}: not written: ") as caught:
        run.save_json({**RECORDED, "more": value})
    assert len(caught.value.line) < 1000
    assert "\n" not in str(caught.value)
    assert names(run.path) == [RECORD]
    assert run.load_json() == RECORDED


def test_what_is_at_the_limit_is_saved_and_loaded(run: RunFolder) -> None:
    record: dict[str, Json] = {"version": 1, "n": 10**18 - 1, "deep": nested(31), "text": ""}
    run.save_json(record)
    record["text"] = "x" * (RECORD_LIMIT - (run.path / RECORD).stat().st_size)
    run.save_json(record)
    assert (run.path / RECORD).stat().st_size == RECORD_LIMIT
    assert run.load_json() == record


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


def test_the_end_of_a_file_is_read_however_long_it_is(run: RunFolder) -> None:
    run.folder("parts")
    run.write("parts/stderr", b"one\ntwo\n")
    assert run.tail("parts/stderr", 4) == b"two\n"
    assert run.tail("parts/stderr", 100) == b"one\ntwo\n"
    assert run.tail("parts/stderr", 0) == b""
    os.truncate(run.path / "parts" / "stderr", 10**12)
    assert run.tail("parts/stderr", 3) == b"\0" * 3


def test_there_is_no_end_of_what_is_no_file_of_our_own(run: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("canary")
    (run.path / "link").symlink_to(tmp_path / "secret")
    (run.path / "hard").hardlink_to(tmp_path / "secret")
    (run.path / "loop").symlink_to("loop")
    (run.path / "out").symlink_to(tmp_path)
    (run.path / "folder").mkdir()
    os.mkfifo(run.path / "fifo")
    if os.geteuid() == 0:
        run.write("foreign", b"canary")
        os.chown(run.path / "foreign", 65534, 65534)
    hostile = ("link", "hard", "loop", "out/secret", "folder", "fifo", "foreign", "link/x")
    for name in (*hostile, "missing", "../secret", "", "nul\0", "\ud800", "x" * 300):
        assert run.tail(name, 100) == b"", name
    run.path.rename(tmp_path / "gone")
    assert run.tail("stderr", 100) == b""


def test_runs_that_cannot_be_a_folder_are_told_as_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "file").write_text("")
    for runs in (tmp_path / "dangling", tmp_path / "dangling" / "runs"):
        with pytest.raises(Refused, match=r"dangling: is a link that leads nowhere$"):
            RunFolder.make(runs, S)
    with pytest.raises(Refused, match=r"file: is no folder$"):
        RunFolder.make(tmp_path / "file", S)
    assert names(tmp_path) == ["dangling", "file"]


def test_subfolders_are_never_made_through_a_link(run: RunFolder, tmp_path: Path) -> None:
    (run.path / "agent").symlink_to(tmp_path)
    for name in ("agent", "agent/x", "../x", "/x"):
        with pytest.raises(Refused):
            run.folder(name)
    assert names(tmp_path) == ["home"]


@pytest.mark.parametrize("kind", ["a link", "a file", "a link to nothing"])
@pytest.mark.parametrize("name", ["tmp", "tmp/1", "tmp/1/x"])
def test_what_stands_in_the_place_of_a_folder_is_removed_itself(
    run: RunFolder, tmp_path: Path, kind: str, name: str
) -> None:
    kept = tmp_path / "kept"
    (kept / "1").mkdir(parents=True)
    (kept / "1" / "x").write_text("canary")
    if kind == "a file":
        (run.path / "tmp").write_text("in the way")
    else:
        (run.path / "tmp").symlink_to(kept if kind == "a link" else "nowhere")
    run.remove_tree(name)
    assert names(run.path) == []
    assert (kept / "1" / "x").read_text() == "canary"
    run.folder("tmp/2")


def test_a_discarded_run_folder_is_gone(run: RunFolder) -> None:
    run.write("lock", b"")
    run.folder("parts/1-work").chmod(0o500)
    run.discard()
    assert names(run.path.parent) == []


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
