"""The database file: made, shared, refused, migrated, never replaced."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from edges import DERIVE, Cast, Clock, EmbeddedEdge, event_of, everything, on_file
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from colony.core.ticket import TEXT_MAX, Me, NewTicket
from colony.errors import Busy, ColonyError, Damaged, Unreachable, UsageProblem
from colony.tracker.embedded import open_service, open_tracker
from colony.tracker.service import Service
from colony.tracker.sql import dialect, files
from colony.tracker.sql.connection import transaction
from colony.tracker.sql.engine import Value
from colony.tracker.sql.statements import Step, queries, steps

ALICE = Me("alice", "", machine=False, owner=True)


def opened(path: Path, *, create: bool = False, timeout_s: float = 10.0) -> Service:
    return open_service(
        f"sqlite:///{path}", clock=Clock(), derive=DERIVE, create=create, timeout_s=timeout_s
    )


@contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    """The file as another program opens it."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=0)
    try:
        yield connection
    finally:
        connection.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed database of two pages of tickets and more."""
    edge = on_file(tmp_path)
    cast = Cast(edge)
    for at in range(30):
        cast.comment(cast.alice, cast.ticket(f"Ticket {at}", summary="x" * 500), "y" * 500)
    edge.service.close()
    return tmp_path / "colony.db"


def shown(path: Path) -> tuple[object, ...]:
    service = opened(path)
    try:
        return everything(EmbeddedEdge(service, Clock()).tracker(ALICE))
    finally:
        service.close()


# --- made ----------------------------------------------------------------------------------


def test_nothing_is_made_unless_asked(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="colony init") as refusal:
        opened(tmp_path / "colony.db")
    assert "\n" not in refusal.value.line
    assert list(tmp_path.iterdir()) == []


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    """T19: also where the umask would let everybody read."""
    before = os.umask(0)
    try:
        opened(tmp_path / "colony.db", create=True).close()
    finally:
        os.umask(before)
    [made] = tmp_path.iterdir()
    assert stat.S_IMODE(made.stat().st_mode) == 0o600


def test_who_makes_it_is_its_first_owner(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'colony.db'}"
    open_tracker(url, me=ALICE, clock=Clock(), derive=DERIVE, create=True).close()
    me = Me("colony", "", machine=True, owner=False)
    colony = open_tracker(url, me=me, clock=Clock(), derive=DERIVE)
    assert [each.user for each in colony.add_project("inbox", key="a").members] == ["alice"]
    colony.close()


def test_a_name_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("no/such/folder/colony.db", "file/colony.db", "x" * 300):
        with pytest.raises(Unreachable):
            opened(tmp_path / name, create=True)
    with pytest.raises(Damaged, match="not a file"):
        opened(tmp_path, create=True)
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_many_may_make_it_at_once(tmp_path: Path) -> None:
    errors: list[BaseException] = []
    barrier = threading.Barrier(8, timeout=30)

    def make() -> None:
        try:
            barrier.wait()
            opened(tmp_path / "colony.db", create=True).close()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [each.name for each in tmp_path.iterdir()] == ["colony.db"]


def test_making_one_again_leaves_the_first(path: Path) -> None:
    """Two commands may find no file at the same time."""
    before = path.read_bytes()
    files.make_file(path)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["colony.db"]


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "postgresql://x", "colony.db", ""])
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(UsageProblem):
        open_service(url, clock=Clock(), derive=DERIVE, create=True)


def test_names_with_odd_characters_are_names(tmp_path: Path) -> None:
    file = tmp_path / "a?b#c %41é.db"
    opened(file, create=True).close()
    assert [each.name for each in tmp_path.iterdir()] == [file.name]
    opened(file).close()


# --- shared --------------------------------------------------------------------------------


def test_each_connection_is_set_for_several_processes(path: Path) -> None:
    engine = files.open_file(path, create=False, timeout_s=3)
    for name, value in {
        "journal_mode": "delete",
        "synchronous": 3,
        "foreign_keys": 1,
        "busy_timeout": 3000,
    }.items():
        assert engine.connection().execute(f"PRAGMA {name}").fetchone() == (value,)
    engine.close()


def test_a_thread_has_a_connection_of_its_own_and_leaves_none(path: Path) -> None:
    engine = files.open_file(path, create=False, timeout_s=3)
    seen = [engine.connection()]
    for _ in range(3):
        thread = threading.Thread(target=lambda: seen.append(engine.connection()))
        thread.start()
        thread.join()
    assert len(set(map(id, seen))) == 4
    assert seen[0].execute("SELECT 1").fetchone() == (1,)
    for connection in seen[1:3]:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")
    engine.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        seen[0].execute("SELECT 1")


def test_a_file_held_too_long_is_busy(path: Path) -> None:
    """F51."""
    service = opened(path, timeout_s=0.05)
    cast = Cast(EmbeddedEdge(service, Clock()))
    alice = cast.alice
    [first, *_] = alice.tickets()
    with raw(path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Busy) as refusal:
            alice.comment(first.ref, "x", key="a")
        assert len(alice.tickets()) == 30
        other.execute("COMMIT")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(Busy):
            alice.tickets()
        other.execute("COMMIT")
        # A reader that stays keeps the commit out: it is rolled back whole.
        other.execute("BEGIN")
        other.execute("SELECT * FROM users").fetchall()
        with pytest.raises(Busy):
            alice.comment(first.ref, "x", key="a")
        other.execute("COMMIT")
    assert refusal.value.exit_code == 5
    assert event_of(alice.comment(first.ref, "x", key="a")) == first.last_event + 59
    service.close()


def test_a_file_in_wal_is_converted(path: Path) -> None:
    """F52."""
    before = shown(path)
    with raw(path) as other:
        assert other.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
        other.execute("UPDATE tickets SET subject = 'From WAL' WHERE number = 1")
        with pytest.raises(Busy):
            opened(path, timeout_s=0.05)
    after = shown(path)
    assert "From WAL" in str(after)
    assert str(after).replace("From WAL", "Ticket 0") == str(before)
    with raw(path) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert [each.name for each in path.parent.iterdir()] == ["colony.db"]


def test_a_full_disk_loses_nothing(path: Path) -> None:
    """F56: SQLite's own limit on pages stands for the disk's."""
    engine = files.open_file(path, create=False, timeout_s=1)
    clock = Clock()
    service = Service(engine, clock, DERIVE)
    cast = Cast(EmbeddedEdge(service, clock))
    alice = cast.alice
    alice.me()
    before = everything(alice)
    [first, *_] = alice.tickets()
    connection = engine.connection()
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(Busy, match="no room") as refusal:
        alice.comment(first.ref, "z" * 100_000, key="a")
    assert "\n" not in refusal.value.line
    assert everything(alice) == before
    connection.execute("PRAGMA max_page_count = 100000")
    assert event_of(alice.comment(first.ref, "z" * 100_000, key="a")) > 0
    service.close()
    assert len(str(shown(path))) > 100_000


FULL = """
import itertools, sys
from pathlib import Path
from edges import DERIVE, Cast, Clock, EmbeddedEdge
from colony.errors import Busy
from colony.tracker.sql import files
from colony.tracker.service import Service
path = Path(sys.argv[1]) / "colony.db"
engine = files.open_file(path, create=True, timeout_s=1)
cast = Cast(EmbeddedEdge(Service(engine, Clock(), DERIVE), Clock()), itertools.count())
ref = cast.ticket("A gate")
try:
    for at in range(9):
        cast.alice.comment(ref, "z" * 200_000, key=f"a{at}")
