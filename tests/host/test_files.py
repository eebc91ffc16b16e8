"""Files from hostile hands: nothing is followed, nothing hangs, nothing is half written."""

from __future__ import annotations

import contextlib
import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from colony.host.files import (
    CannotWrite,
    NoSpace,
    Unsafe,
    read_bytes,
    read_own,
    read_text,
    write_own,
    write_private,
)
from tests.host.conftest import names

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run folder with a secret beside it, and every kind of thing that is no file in it."""
    (tmp_path / "secret").write_text("canary")
    inside = tmp_path / "run"
    inside.mkdir()
    (inside / "good").write_bytes(b"fine")
    (inside / "sub").mkdir()
    (inside / "sub" / "good").write_bytes(b"deep")
    (inside / "link").symlink_to("../secret")
    (inside / "inner-link").symlink_to("good")
    (inside / "dangling").symlink_to("nowhere")
    (inside / "loop").symlink_to("loop")
    (inside / "out").symlink_to("..")
    (inside / "inner").symlink_to("sub")
    (inside / "hard").hardlink_to(tmp_path / "secret")
    os.mkfifo(inside / "fifo")
    with socket.socket(socket.AF_UNIX) as server, contextlib.chdir(inside):
        server.bind("socket")
    return inside


HOSTILE = [
    "link", "inner-link", "dangling", "loop", "out", "out/secret", "inner/good", "hard", "fifo",
    "socket", "sub", "good/x", "../secret", "/etc/passwd", "", "sub/../good", "nul\0", "x" * 300,
    "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_what_is_no_file_of_our_own_is_not_read(folder: Path, name: str) -> None:
    """F62, F63"""
    with pytest.raises(Unsafe) as caught:
        read_own(folder, name, 100)
    assert "canary" not in str(caught.value)


@ROOT_ONLY
@pytest.mark.parametrize(("kind", "number"), [(0o020000, (1, 5)), (0o060000, (7, 77))])
def test_a_device_is_not_even_opened(folder: Path, kind: int, number: tuple[int, int]) -> None:
    os.mknod(folder / "device", kind | 0o600, os.makedev(*number))
    with pytest.raises(Unsafe, match="device"):
        read_own(folder, "device", 100)


@ROOT_ONLY
def test_another_users_file_is_not_ours(folder: Path) -> None:
    os.chown(folder / "good", 65534, 65534)
    with pytest.raises(Unsafe, match="another user"):
        read_own(folder, "good", 100)


def test_own_files_are_read(folder: Path) -> None:
    assert read_own(folder, "good", 4) == b"fine"
    assert read_own(folder, "sub/good", 100) == b"deep"
    assert read_own(folder, "missing", 100) is None
    assert read_own(folder, "missing/too", 100) is None
    with pytest.raises(Unsafe, match="larger than 3 bytes"):
        read_own(folder, "good", 3)


def test_a_run_folder_that_is_a_link_is_none(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").symlink_to(folder)
    with pytest.raises(Unsafe):
        read_own(tmp_path / "elsewhere", "good", 100)
    with pytest.raises(CannotWrite):
        write_own(tmp_path / "elsewhere", "good", b"x")


def test_a_file_that_claims_to_be_empty_has_a_limit_too() -> None:
    """Files of /proc have the size 0."""
    with pytest.raises(Unsafe, match="larger"):
        read_bytes(Path("/proc/self/status"), 10)


# --- an operator's files, and a repository's --------------------------------------------------


def test_a_link_inside_a_repository_is_followed_one_out_of_it_is_not(folder: Path) -> None:
    for name in ("good", "inner-link", "inner/good"):
        assert read_text(folder / name, 100, within=folder) in ("fine", "deep")
    for name in ("link", "out/secret"):
        with pytest.raises(Unsafe, match="leaves"):
            read_text(folder / name, 100, within=folder)
        assert read_text(folder / name, 100) == "canary"
    assert read_text(folder / "dangling", 100, within=folder) is None
    assert read_text(folder / "good" / "x", 100, within=folder) is None


@pytest.mark.parametrize("name", ["fifo", "socket", "sub", "loop", "nul\0", "\ud800"], ids=ascii)
def test_other_things_are_refused_without_a_hang(folder: Path, name: str) -> None:
    for within in (None, folder):
        with pytest.raises(Unsafe):
            read_bytes(folder / name, 100, within)


def test_text_of_another_encoding_is_refused_by_its_place(folder: Path) -> None:
    (folder / "latin").write_bytes(b"caf\xe9")
    with pytest.raises(Unsafe, match="byte 3"):
        read_text(folder / "latin", 100)


# --- writing ---------------------------------------------------------------------------------


def test_a_written_file_is_private_whole_and_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_private(tmp_path / "a", b"one")
    finally:
        os.umask(before)
    write_private(tmp_path / "a", b"two")
    assert (tmp_path / "a").read_bytes() == b"two"
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    assert names(tmp_path) == ["a"]


def test_a_write_replaces_a_link_and_never_follows_it(folder: Path, tmp_path: Path) -> None:
    write_own(folder, "link", b"mine")
    assert (tmp_path / "secret").read_text() == "canary"
    assert (folder / "link").read_bytes() == b"mine"
    (folder / f".x.{os.getpid()}.tmp").symlink_to("../secret")
    write_own(folder, "x", b"mine")
    assert (tmp_path / "secret").read_text() == "canary"
    for name in ("out/secret", "inner/x", "../x", "/tmp/x", "sub", "missing/x", "", "nul\0"):
        with pytest.raises(CannotWrite):
            write_own(folder, name, b"mine")


def test_a_full_disk_leaves_the_old_file(small_disk: Path) -> None:
    write_private(small_disk / "a", b"old")
    with pytest.raises(NoSpace) as caught:
        write_private(small_disk / "a", b"x" * 100_000)
    assert caught.value.exit_code == 5
    assert (small_disk / "a").read_bytes() == b"old"
    assert names(small_disk) == ["a"]


AT_THE_LIMIT = """
import resource, sys
from pathlib import Path
from colony.host.files import NoSpace, write_private
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_private(Path(sys.argv[1]), b"x" * 5000)
except NoSpace as problem:
    print(problem.line)
"""


def test_a_size_limit_leaves_the_old_file(tmp_path: Path) -> None:
    write_private(tmp_path / "a", b"old")
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_LIMIT, str(tmp_path / "a")],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "file too large" in done.stdout
    assert (tmp_path / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_descriptors_are_given_back(folder: Path) -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    for _ in range(min(soft, 2000)):
        read_own(folder, "sub/good", 100)
        with pytest.raises(Unsafe):
            read_own(folder, "fifo", 100)
    write_own(folder, "sub/new", b"")
