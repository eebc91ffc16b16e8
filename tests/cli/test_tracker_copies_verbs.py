"""`colony tracker backup/restore/export/import`, as a person meets them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Colony
from tests.cli.stage import LINES


def other_home(colony: Colony) -> Colony:
    home = colony.home.parent / "other"
    return Colony(colony.cwd, home, colony.environ | {"COLONY_HOME": str(home)})


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_a_backup_moves_a_home(shop: Colony) -> None:
    (shop.home / "librarian").mkdir()
    (shop.home / "librarian" / "decisions.json").write_text("[]")
    done = shop("tracker", "backup", "copy")
    copy = shop.cwd / "copy"
    size = f"{copy.stat().st_size:,} bytes"
    assert done.lines == [f"BACKUP {copy} ({size}, 1 of the librarian's files)"]
    there = other_home(shop)
    back = there("tracker", "restore", "copy")
    assert back.lines == [f"RESTORE from {copy}, 1 of the librarian's files"]
    assert there("ticket", "list").lines == shop("ticket", "list").lines
    again = there("tracker", "restore", "copy")
    assert (again.code, "--replace" in again.error) == (3, True)
    [line] = there("tracker", "restore", "copy", "--replace", "--json").objects
    LINES.validate(line)
    assert Path(line["kept"]).is_file()
    assert there("tracker", "restore", "no-such-file", "--replace").code == 2


def test_an_export_moves_a_tracker(shop: Colony) -> None:
    shop("ticket", "comment", "shop", "1", "/prio high")
    done = shop("tracker", "export", "all.jsonl")
    file = shop.cwd / "all.jsonl"
    size, count = file.stat().st_size, len(file.read_bytes().splitlines())
    assert done.lines == [f"EXPORT {file} ({count:,} lines, {size:,} bytes); tokens are not in it"]
    assert file.stat().st_mode & 0o777 == 0o600
    there = other_home(shop)
    came = there("tracker", "import", "all.jsonl")
    assert came.lines == [
        f"INIT tracker made: {there.home}/colony.db",
        "IMPORT 1 project, 1 ticket, 3 events, 1 user; tokens do not move, make new ones",
    ]
    assert there("ticket", "list").lines == shop("ticket", "list").lines
    # Through pipes, too; the program's own line goes where it is not in the way.
    piped = there("tracker", "export")
    assert piped.err.startswith("EXPORT standard output (")
    last = other_home(there)
    last.home = last.home.parent / "last"
    last.environ["COLONY_HOME"] = str(last.home)
    assert last("tracker", "import", "-", stdin=piped.out.encode()).code == 0
    assert last("ticket", "list").lines == shop("ticket", "list").lines
    again = last("tracker", "import", "all.jsonl")
    assert (again.code, "not empty" in again.error) == (3, True)


def test_a_bad_import_makes_nothing(shop: Colony) -> None:
    shop("tracker", "export", "all.jsonl")
    whole = (shop.cwd / "all.jsonl").read_bytes()
    (shop.cwd / "cut.jsonl").write_bytes(whole[:-20])
    there = other_home(shop)
    done = there("tracker", "import", "cut.jsonl")
    assert (done.code, "cut short; nothing was read" in done.error) == (3, True)
    assert not there.home.exists() or names(there.home) == []
    missing = there("tracker", "import", "nowhere.jsonl")
    assert (missing.code, "no such file" in missing.error.lower()) == (2, True)
    assert there("tracker", "import", ".").code == 2
    json = shop("tracker", "export", "--json")
    assert (json.code, json.objects[0]["code"]) == (2, "usage")
    taken = shop("tracker", "export", "all.jsonl")
    assert (taken.code, "exists" in taken.error) == (3, True)
    assert (shop.cwd / "all.jsonl").read_bytes() == whole


@pytest.mark.parametrize(
    "words", [["backup", "x"], ["restore", "x"], ["export", "x"], ["import", "x"]]
)
def test_these_are_done_where_the_database_lies(colony: Colony, words: list[str]) -> None:
    done = colony("tracker", *words, COLONY_TICKETS_URL="https://colony.example/")
    assert (done.code, "names a server" in done.error) == (3, True)


@pytest.mark.parametrize("words", [["backup"], ["export"], ["token", "bob", "--to"]])
def test_a_folder_that_is_not_there_is_named(colony: Colony, words: list[str]) -> None:
    colony("tracker", "project", "shop")
    done = colony("tracker", *words, "nowhere/x")
    assert done.code == 2
    assert done.error == f"ERROR {colony.cwd}/nowhere: there is no such folder"


@pytest.mark.parametrize("words", [["backup", "x"], ["backup", "x.db"], ["export", "x"]])
def test_without_a_tracker_there_is_nothing_to_copy(colony: Colony, words: list[str]) -> None:
    done = colony("tracker", *words)
    assert (done.code, "no tracker" in done.error) == (4, True)
    assert names(colony.cwd) == []


# --- no room, no right ---------------------------------------------------------------------

LIMITED = """if True:
    import resource, signal, sys
    from colony.cli.app import main
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
    sys.exit(main(sys.argv[2:]))