except Busy as error:
    print(error.exit_code, error.line)
print(len(cast.alice.ticket(ref).events) - at)
cast.alice.comment(ref, "short", key=f"a{at}")
print(cast.alice.ticket(ref).events[-1].text)
"""


def test_a_disk_that_is_full_at_the_commit_loses_nothing(tmp_path: Path) -> None:
    """F56: the pages stay in memory until then; SQLite rolls back, and that is known."""
    box = [
        "bwrap",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--bind",
        "/dev/shm",
        "/dev/shm",
        "--size",
        "524288",
        "--tmpfs",
    ]
    box.append(str(tmp_path))
    if not shutil.which("bwrap") or subprocess.run([*box, "true"], check=False).returncode:
        pytest.skip("no bubblewrap to make a small disk with")
    here = Path(__file__).parent
    done = subprocess.run(
        [*box, sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True,
        env={"PYTHONPATH": f"{here.parents[1]}:{here}"}, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    told, events, text = done.stdout.splitlines()
    assert told.startswith(f"5 no room left to write {tmp_path}/colony.db; nothing was written")
    assert (events, text) == ("1", "short")


@pytest.mark.parametrize("away", [Path.unlink, lambda path: path.rename(f"{path}.old")])
def test_a_file_that_went_away_while_open_is_said(
    path: Path, away: Callable[[Path], object]
) -> None:
    """A write would go to a file that nobody finds again."""
    service = opened(path)
    cast = Cast(EmbeddedEdge(service, Clock()))
    [first, *_] = cast.alice.tickets()
    away(path)
    with pytest.raises(Unreachable, match="moved or deleted while it was open") as refusal:
        cast.alice.comment(first.ref, "x", key="a")
    assert str(path) in refusal.value.line
    assert not path.exists()
    service.close()


def test_the_end_of_the_feed_is_that_of_the_file_that_took_the_place(
    path: Path, tmp_path: Path
) -> None:
    """A connection to it may count as many changes as the one before."""
    older = tmp_path / "older.db"
    older.write_bytes(path.read_bytes())
    service = opened(path)
    alice = Cast(EmbeddedEdge(service, Clock())).alice
    alice.create(NewTicket("shop", "One more"), key="one more")
    service.close()
    service = opened(path)
    end = service.changes(0).last
    assert service.changes(end).last == end
    older.replace(path)
    assert service.changes(end).last < end
    service.close()


def test_every_thread_sees_the_file_that_took_the_place(path: Path, tmp_path: Path) -> None:
    """A token that was revoked there must not go on reading here."""
    service = opened(path)
    cast = Cast(EmbeddedEdge(service, Clock()))
    assert len(cast.alice.tickets()) == 30
    watch = service.watch()
    seen = watch.count()
    away = tmp_path / "away.db"
    other = tmp_path / "other.db"
    files.make_file(other)
    path.rename(away)
    with ThreadPoolExecutor(1) as pool:
        for read in (service.tickets, pool.submit(service.tickets).result, service.schema):
            with pytest.raises(Unreachable, match="moved or deleted"):
                read()
        with pytest.raises(Unreachable):
            watch.count()
        other.rename(path)
        assert service.tickets() == ()
        assert pool.submit(service.tickets).result() == ()
        assert watch.count() != seen
        path.write_bytes(b"")
        away.replace(path)
        assert len(service.tickets()) == 30
        assert len(pool.submit(service.tickets).result()) == 30
        path.rename(away)
        path.write_bytes(b"garbage" * 1000)
        for read in (service.tickets, pool.submit(service.tickets).result):
            with pytest.raises(Damaged):
                read()
        path.unlink()
        path.mkdir()
        with pytest.raises(Damaged, match="not a file"):
            service.tickets()
        path.rmdir()
        away.rename(path)
        assert len(service.tickets()) == 30
    watch.close()
    service.close()


def test_a_file_that_cannot_be_written_can_be_read(path: Path) -> None:
    engine = files.open_file(path, create=False, timeout_s=1)
    service = Service(engine, Clock(), DERIVE)
    cast = Cast(EmbeddedEdge(service, Clock()))
    engine.connection().execute("PRAGMA query_only = ON")
    assert len(cast.alice.tickets()) == 30
    with pytest.raises(Unreachable, match="read-only"):
        cast.alice.comment(cast.alice.tickets()[0].ref, "x", key="a")
    service.close()


def test_the_largest_texts_fit(path: Path) -> None:
    service = opened(path)
    cast = Cast(EmbeddedEdge(service, Clock()), itertools.count(1000))
    ref = cast.ticket("x" * 300, summary="z" * TEXT_MAX)
    cast.comment(cast.alice, ref, "\u20ac" * (TEXT_MAX // 3))
    service.close()
    service = opened(path)
    history = EmbeddedEdge(service, Clock()).tracker(ALICE).ticket(ref)
    assert len(history.ticket.summary) == TEXT_MAX
    assert history.events[-1].text == "\u20ac" * (TEXT_MAX // 3)
    service.close()


# --- refused -------------------------------------------------------------------------------


def refused(path: Path, error: type[ColonyError] = Damaged) -> str:
    """Why it is not opened, with or without leave to make one; the file stays byte for byte."""
    before = path.read_bytes()
    for create in (False, True):
        with pytest.raises(error) as refusal:
            shown(path) if not create else opened(path, create=True)
        assert "\n" not in refusal.value.line
        assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    return refusal.value.line


def test_a_newer_file_is_refused(path: Path) -> None:
    """F54."""
    with raw(path) as other:
        other.execute("PRAGMA user_version = 999")
    line = refused(path)
    assert "999" in line
    assert "`colony tracker backup`" in line


def test_a_file_cut_at_any_page_is_refused(path: Path) -> None:
    """F53."""
    whole = path.read_bytes()
    assert len(whole) > 10 * 4096
    for size in range(0, len(whole), 4096):
        for end in (size, size + 100, size + 4000):
            path.write_bytes(whole[:end])
            refused(path)
    path.write_bytes(whole)
    assert shown(path)[0]


@pytest.mark.parametrize(
    "content", [b"x" * 8192, b"SQLite format 3\0" + b"\xff" * 8176, b"{}", b"\0" * 4096]
)
def test_what_is_no_database_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    refused(path)


def test_another_programs_database_is_refused(path: Path) -> None:
    path.unlink()
    with raw(path) as other:
        other.execute("CREATE TABLE tickets (id)")
    assert "no Colony database" in refused(path)


def test_a_broken_page_is_told_when_it_is_read(path: Path) -> None:
    whole = bytearray(path.read_bytes())
    for page in range(1, len(whole) // 4096):
        whole[page * 4096 : page * 4096 + 64] = b"\xa5" * 64
    path.write_bytes(whole)
    with pytest.raises(Damaged, match="colony tracker backup"):
        shown(path)
    assert path.read_bytes() == bytes(whole)


@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=9))
@settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    max_examples=60,
)
def test_any_broken_bytes_are_read_or_told(path: Path, bytes_: list[tuple[float, int]]) -> None:
    """A schema or a header that makes no sense is damage, never a trace."""
    whole = path.read_bytes()
    broken = bytearray(whole)
    for at, value in bytes_:
        # Half of them hit the header and the schema.
        place = int(at * 2 * len(whole)) if at < 0.5 else int((at - 0.5) * 2 * 8192)
        broken[place] = value
    path.write_bytes(broken)
    try:
        shown(path)
    except (Damaged, Unreachable) as refusal:
        assert "\n" not in refusal.line
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize(
    ("place", "value"), [(60, b"\0\0\0\0"), (60, b"\xff\xff\xff\xff"), (47, b"\x09")]
)
def test_a_header_that_cannot_be_is_damage(path: Path, place: int, value: bytes) -> None:
    whole = bytearray(path.read_bytes())
    whole[place : place + len(value)] = value
    path.write_bytes(whole)
    refused(path)


def test_a_schema_that_cannot_be_read_is_damage(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"CREATE TABLE users", b"CREATE TAB\x8a\x93 users", 1))
    refused(path)
    path.write_bytes(whole.replace(b"  lease_host ", b"  lease_hosx ", 1))
    with pytest.raises(Damaged, match="lease_host"):
        shown(path)


def test_a_text_that_is_no_utf8_is_damage(path: Path) -> None:
    with raw(path) as other:
        other.execute("UPDATE tickets SET subject = CAST(x'ff41' AS TEXT) WHERE number = 1")
    with pytest.raises(Damaged, match="UTF-8"):
        shown(path)


def test_a_file_that_went_away_is_not_made_anew(path: Path) -> None:
    service = opened(path)
    path.unlink()
    errors: list[BaseException] = []

    def read() -> None:
        try:
            service.tickets()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert [type(each) for each in errors] == [Unreachable]
    assert not path.exists()
    service.close()


# --- migrated ------------------------------------------------------------------------------


@pytest.fixture
def old(path: Path) -> Path:
    """The same tickets in a file of the first schema."""
    with raw(path) as other:
        for table in ("tokens", "sessions", "hosts", "store"):
            other.execute(f"DROP TABLE {table}")
        other.execute("PRAGMA user_version = 1")
    return path


def tables(path: Path) -> set[str]:
    with raw(path) as other:
        return {
            name for (name,) in other.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }


def test_an_older_file_is_brought_up_to_date(old: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh.db"
    opened(fresh, create=True).close()
    assert len(steps()) >= 2
    assert tables(old) < tables(fresh)
    rows = shown(old)
    assert len(rows[0]) == 30  # type: ignore[arg-type]
    assert tables(old) == tables(fresh)
    with raw(old) as other:
        assert other.execute("PRAGMA user_version").fetchone() == (steps()[-1].number,)
        schema = "SELECT sql FROM sqlite_master ORDER BY name"
        mine = other.execute(schema).fetchall()
    with raw(fresh) as other:
        assert other.execute(schema).fetchall() == mine
    assert shown(old) == rows


def test_a_damaged_older_file_is_found_before_it_is_changed(old: Path) -> None:
    whole = bytearray(old.read_bytes())
    last = len(whole) // 4096 - 1
    whole[last * 4096 : last * 4096 + 64] = b"\xa5" * 64
    old.write_bytes(whole)
    refused(old)


def test_a_row_that_cannot_be_stops_a_migration(old: Path) -> None:
    with raw(old) as other:
        other.execute("PRAGMA ignore_check_constraints = ON")
        other.execute("UPDATE tickets SET state = 'closed' WHERE number = 1")
    assert "CHECK" in refused(old)


def test_rows_that_point_nowhere_stop_a_migration(old: Path) -> None:
    with raw(old) as other:
        other.execute("DELETE FROM tickets WHERE number = 1")
    assert "points nowhere" in refused(old)


def test_nobody_reads_or_writes_during_a_migration(old: Path) -> None:
    with raw(old) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM users").fetchall()
        with pytest.raises(Busy):
            opened(old, timeout_s=0.05)
        other.execute("COMMIT")
    said = []

    def look() -> None:
        with raw(old) as other, pytest.raises(sqlite3.OperationalError) as refusal:
            other.execute("SELECT * FROM users")
        said.append(str(refusal.value))

    connection = dialect.connect(f"{old.as_uri()}?mode=rw", str(old), 0)
    connection.create_function("look", 0, look)
    files.upgrade(connection, old, (*steps(), Step(99, ("SELECT look()",))))
    connection.close()
    assert said == ["database is locked"]


def test_a_step_that_fails_leaves_the_old_schema(old: Path) -> None:
    wanted = (*steps()[:1], Step(2, ("CREATE TABLE more (x)", "INSERT INTO counter VALUES (1, 1)")))
    before = old.read_bytes()
    connection = dialect.connect(f"{old.as_uri()}?mode=rw", str(old), 0)
    with pytest.raises(sqlite3.IntegrityError, match="counter"):
        files.upgrade(connection, old, wanted)
    connection.close()
    assert old.read_bytes() == before


KILLED = """
import os, signal, sys
from pathlib import Path
from colony.tracker.sql import dialect, files
from colony.tracker.sql.statements import Step, steps
path = Path(sys.argv[1])
fill = "INSERT INTO filler WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n \
LIMIT 4000) SELECT hex(zeroblob(200)) FROM n"
wanted = (*steps(), Step(99, ("CREATE TABLE filler (x)", "UPDATE tickets SET subject = 'lost'",
                              fill, "SELECT stop()")))
