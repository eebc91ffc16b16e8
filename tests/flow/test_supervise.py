"""Sessions as processes, with real ones: started, adopted, told to stop, let go of."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from colony.core.allowance import Seat
from colony.core.endings import Exit
from colony.core.plan import Kept
from colony.core.ticket import Ref
from colony.errors import ColonyError
from colony.flow.supervise import NO_PORTS, Command, Gone, Supervisor
from colony.host.clock import SystemClock
from colony.host.journal import RunFolder
from colony.host.signals import LoopSignals
from colony.host.starting_log import Said

ROOT = Path(__file__).resolve().parents[2]
SESSION = "s-20260131T1819-abc123"
OTHER = "s-20260131T1819-def456"
REF = Ref("shop", 1)
HOLDS = """
import signal, sys
from pathlib import Path
from colony.host.lock import lock_file
with lock_file(Path(sys.argv[1]), "it"):
    print("held", flush=True)
    signal.pause()
"""


def until(happened: Callable[[], object]) -> None:
    clock = SystemClock()
    deadline = clock.boot_s() + 20
    while not happened():
        assert clock.boot_s() < deadline
        select.select([], [], [], 0.005)


class Desk:
    """A supervisor whose program is a shell script with the words of `colony` behind it."""

    def __init__(self, folder: Path) -> None:
        self.runs = folder / "runs"
        self.out = folder / "out"

    def supervisor(self, script: str) -> Supervisor:
        argv = ("/bin/sh", "-c", script, "colony")
        env = {"PATH": "/usr/bin:/bin", "RUNS": str(self.runs), "OUT": str(self.out)}
        return Supervisor(Command(argv, env, self.runs))

    def kept(self, session: str = SESSION, **more: object) -> Kept:
        (self.runs / session).mkdir(parents=True, exist_ok=True)
        return Kept(session, REF, "/dev-folder", (8700, 8709), "left", **more)  # type: ignore[arg-type]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def the_end(supervisor: Supervisor) -> Gone:
    found: list[Gone] = []
    until(lambda: found.extend(supervisor.gone()) or found)
    [gone] = found
    return gone


def test_a_new_session_may_post_and_one_that_goes_on_keeps_what_it_may(desk: Desk) -> None:
    supervisor = desk.supervisor('echo "$@" >> $OUT')
    supervisor.begin(SESSION, REF, "/dev-folder", (8700, 8709))
    the_end(supervisor)
    supervisor.take_up(desk.kept(), (8710, 8719))
    the_end(supervisor)
    supervisor.take_up(desk.kept(), None)
    the_end(supervisor)
    assert desk.out.read_text().splitlines() == [
        f"work shop 1 --post --session {SESSION} --ports 8700-8709",
        f"work shop 1 --session {SESSION} --ports 8710-8719",
        f"work shop 1 --session {SESSION}",
    ]


@pytest.mark.parametrize(
    "script",
    [
        'echo "work: REFUSED — no"; exit 5',
        f'd="$RUNS/{SESSION}"; mkdir "$d"; mv "$RUNS/.starting/{SESSION}.log" "$d/work.log";'
        ' echo "work: REFUSED — no"; rm -r "$d"; exit 5',
    ],
    ids=["before it has a folder", "and takes its folder with it"],
)
def test_a_refused_start_tells_why_and_leaves_nothing(desk: Desk, script: str) -> None:
    supervisor = desk.supervisor(script)
    supervisor.begin(SESSION, REF, "/dev-folder", (8700, 8709))
    gone = the_end(supervisor)
    assert (gone.exit, gone.last_words) == (Exit(code=5), "work: REFUSED — no")
    assert list(desk.runs.rglob("*")) == [desk.runs / ".starting"]
    assert supervisor.members == () and supervisor.pidfds == ()


def test_what_a_resumed_session_says_is_added_to_its_log(desk: Desk) -> None:
    kept = desk.kept()
    log = desk.runs / SESSION / "work.log"
    log.write_text("before\n")
    supervisor = desk.supervisor("echo after")
    supervisor.take_up(kept, None)
    assert the_end(supervisor).last_words == "after"
    assert log.read_text() == "before\nafter\n"


def test_a_log_that_cannot_be_written_starts_nothing(desk: Desk) -> None:
    desk.runs.write_text("no folder")
    supervisor = desk.supervisor("touch $OUT")
    with pytest.raises(ColonyError, match=r"\.starting"):
        supervisor.begin(SESSION, REF, "/dev-folder", (8700, 8709))
    assert supervisor.members == ()


def test_until_it_shows_anything_it_is_known_by_its_process(desk: Desk) -> None:
    supervisor = desk.supervisor("exec sleep 600")
    supervisor.begin(SESSION, REF, "/dev-folder", (8710, 8719))
    supervisor.take_up(desk.kept(OTHER), None)
    [first, second] = supervisor.with_members((desk.kept(OTHER),))
    assert (first.session, first.state, first.ports) == (SESSION, "running", (8710, 8719))
    assert (second.session, second.state, second.ports) == (OTHER, "running", (8700, 8709))
    supervisor.signal(signal.SIGKILL)
    until(lambda: list(supervisor.gone()) is not None and not supervisor.members)


def test_every_process_is_told_and_those_let_go_of_run_on(desk: Desk) -> None:
    supervisor = desk.supervisor("exec sleep 600")
    pids = [
        supervisor.begin(session, REF, "/dev-folder", NO_PORTS).child.pid
        for session in (SESSION, OTHER)
    ]
    supervisor.leave()
    assert supervisor.members == ()
    for pid in pids:
        os.kill(pid, 0)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    told = [supervisor.begin(session, REF, "/dev-folder", NO_PORTS) for session in (SESSION, OTHER)]
    supervisor.signal(signal.SIGTERM)
    found: list[Gone] = []
    until(lambda: found.extend(supervisor.gone()) or len(found) == len(told))
    assert {gone.exit for gone in found} == {Exit(signal=signal.SIGTERM)}


def test_a_session_that_begins_while_all_are_told_is_told_as_well(desk: Desk) -> None:
    supervisor = desk.supervisor("exec sleep 600")
    supervisor.begin(SESSION, REF, "/dev-folder", NO_PORTS)
    supervisor.signal(signal.SIGTERM)
    supervisor.begin(OTHER, REF, "/dev-folder", NO_PORTS)
    found: list[Gone] = []
    until(lambda: found.extend(supervisor.gone()) or len(found) == 2)
    assert {gone.exit for gone in found} == {Exit(signal=signal.SIGTERM)}


@pytest.fixture
def stranger(desk: Desk) -> Iterator[subprocess.Popen[str]]:
    """A process of somebody else's that holds the session's lock."""
    desk.kept()
    lock = RunFolder(desk.runs / SESSION).lock
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(lock)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout and process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_whoever_holds_the_lock_is_adopted_once(
    desk: Desk, stranger: subprocess.Popen[str]
) -> None:
    supervisor = desk.supervisor("exit 9")
    kept = Kept(SESSION, REF, "/dev-folder", (8700, 8709), "running")
    [member] = supervisor.adopt((kept,))
    assert (member.child.pid, member.adopted) == (stranger.pid, True)
    assert list(supervisor.adopt((kept,))) == []
    supervisor.signal(signal.SIGTERM)
    gone = the_end(supervisor)
    assert (gone.exit, gone.last_words) == (None, "")
    assert stranger.wait() == -signal.SIGTERM, "its own parent learns how it ended"


def test_a_stop_is_heard_in_the_middle_of_something_else(desk: Desk) -> None:
    supervisor = desk.supervisor("exec sleep 600")
    supervisor.begin(SESSION, REF, "/dev-folder", NO_PORTS)
    heard: list[int] = []

    def on_stop(count: int) -> None:
        heard.append(count)
        if count == 2:
            supervisor.signal(signal.SIGTERM)

    with LoopSignals() as signals:
        signals.on_stop = on_stop
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            os.kill(os.getpid(), number)
        assert (heard, signals.reads_again) == ([1, 2], True)
    assert the_end(supervisor).exit == Exit(signal=signal.SIGTERM)


@pytest.mark.parametrize("kind", ["fifo", "link", "folder"])
def test_what_stands_in_the_place_of_a_log_is_not_waited_for(
    desk: Desk, kind: str, tmp_path: Path
) -> None:
    kept = desk.kept()
    log = desk.runs / SESSION / "work.log"
    if kind == "fifo":
        os.mkfifo(log)
    elif kind == "link":
        log.symlink_to(tmp_path / "elsewhere")
    else:
        log.mkdir()
    supervisor = desk.supervisor("touch $OUT")
    with pytest.raises(ColonyError, match=r"work\.log"):
        supervisor.take_up(kept, None)
    assert supervisor.members == ()
    assert not (tmp_path / "elsewhere").exists()


def test_a_log_with_a_reader_that_is_no_file_is_not_written_to(desk: Desk) -> None:
    kept = desk.kept()
    log = desk.runs / SESSION / "work.log"
    os.mkfifo(log)
    reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(ColonyError, match="is a FIFO"):
            desk.supervisor("echo told").take_up(kept, None)
        assert os.read(reader, 10) == b""
    finally:
        os.close(reader)


def test_a_stop_reaches_what_is_just_being_started(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The handler of a signal runs while the process is there and no member yet."""
    supervisor = desk.supervisor(
        "trap 'echo told >> $OUT' TERM; touch $OUT.up; while :; do :; done"
    )

    def started(log: Path) -> None:
        until(Path(f"{desk.out}.up").exists)
        supervisor.signal(signal.SIGTERM)

    monkeypatch.setattr(Said, "of", started)
    supervisor.begin(SESSION, REF, "/dev-folder", (8700, 8709))
    until(desk.out.exists)
    supervisor.signal(signal.SIGKILL)
    [gone] = [the_end(supervisor)]
    assert gone.exit == Exit(signal=9)
    assert desk.out.read_text() == "told\n", "once: a second SIGTERM ends what is being parked"


def test_whether_a_member_has_been_answered_is_told_by_its_record(desk: Desk) -> None:
    """What is only being started has not; what runs no agent asks for nothing."""
    supervisor = desk.supervisor("sleep 30")
    seat = Seat("claude", "opus")
    runs = desk.kept(seat=seat, answered=True, asked_ms=7)
    for ports, state, answered, asked_ms in (
        ((8700, 8709), "running", True, 7),
        ((8700, 8709), "parked", False, None),
        (None, "parked", True, None),
    ):
        supervisor.take_up(runs, ports)
        [one] = supervisor.with_members([replace(runs, state=state)])
        assert (one.state, one.answered, one.asked_ms) == ("running", answered, asked_ms)
        assert one.seat == seat
        supervisor.signal(signal.SIGKILL)
        the_end(supervisor)