"""
"""The program where no file may grow beyond a size: a full disk, without being root."""


def limited(colony: Colony, size: int, *words: str, stdin: bytes = b"") -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(size), *words],
        cwd=colony.cwd, env=colony.environ, input=stdin, capture_output=True, check=False,
    )  # fmt: skip
    assert done.stderr.count(b"\n") == 1, done.stderr
    return done.returncode, done.stderr.decode()


BIG = "x" * 200_000


@pytest.mark.parametrize(
    "words",
    [
        ["ticket", "comment", "shop", "1", "-"],
        ["ticket", "new", "Another", "--summary", "-"],
        ["ticket", "edit", "shop", "1", "--summary", "-"],
        ["ticket", "state", "shop", "1", "pending", "--text", "-"],
    ],
)
def test_a_full_disk_under_a_write(shop: Colony, words: list[str]) -> None:
    before = shop("tracker", "export").out.splitlines()[1:-1]
    size = (shop.home / "colony.db").stat().st_size
    code, told = limited(shop, size + 8192, *words, stdin=BIG.encode())
    assert code in (4, 5), told
    assert "colony.db" in told
    assert shop("tracker", "export").out.splitlines()[1:-1] == before
    assert names(shop.home) == ["colony.db", "projects"]
    assert shop(*words, stdin=BIG.encode()).code == 0


@pytest.mark.parametrize("words", [["backup", "x"], ["backup", "x.db"], ["export", "x"]])
def test_a_full_disk_under_a_copy(shop: Colony, words: list[str]) -> None:
    assert shop("ticket", "comment", "shop", "1", "-", stdin=BIG.encode()).code == 0
    code, told = limited(shop, 100_000, "tracker", *words)
    assert code in (4, 5), told
    assert names(shop.cwd) == ["dev-shop"]
    assert names(shop.home) == ["colony.db", "projects"]
    assert shop("tracker", *words).code == 0


def test_a_full_disk_under_what_comes_back(shop: Colony) -> None:
    assert shop("ticket", "comment", "shop", "1", "-", stdin=BIG.encode()).code == 0
    for name in ("x", "x.db"):
        assert shop("tracker", "backup", name).code == 0
    assert shop("tracker", "export", "x.jsonl").code == 0
    there = other_home(shop)
    for words in (["restore", "x"], ["restore", "x.db"], ["import", "x.jsonl"]):
        code, told = limited(there, 100_000, "tracker", *words)
        assert code in (4, 5), told
        left = [name for name in names(there.home) if name not in ("home.lock", "runs")]
        assert left == []
        assert not (there.home / "runs").exists() or names(there.home / "runs") == []
    before = (shop.home / "colony.db").read_bytes()
    assert limited(shop, 100_000, "tracker", "restore", "x", "--replace")[0] in (4, 5)
    assert (shop.home / "colony.db").read_bytes() == before


def test_a_full_disk_behind_standard_output(shop: Colony) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "colony", "tracker", "export"],
            cwd=shop.cwd, env=shop.environ, stdout=full, stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert done.returncode == 5
    assert done.stderr.decode().splitlines() == [
        "ERROR standard output: not written: no space left on device"
    ]


def test_a_body_of_three_megabytes_is_one_line(shop: Colony) -> None:
    before = shop("tracker", "export").out.splitlines()[1:-1]
    text = b"x" * (3 * 1024 * 1024)
    for words in (
        ["ticket", "comment", "shop", "1", "-"],
        ["ticket", "new", "Big", "--summary", "-"],
        ["ticket", "edit", "shop", "1", "--summary", "-"],
        ["ticket", "state", "shop", "1", "pending", "--text", "-"],
    ):
        done = shop(*words, stdin=text)
        assert (done.code, "at most 262144" in done.error) == (3, True)
    assert shop("tracker", "export").out.splitlines()[1:-1] == before


# --- a home that cannot be written -----------------------------------------------------------


def read_only(colony: Colony, *words: str) -> tuple[int, str]:
    """The program where the home's file system is read-only: root may write any other file."""
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
        "--ro-bind",
    ]
    box += [str(colony.home), str(colony.home)]
    bwrap = shutil.which("bwrap")
    if not bwrap or subprocess.run([*box, "true"], check=False).returncode:
        missing = "no bubblewrap to make a read-only file system with"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    done = subprocess.run(
        [*box, sys.executable, "-m", "colony", *words],
        cwd=colony.cwd, env=colony.environ, capture_output=True, check=False, text=True,
    )  # fmt: skip
    return done.returncode, done.stderr