connection = dialect.connect(path.as_uri() + "?mode=rw", str(path), 5)
connection.create_function("stop", 0, lambda: os.kill(os.getpid(), signal.SIGKILL))
connection.execute("PRAGMA cache_size = 5")
files.upgrade(connection, path, wanted)
"""


def test_a_migration_killed_halfway_is_rolled_back_by_the_next_one(old: Path) -> None:
    """F54: the change had reached the file already; its journal takes it back."""
    before = old.read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(old)], check=False,
        env={"PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL
    assert old.read_bytes() != before
    assert (old.parent / "colony.db-journal").exists()
    rows = shown(old)
    assert "lost" not in str(rows)
    assert "filler" not in tables(old)
    assert len(rows[0]) == 30  # type: ignore[arg-type]


# --- the SQL itself ------------------------------------------------------------------------


def test_every_statement_is_used_and_can_be_prepared(path: Path) -> None:
    code = "".join(
        file.read_text("utf-8") for file in sorted(Path(files.__file__).parent.glob("*.py"))
    )
    assert [name for name in queries() if f'"{name}"' not in code] == []
    with raw(path) as other:
        for text in queries().values():
            other.execute(f"EXPLAIN {text}", AnyValue())


class AnyValue(dict[str, Value]):
    def __missing__(self, name: str) -> Value:
        return 1


def test_a_transaction_ends_with_its_block(path: Path) -> None:
    connection = dialect.connect(f"{path.as_uri()}?mode=rw", str(path), 1)
    with pytest.raises(KeyError), transaction(connection, dialect.WRITE, "x") as db:
        db.run("counter_up")
        raise KeyError
    assert not connection.in_transaction
    with transaction(connection, dialect.READ, "x") as db:
        [(after,)] = db.rows("counter")
    assert not connection.in_transaction
    assert after == 61
    connection.close()
    shutil.copy(path, path.with_name("copy.db"))
    assert len(shown(path.with_name("copy.db"))[0]) == 30  # type: ignore[arg-type]
