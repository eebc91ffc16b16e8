"""A file that appears whole, or not at all, and never in the place of another."""

from __future__ import annotations

import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from colony.errors import Refused
from colony.host.files import CannotWrite
from colony.host.new_file import new_file


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_it_appears_whole_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "new"
    with new_file(path) as file:
        file.write(b"all of it")
        assert not path.exists()
    assert path.read_bytes() == b"all of it"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names(tmp_path) == ["new"]


@pytest.mark.parametrize("what", ["file", "link", "folder"])
def test_it_never_replaces_anything(tmp_path: Path, what: str) -> None:
    path = tmp_path / "new"
    make = {"file": path.touch, "link": lambda: path.symlink_to("nowhere"), "folder": path.mkdir}
    make[what]()
    with pytest.raises(Refused, match="exists"), new_file(path):
        raise AssertionError("must not get here")
    assert names(tmp_path) == ["new"]


def test_what_came_meanwhile_stays(tmp_path: Path) -> None:
    path = tmp_path / "new"
    with pytest.raises(Refused, match="exists"), new_file(path) as file:
        file.write(b"mine")
        path.write_bytes(b"theirs")
    assert path.read_bytes() == b"theirs"
    assert names(tmp_path) == ["new"]


def test_a_block_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), new_file(tmp_path / "new") as file:
        file.write(b"half")
        raise ZeroDivisionError
    assert names(tmp_path) == []
    with pytest.raises(CannotWrite, match="no such file"), new_file(tmp_path / "no" / "new"):
        pass


def test_no_room_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    """In a process of its own: the limit on the size of files cannot be taken back."""
    code = """if True:
        import sys, resource, signal
        from pathlib import Path
        from colony.host.files import NoSpace
        from colony.host.new_file import new_file
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        try:
            with new_file(Path(sys.argv[1])) as file:
                file.write(b"x" * 5000)
        except NoSpace as told:
            print(told.line)
    """
    assert hasattr(resource, "RLIMIT_FSIZE") and hasattr(signal, "SIGXFSZ")
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "new")],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert "not written: file too large" in done.stdout
    assert names(tmp_path) == []