def test_a_read_only_home_can_be_read_and_copied(shop: Colony) -> None:
    for words in (["ticket", "list"], ["tracker", "tokens"], ["tracker", "projects"],
                  ["tracker", "backup", "x"], ["tracker", "backup", "x.db"],
                  ["tracker", "export", "x.jsonl"]):  # fmt: skip
        assert read_only(shop, *words) == (0, ""), words
    places = shop.environ | {"TMPDIR": str(shop.cwd)}
    code, told = read_only(replace(shop, environ=places), "tracker", "export")
    assert (code, told.startswith("EXPORT standard output (")) == (0, True), told
    before = (shop.home / "colony.db").read_bytes()
    for words in (["ticket", "comment", "shop", "1", "x"], ["ticket", "new", "A"],
                  ["ticket", "state", "shop", "1", "pending"], ["tracker", "token", "bob"],
                  ["tracker", "token", "bob", "--to", "secret"], ["tracker", "project", "lib"],
                  ["tracker", "member", "shop", "bob", "edit"], ["tracker", "revoke", "t1"],
                  ["tracker", "restore", "x", "--replace"],
                  ["tracker", "import", "x.jsonl"]):  # fmt: skip
        code, told = read_only(shop, *words)
        assert (code in (3, 4), told.count("\n")) == (True, 1), told
    assert (shop.home / "colony.db").read_bytes() == before
    assert names(shop.cwd) == ["dev-shop", "x", "x.db", "x.jsonl"]
    assert names(shop.home) == ["colony.db", "projects"]


def test_a_read_only_home_takes_no_project(shop: Colony) -> None:
    (shop.cwd / "till").mkdir()
    before = names(shop.home / "projects")
    refused = read_only(shop, "init", "till")
    place = shop.home / "projects"
    assert refused == (3, f"ERROR {place}/till.json: not written: read-only file system\n")
    assert names(place) == before
    (place / "shop.json").unlink()
    place.rmdir()
    assert read_only(shop, "init", "till") == (
        3,
        f"ERROR {place}: not made: read-only file system\n",
    )
    assert names(shop.cwd / "till") == []
