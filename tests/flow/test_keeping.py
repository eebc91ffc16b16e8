"""Backups, and what is put back: checked before anything is touched, old or new, never half."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tarfile
from collections.abc import Callable
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from colony.core.ticket import Me, NewTicket
from colony.errors import Busy, ColonyError, Refused, UsageProblem
from colony.flow.keeping.archive import LIST
from colony.flow.keeping.backup import Home, back_up
from colony.flow.keeping.restore import Restored, put_back
from colony.flow.wiring.trackers import DERIVE
from colony.host.journal import RunFolder
from colony.host.lock import lock_file
from colony.tracker.embedded import Embedded, open_tracker

NOW = 1_800_000_000_000
OPEN, POSTED = "s-20260131T1819-abc123", "s-20260131T1820-def456"


def tracker(home: Home) -> Embedded:
    return open_tracker(
        home.url,
        me=Me("anna", "", machine=False, owner=True),
        clock=lambda: NOW,
        derive=DERIVE,
        create=True,
    )


def subjects(home: Home) -> list[str]:
    opened = tracker(home)
    try:
        return [ticket.subject for ticket in opened.tickets()]
    finally:
        opened.close()


def write(home: Home, subject: str) -> None:
    opened = tracker(home)
    opened.create(NewTicket("shop", subject), key=subject)
    opened.close()


def store_of(path: Path) -> str:
    with closing(sqlite3.connect(path)) as opened:
        return str(opened.execute("SELECT id FROM store").fetchone()[0])


def session(home: Home, name: str, outcome: str | None) -> RunFolder:
    folder = RunFolder.make(home.runs, name)
    runner = {
        "agent": "stand-in", "program": "", "model": "m", "maxTurns": 1, "timeoutS": 1,
        "permissionMode": "auto",
    }  # fmt: skip
    setup = {
        "worker": runner, "controller": runner, "folder": "/srv/shop", "ports": [1, 2],
        "live": "", "projectSettings": False, "maxFails": 2, "ttlMs": 1, "heartbeatMs": 1,
        "sandbox": "off",
    }  # fmt: skip
    sha = folder.write("report.json", b'{"result": "done"}')
    folder.write("lock", b"")
    folder.folder("parts/1-work")
    folder.write("parts/1-work/answer.json", b"{}")
    folder.write("parts/1-work/stream.jsonl", b"long\n")
    folder.save_json({
        "version": 1, "session": name, "ticket": {"project": "shop", "number": 1}, "host": "here",
        "post": False, "startedMs": NOW, "setup": setup, "outcome": outcome,
        "report": {"part": 1, "sha256": sha, "valid": True},
    })  # fmt: skip
    return folder


def make_home(folder: Path) -> Home:
    folder.mkdir(exist_ok=True)
    return Home(f"sqlite:///{folder}/colony.db", folder, folder / "runs")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = make_home(tmp_path / "home")
    write(home, "first")
    (home.librarian / "by" / "day").mkdir(parents=True)
    (home.librarian / "decisions.json").write_text("[1]")
    (home.librarian / "by" / "day" / "ü 1.md").write_text("text")
    (home.librarian / ".lock").write_text("")
    session(home, OPEN, None)
    session(home, POSTED, "posted")
    return home


def restore(home: Home, source: Path, *, replace: bool = False) -> Restored:
    return put_back(home, source, NOW, replace=replace)


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "home.lock"
    }


def test_a_backup_holds_what_could_not_be_made_anew(home: Home, tmp_path: Path) -> None:
    kept = back_up(home, tmp_path / "copy.tar", NOW)
    assert (kept.librarian, kept.sessions) == (2, (OPEN,))
    assert stat.S_IMODE((tmp_path / "copy.tar").stat().st_mode) == 0o600
    with tarfile.open(tmp_path / "copy.tar") as tar:
        assert sorted(tar.getnames()) == [
            "colony-backup.json",
            "colony.db",
            "librarian/by/day/ü 1.md",
            "librarian/decisions.json",
            f"runs/{OPEN}/parts/1-work/answer.json",
            f"runs/{OPEN}/report.json",
            f"runs/{OPEN}/session.json",
        ]
    assert (names(tmp_path)) == ["copy.tar", "home"]


def test_it_comes_back_on_another_machine(home: Home, tmp_path: Path) -> None:
    back_up(home, tmp_path / "copy.tar", NOW)
    there = make_home(tmp_path / "there")
    done = restore(there, tmp_path / "copy.tar")
    assert (done.old, done.stayed, done.kept.sessions) == (None, (), (OPEN,))
    assert subjects(there) == ["first"]
    assert tree(there.librarian) == {
        name: data for name, data in tree(home.librarian).items() if name != ".lock"
    }
    came = there.runs / OPEN
    assert (came / "session.json").read_bytes() == (home.runs / OPEN / "session.json").read_bytes()
    assert stat.S_IMODE(came.stat().st_mode) == 0o700
    assert stat.S_IMODE((came / "report.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((came / "parts" / "1-work").stat().st_mode) == 0o700
    assert stat.S_IMODE((there.home / "colony.db").stat().st_mode) == 0o600
    assert not (there.runs / POSTED).exists()
    assert (names(there.home)) == ["colony.db", "home.lock", "librarian", "runs"]
    assert names(there.runs) == [OPEN]
    # Two stores that go their own ways must not answer each other's ETags.
    third = make_home(tmp_path / "third")
    restore(third, tmp_path / "copy.tar")
    stores = {store_of(each.home / "colony.db") for each in (home, there, third)}
    assert len(stores) == 3


def test_what_is_there_is_put_aside_only_when_asked(home: Home, tmp_path: Path) -> None:
    back_up(home, tmp_path / "copy.tar", NOW)
    write(home, "second")
    (home.librarian / "decisions.json").write_text("[2]")
    (home.runs / OPEN / "report.json").write_bytes(b"newer")
    before = tree(home.home)
    with pytest.raises(Refused, match="--replace"):
        restore(home, tmp_path / "copy.tar")
    assert tree(home.home) == before
    done = restore(home, tmp_path / "copy.tar", replace=True)
    assert subjects(home) == ["first"]
    assert done.old == home.home / "colony.db.20270115T080000Z"
    assert done.stayed == (OPEN,)
    assert (home.runs / OPEN / "report.json").read_bytes() == b"newer"
    old = Home(f"sqlite:///{done.old}", home.home, home.runs)
    assert subjects(old) == ["first", "second"]
    assert (home.librarian / "decisions.json").read_text() == "[1]"
    aside = home.home / "librarian.20270115T080000Z"
    assert (aside / "decisions.json").read_text() == "[2]"
    # Once more in the same second: nothing that was put aside is lost.
    again = restore(home, tmp_path / "copy.tar", replace=True)
    assert again.old not in (None, done.old)
    assert subjects(old) == ["first", "second"]


def test_the_database_alone_is_a_copy_too(home: Home, tmp_path: Path) -> None:
    kept = back_up(home, tmp_path / "copy.db", NOW)
    assert (kept.librarian, kept.sessions) == (0, ())
    there = make_home(tmp_path / "there")
    restore(there, tmp_path / "copy.db")
    assert subjects(there) == ["first"]
    assert not there.librarian.exists()


def test_a_damaged_database_can_be_replaced(home: Home, tmp_path: Path) -> None:
    back_up(home, tmp_path / "copy.tar", NOW)
    database = home.home / "colony.db"
    database.write_bytes(b"rubbish" * 1000)
    # A killed writer's journal would be played into whatever lies beside it.
    (home.home / "colony.db-journal").write_bytes(b"\0" * 512)
    done = restore(home, tmp_path / "copy.tar", replace=True)
    assert subjects(home) == ["first"]
    assert done.old is not None and done.old.read_bytes() == b"rubbish" * 1000
    assert not (home.home / "colony.db-journal").exists()
    assert done.old.with_name(f"{done.old.name}-journal").read_bytes() == b"\0" * 512


def test_nobody_may_work_meanwhile(home: Home, tmp_path: Path) -> None:
    back_up(home, tmp_path / "copy.tar", NOW)
    before = tree(home.home)
    with (
        lock_file(home.runs / OPEN / "lock", "session"),
        pytest.raises(Busy, match=f"session {OPEN}"),
    ):
        restore(home, tmp_path / "copy.tar", replace=True)
    assert tree(home.home) == before


def test_nobody_may_have_the_database_open(
    home: Home, tmp_path: Path, other: Callable[[Path], Any]
) -> None:
    back_up(home, tmp_path / "copy.tar", NOW)
    before = tree(home.home)
    with other(home.home / "colony.db") as pid:
        with pytest.raises(Busy, match=f"process {pid} "):
            restore(home, tmp_path / "copy.tar", replace=True)
        assert tree(home.home) == before
    restore(home, tmp_path / "copy.tar", replace=True)


@pytest.fixture
def other() -> Callable[[Path], Any]:
    @contextmanager
    def holding(path: Path) -> Any:
        code = "import sys; file = open(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
        with subprocess.Popen(
            [sys.executable, "-c", code, str(path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        ) as process:  # fmt: skip
            assert process.stdout is not None
            assert process.stdout.readline() == b"open\n"
            yield process.pid
            process.communicate(b"")

    return holding


DIES = """if True:
    import os, sys
    from pathlib import Path
    from colony.flow.keeping.backup import Home
    from colony.flow.keeping.restore import put_back
    folder, source, last = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    seen = 0
    def count(event, _):
        global seen
        if event in ("os.rename", "os.link"):
            seen += 1
            if seen == last:
                os._exit(9)
    sys.addaudithook(count)
    put_back(Home(f"sqlite:///{folder}/colony.db", folder, folder / "runs"), source,
             1_800_000_000_000, replace=True)
