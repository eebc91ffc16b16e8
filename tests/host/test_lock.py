"""Locks: one holder, told by name, and free as soon as it is gone."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from colony.errors import Busy, ColonyError, Refused
from colony.host.lock import Lock, holder_of, is_locked, lock_file, lock_folder
from tests.host.conftest import MARK

ROOT = Path(__file__).resolve().parents[2]
HOLDS = """
import signal, subprocess, sys
from pathlib import Path
from colony.host.lock import lock_file, lock_folder
lock = globals()[sys.argv[1]](Path(sys.argv[2]), "the thing")
child = subprocess.Popen(["sleep", sys.argv[3]])
print(child.pid, flush=True)
signal.pause()
"""

Take = Callable[[Path, str], Lock]


def place(take: Take, tmp_path: Path) -> Path:
    return tmp_path if take is lock_folder else tmp_path / "lock"


@pytest.mark.parametrize("take", [lock_file, lock_folder])
def test_a_lock_is_held_until_it_is_released(take: Take, tmp_path: Path) -> None:
    path = place(take, tmp_path)
    assert not is_locked(path)
    with take(path, "the thing") as lock:
        assert is_locked(path)
        assert holder_of(path) == os.getpid()
        with pytest.raises(Busy, match=f"the thing: held by process {os.getpid()} "):
            take(path, "the thing")
    lock.release()
    assert not is_locked(path)
    assert holder_of(path) is None
    take(path, "the thing").release()


@pytest.mark.parametrize("take", [lock_file, lock_folder])
def test_a_killed_holder_frees_its_lock_although_its_child_lives(
    take: Take, tmp_path: Path
) -> None:
    path = place(take, tmp_path)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDS, take.__name__, str(path), MARK],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert holder.stdout
    child = int(holder.stdout.readline())
    try:
        assert is_locked(path)
        with pytest.raises(Busy, match=str(holder.pid)):
            take(path, "the thing")
        holder.kill()
        holder.wait()
        os.kill(child, 0)
        take(path, "the thing").release()
    finally:
        os.kill(child, signal.SIGKILL)
        holder.kill()
        holder.stdout.close()


ONE_OF_TEN = """
import sys
from pathlib import Path
from colony.errors import Busy
from colony.host.lock import lock_file, lock_folder
sys.stdin.readline()
try:
    lock = globals()[sys.argv[1]](Path(sys.argv[2]), "the thing")
    print("held", flush=True)
except Busy as problem:
    print("busy", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("take", [lock_file, lock_folder])
def test_of_ten_processes_one_gets_the_lock(take: Take, tmp_path: Path) -> None:
    path = place(take, tmp_path)
    ten = [
        subprocess.Popen(
            [sys.executable, "-c", ONE_OF_TEN, take.__name__, str(path)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(10)
    ]  # fmt: skip
    for process in ten:
        assert process.stdin
        process.stdin.write("now\n")
        process.stdin.flush()
    told = [process.stdout.readline().strip() for process in ten if process.stdout]
    for process in ten:
        process.communicate("end\n")
    assert sorted(told) == ["busy"] * 9 + ["held"]


def test_waiting_for_a_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    held = lock_file(path, "the home")
    with pytest.raises(Busy):
        lock_file(path, "the home", wait_s=0.05)
    waiting = subprocess.Popen(
        [sys.executable, "-c", "import sys; from pathlib import Path; "
         "from colony.host.lock import lock_file; print(flush=True); "
         "lock_file(Path(sys.argv[1]), 'the home', wait_s=20)", str(path)],
        cwd=ROOT, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert waiting.stdout
    waiting.stdout.readline()
    held.release()
    assert waiting.wait() == 0
    waiting.stdout.close()


def test_a_lock_file_is_private_and_never_a_link(tmp_path: Path) -> None:
    lock_file(tmp_path / "lock", "it").release()
    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600
    (tmp_path / "target").write_text("kept")
    (tmp_path / "link").symlink_to("target")
    with pytest.raises(ColonyError):
        lock_file(tmp_path / "link", "it")
    assert (tmp_path / "target").read_text() == "kept"


def test_what_cannot_be_locked_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(Refused):
        lock_folder(tmp_path / "missing", "it")
    (tmp_path / "file").write_text("")
    with pytest.raises(ColonyError):
        lock_file(tmp_path / "file" / "lock", "it")
    with pytest.raises(Refused):
        lock_folder(tmp_path / "file", "it")


def test_a_folder_lock_holds_under_every_name_and_survives_unlinking(tmp_path: Path) -> None:
    folder, link = tmp_path / "dev", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    with lock_folder(folder, "it"):
        for path in folder.iterdir():
            path.unlink()
        with pytest.raises(Busy):
            lock_folder(link, "it")


@pytest.fixture
def no_locks(tmp_path: Path) -> list[Path]:
    """Where a lock file should be and cannot be."""
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "file").write_text("")
    with socket.socket(socket.AF_UNIX) as server, contextlib.chdir(tmp_path):
        server.bind("socket")
    names = ("loop", "dangling", "socket", "file/lock", "x" * 300)
    return [tmp_path / name for name in names]


def test_a_lock_that_cannot_be_asked_counts_as_held(no_locks: list[Path]) -> None:
    for path in no_locks:
        assert is_locked(path), path
        with pytest.raises(Refused) as caught:
            lock_file(path, "it")
        assert str(caught.value).startswith(f"{path}: not written: ")
        assert "\n" not in str(caught.value)
    assert not is_locked(no_locks[0].with_name("missing"))


def test_a_lock_closed_to_this_user_counts_as_held(plain_folder: Path) -> None:
    (plain_folder / "lock").touch(0)
    assert is_locked(plain_folder / "lock")
    with pytest.raises(Refused, match="permission denied"):
        lock_file(plain_folder / "lock", "it")


def test_a_folder_that_leads_to_itself_is_one_line(no_locks: list[Path]) -> None:
    with pytest.raises(Refused, match="loop: cannot be locked: Too many levels of symbolic links"):
        lock_folder(no_locks[0], "it")


def test_who_only_asks_holds_nothing(tmp_path: Path) -> None:
    """Whoever is taken for the holder is sent signals."""
    path = tmp_path / "lock"
    path.touch()
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        assert holder_of(path) is None