"""


def test_a_crash_leaves_the_old_or_the_new(home: Home, tmp_path: Path) -> None:
    """Killed before each step that names something, in a process of its own."""
    back_up(home, tmp_path / "copy.tar", NOW)
    write(home, "second")
    shutil.rmtree(home.runs)
    died, states = 0, []
    for last in range(1, 20):
        there = tmp_path / f"try-{last}"
        shutil.copytree(home.home, there)
        code = subprocess.run(
            [sys.executable, "-c", DIES, str(there), str(tmp_path / "copy.tar"), str(last)],
            check=False, cwd=Path(__file__).parents[2],
        ).returncode  # fmt: skip
        found = make_home(there)
        states.append(subjects(found))
        assert states[-1] in (["first", "second"], ["first"])
        # Nothing of the old one is lost, and it can be done again.
        restore(found, tmp_path / "copy.tar", replace=True)
        assert subjects(found) == ["first"]
        olds = [Home(f"sqlite:///{each}", there, found.runs) for each in there.glob("colony.db.2*")]
        assert ["first", "second"] in [subjects(old) for old in olds]
        if code == 0:
            break
        died += 1
    assert died >= 5
    assert states[0] == ["first", "second"] and states[-1] == ["first"]


# --- bad backups ---------------------------------------------------------------------------


def member(name: str, data: bytes = b"x", **fields: Any) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def packed(*members: tuple[tarfile.TarInfo, bytes], listed: bool = True) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        files = {}
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
            files[info.name] = hashlib.sha256(data).hexdigest()
        if listed:
            text = json.dumps({"version": 1, "atMs": 1, "files": files}).encode()
            tar.addfile(*_stream(member(LIST, text)))
    return out.getvalue()


def _stream(each: tuple[tarfile.TarInfo, bytes]) -> tuple[tarfile.TarInfo, io.BytesIO]:
    return each[0], io.BytesIO(each[1])


SPARSE = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "x"}
LINK = {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd", "size": 0}


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        (member("librarian/../../evil"), "does not belong"),
        (member("/etc/evil"), "does not belong"),
        (member("librarian//evil"), "does not belong"),
        (member("librarian/.hidden"), "does not belong"),
        (member("evil"), "does not belong"),
        (member("librarian"), "does not belong"),
        (member("runs/x/session.json"), "does not belong"),
        (member(f"runs/{OPEN}/../../evil"), "does not belong"),
        (member(f"runs/{OPEN}/lock"), "does not belong"),
        (member("librarian/a", b"", **LINK), "is no file"),
        (member("librarian/a", b"", type=tarfile.LNKTYPE, linkname="colony.db"), "is no file"),
        (member("librarian/a", b"", type=tarfile.CHRTYPE), "is no file"),
        (member("librarian/a", b"", type=tarfile.FIFOTYPE), "is no file"),
        (member("librarian/a", b"", type=tarfile.DIRTYPE), "is no file"),
        (member("colony.db"), "stands there twice"),
        (member(f"runs/{OPEN}/report.json"), f"session {OPEN} cannot be read"),
        (member(f"runs/{OPEN}/session.json", b"{"), f"session {OPEN} cannot be read"),
        (member("librarian/a\x1b[2J\nb/../c"), "does not belong"),
        (member("librarian/a\x1b[31m"), "does not belong"),
        (member("librarian/a\nb"), "does not belong"),
        (member("librarian/a\u202eb"), "does not belong"),
        (member("librarian/a", b"0\n" * 512, pax_headers=SPARSE), "is no file"),
        (member("librarian/a", b"", type=tarfile.GNUTYPE_SPARSE), "is no file"),
        (member("librarian/" + "a" * 70_000), "larger than 65536 bytes"),
    ],
)
def test_hostile_members(
    home: Home, tmp_path: Path, extra: tuple[tarfile.TarInfo, bytes], told: str
) -> None:
    back_up(home, tmp_path / "copy.db", NOW)
    good = member("colony.db", (tmp_path / "copy.db").read_bytes())
    assert told in refused(tmp_path, packed(good, extra))
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_huge_header_is_not_followed(tmp_path: Path, kind: bytes) -> None:
    """Refused before it is read: its bytes are not there at all."""
    info = tarfile.TarInfo("librarian/a")
    info.type, info.size = kind, 64 * 1024 + 1
    assert "larger than 65536 bytes" in refused(tmp_path, info.tobuf(tarfile.GNU_FORMAT))


def test_headers_without_an_end_are_no_backup(tmp_path: Path) -> None:
    info = tarfile.TarInfo("librarian/a")
    info.type, info.size = tarfile.XHDTYPE, 0
    assert "is no whole backup" in refused(tmp_path, info.tobuf(tarfile.GNU_FORMAT) * 5000)


def refused(tmp_path: Path, data: bytes) -> str:
    """What restoring this is told; a fresh home stays empty."""
    there = make_home(tmp_path / "there")
    (tmp_path / "bad.tar").write_bytes(data)
    with pytest.raises(ColonyError) as told:
        restore(there, tmp_path / "bad.tar")
    assert told.value.exit_code == 3
    assert set(names(there.home)) <= {"home.lock", "runs"}
    assert not there.runs.exists() or names(there.runs) == []
    assert "\n" not in told.value.line and "\x1b" not in told.value.line
    return told.value.line


def test_a_backup_cut_or_changed_anywhere_is_known(home: Home, tmp_path: Path) -> None:
    back_up(home, tmp_path / "copy.tar", NOW)
    whole = (tmp_path / "copy.tar").read_bytes()
    with tarfile.open(tmp_path / "copy.tar") as tar:
        last = tar.getmember(LIST)
    for end in range(0, last.offset_data + last.size, 4096 * 3 + 77):
        refused(tmp_path, whole[:end])
    with tarfile.open(tmp_path / "copy.tar") as tar:
        for each in tar.getmembers():
            at = each.offset_data + each.size // 2
            flipped = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
            refused(tmp_path, flipped)


def test_what_is_no_backup(home: Home, tmp_path: Path) -> None:
    assert "no whole backup" in refused(tmp_path, b"")
    assert "no whole backup" in refused(tmp_path, b"<html>" * 1000)
    assert "list of files" in refused(tmp_path, packed(listed=False))
    assert "holds no database" in refused(tmp_path, packed(member("librarian/a")))
    assert "not a database" in refused(tmp_path, packed(member("colony.db", b"x" * 5000)))
    assert "colony tracker import" in refused(tmp_path, b'{"row":"export","version":1}')
    back_up(home, tmp_path / "copy.db", NOW)
    with closing(sqlite3.connect(tmp_path / "copy.db")) as newer:
        newer.execute("PRAGMA user_version = 999")
    data = (tmp_path / "copy.db").read_bytes()
    assert "newer" in refused(tmp_path, data)
    assert "newer" in refused(tmp_path, packed(member("colony.db", data)))
    with pytest.raises(UsageProblem, match="no such file"):
        restore(make_home(tmp_path / "there"), tmp_path / "nothing")


def test_an_older_database_is_brought_up_to_date(home: Home, tmp_path: Path) -> None:
    back_up(home, tmp_path / "copy.db", NOW)
    with closing(sqlite3.connect(tmp_path / "copy.db")) as older:
        older.executescript(
            "DROP TABLE store; ALTER TABLE sessions DROP COLUMN user_id; PRAGMA user_version = 2;"
        )
    there = make_home(tmp_path / "there")
    restore(there, tmp_path / "copy.db")
    assert subjects(there) == ["first"]


def test_a_damaged_page_in_the_copy_is_seen(home: Home, tmp_path: Path) -> None:
    for at in range(60):
        write(home, f"ticket {at}")
    back_up(home, tmp_path / "copy.db", NOW)
    data = bytearray((tmp_path / "copy.db").read_bytes())
    # A page of tickets, which nothing that prepares the copy reads.
    page = data.rindex(b"ticket 30") // 4096
    data[page * 4096 : page * 4096 + 8] = b"\xff" * 8
    assert "damaged" in refused(tmp_path, bytes(data))


@pytest.mark.parametrize("what", ["link", "hard", "fifo"])
def test_a_strange_thing_in_the_librarians_folder(home: Home, tmp_path: Path, what: str) -> None:
    path = home.librarian / "strange"
    if what == "link":
        path.symlink_to("/etc/passwd")
    elif what == "hard":
        path.hardlink_to(home.librarian / "decisions.json")
    else:
        os.mkfifo(path)
    with pytest.raises(Refused):
        back_up(home, tmp_path / "copy.tar", NOW)
    assert names(tmp_path) == ["home"]


def test_a_backup_never_replaces_a_file(home: Home, tmp_path: Path) -> None:
    for name in ("copy.tar", "copy.db"):
        (tmp_path / name).write_text("mine")
        with pytest.raises(Refused, match="exists"):
            back_up(home, tmp_path / name, NOW)
        assert (tmp_path / name).read_text() == "mine"
    assert (names(tmp_path)) == ["copy.db", "copy.tar", "home"]
