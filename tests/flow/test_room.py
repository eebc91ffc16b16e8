"""One more session: who counts, who is asked, and what follows where it does not fit.

The machine is a gauge by hand, run folders and locks are real.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
from hall import BEGUN_MS, MINUTE, RUNNER, RUNS, Fate, Hall, HandTime, Sessions

from colony.core.admission import Full, Live, Reserved, Unknown
from colony.core.codec import to_json
from colony.core.endings import Ending, Exit
from colony.core.guard import MIB, Guard
from colony.core.lines import Line
from colony.core.ports import Range
from colony.core.session import Facts, Outcome, Setup
from colony.core.ticket import Ref
from colony.flow.backoff import BackOff
from colony.flow.closing import closing_of
from colony.flow.room import Admission, Door, Newcomer, Reap
from colony.flow.runs import home_locked
from colony.flow.supervise import Gone, Member
from colony.host.journal import RunFolder
from colony.host.lock import lock_file
from tests.fakes.gauges import PLENTY, HandGauge, machine

ON: Final = Guard(on=True)
NEED: Final = ON.session_memory
ONE: Final = Newcomer("", NEED)
REF: Final = Ref("p0", 1)


def name(number: int) -> str:
    return f"s-20270115T0800-{number:06x}"


class House:
    """A home with run folders."""

    def __init__(self, folder: Path) -> None:
        self.home, self.runs = folder, folder / "runs"
        self.gauge = HandGauge(machine(4, 0.3))
        self.lines: list[Line] = []
        self.locks = ExitStack()
        self.admission = Admission(self.gauge, self.runs, folder, self.lines.append)

    def session(self, number: int, *, alive: bool, since_ms: int = BEGUN_MS, **more: Any) -> None:
        """A session on record, begun then; `alive`: a process holds its lock."""
        setup = Setup(RUNNER, RUNNER, "/f", (1, 2), "", False, 2, 9, 9, "off", memory_mb=1024)
        facts = Facts(name(number), REF, "here", True, since_ms, setup)
        record = to_json(replace(facts, **more))
        assert isinstance(record, dict)
        folder = RunFolder.make(self.runs, facts.session)
        folder.save_json(record)
        if alive:
            self.hold(folder)

    def hold(self, folder: RunFolder) -> None:
        self.locks.enter_context(lock_file(folder.lock, "session"))

    def reserved(self, now_ms: int = BEGUN_MS, but: str = "") -> Reserved:
        return self.admission.reserved(ON, now_ms, but)

    def full(self, reap: Reap | None = None, **more: Any) -> Full | None:
        admission = replace(self.admission, reap=reap)
        return admission.room_for(ON, ONE, BEGUN_MS, **more)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    with made.locks:
        yield made


# --- who counts --------------------------------------------------------------------------------


def test_dead_starts_hold_no_reservation(house: House) -> None:
    house.session(1, alive=True)
    house.session(2, alive=False)
    house.session(3, alive=True, outcome=Outcome.POSTED)
    assert house.reserved() == Reserved(1, NEED)
    house.locks.close()
    assert house.reserved() == Reserved()


def test_a_reservation_ends_with_the_warm_up(house: House) -> None:
    house.session(1, alive=True)
    assert house.reserved(BEGUN_MS + ON.warmup_ms - 1).count == 1
    assert house.reserved(BEGUN_MS + ON.warmup_ms).count == 0


def test_a_session_that_is_taken_up_again_is_young_again(house: House) -> None:
    house.session(1, alive=True, since_ms=BEGUN_MS - 90 * MINUTE, admitted_ms=BEGUN_MS)
    house.session(2, alive=True, since_ms=BEGUN_MS - 90 * MINUTE)
    assert house.reserved() == Reserved(1, NEED)


def test_each_reserves_what_it_is_expected_to_hold_itself(house: House) -> None:
    house.session(1, alive=True)
    facts = Setup(RUNNER, RUNNER, "/f", (1, 2), "", False, 2, 9, 9, "off", memory_mb=3000)
    house.session(2, alive=True, setup=facts)
    assert house.reserved() == Reserved(2, 4024 * MIB)


def test_nobody_counts_against_itself(house: House) -> None:
    house.session(1, alive=True)
    assert house.reserved(but=name(1)) == Reserved()


def test_one_that_has_written_nothing_down_or_garbage_counts(house: House) -> None:
    house.hold(RunFolder.make(house.runs, name(1)))
    garbage = RunFolder.make(house.runs, name(2))
    (garbage.path / "session.json").write_text("{")
    house.hold(garbage)
    assert house.reserved(BEGUN_MS + 99 * MINUTE) == Reserved(2, 2 * NEED)


def test_a_burst_of_forty_starts_what_fits_and_no_more(house: House) -> None:
    """A container of 4 GB with 0.3 GB held: 3.6 GB is the line, three sessions of 1.07 GB fit."""
    told: list[str] = []
    gate = threading.Barrier(40)

    def start(number: int) -> None:
        gate.wait()
        with home_locked(house.home):
            full = house.full()
            if full is None:
                house.session(number, alive=True)
        told.append("started" if full is None else full.text)

    threads = [threading.Thread(target=start, args=(each,)) for each in range(40)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert told.count("started") == 3
    refused = {each for each in told if each != "started"}
    assert refused == {
        "no room: memory — 0.30 GB held + 3.22 GB for 3 just begun + 1.07 GB for this one"
        " > 4.00 GB of cgroup v2 - 0.40 GB kept free"
    }


# --- the disk, and what is said ------------------------------------------------------------------


def test_the_disk_is_reaped_once_before_a_refusal(house: House) -> None:
    reaped: list[str] = []

    def reap(_: str, enough: Callable[[], bool]) -> None:
        reaped.append("once")
        assert not enough()
        house.gauge.reading = machine(24, 1, free=90, total=100)
        assert enough()

    house.gauge.reading = machine(24, 1, free=5, total=100)
    full = house.full()
    assert full is not None
    assert full.cause == "disk"
    assert house.full(reap=reap) is None
    assert reaped == ["once"]
    assert house.full(reap=reap) is None
    house.gauge.reading = machine(1, 1, free=5, total=100)
    assert house.full(reap=reap) is not None
    assert reaped == ["once"], "memory is not freed by it"
    house.gauge.reading = machine(24, 1, free=5, total=100)
    assert house.full(reap=lambda *_: reaped.append("no use")) is not None
    assert reaped == ["once", "no use"]


def test_what_is_read_is_said_once_and_again_when_it_changes(house: House) -> None:
    for held in (0.3, 0.5, 3.9):
        house.gauge.reading = machine(4, held)
        house.full()
    assert [line.as_text() for line in house.lines] == [
        "GUARD on: memory from cgroup v2, limit 4.00 GB from cgroup; disk 500.00 GB where the work"
        " folder lies"
    ]
    house.gauge.reading = machine(8, 1)
    house.full()
    house.gauge.reading = replace(machine(8, 1), memory=Unknown("memory.max is no number"))
    house.full()
    assert len(house.lines) == 3
    assert "memory unknown (memory.max is no number)" in house.lines[-1].text


def test_a_guard_that_is_off_reads_nothing(house: House) -> None:
    assert house.admission.room_for(Guard(on=False), ONE, BEGUN_MS) is None
    assert (house.gauge.looks, house.lines) == (0, [])


# --- the loop ------------------------------------------------------------------------------------


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Hall]:
    made = Hall(tmp_path, gauge=HandGauge(machine(4, 0.3)), guard=ON, parallel=9)
    yield made
    made.close()


def answered(_: str) -> Fate:
    return replace(RUNS, answered=True)


def test_the_loop_starts_what_fits_and_says_why_the_rest_waits(hall: Hall) -> None:
    hall.fates = answered
    assert len(hall.look()) == 3
    [said] = hall.said("iter")
    assert "(no room: memory); " in said
    assert said.endswith(
        " · no room: memory — 0.30 GB held + 3.22 GB for 3 just begun + 1.07 GB for this one"
        " > 4.00 GB of cgroup v2 - 0.40 GB kept free"
    )
    line = hall.lines[-1]
    assert line.facts["room"] == "memory"
    waiting = line.facts["waiting"]
    assert isinstance(waiting, dict)
    assert list(waiting.values()).count("room") == 6
    assert hall.gauge.looks == 4, "after the first that does not fit nothing more is asked for"
    hall.look()
    assert "no room: memory — " in hall.said("iter")[-1], "the numbers, in each line"


def test_the_next_iteration_asks_again_and_no_back_off_stands(hall: Hall) -> None:
    hall.fates = answered
    hall.gauge.reading = machine(4, 3.5)
    assert hall.look() == []
    assert hall.loop._backoff.refusals == {}
    hall.gauge.reading = machine(4, 0.3)
    assert len(hall.look()) == 3
    assert "0.30 GB" in hall.said("iter")[-1]


def test_what_grew_counts_once(hall: Hall) -> None:
    """After the warm-up the reading alone tells what the sessions hold."""
    hall.fates = answered
    assert len(hall.look()) == 3
    hall.gauge.reading = machine(4, 1.4)
    hall.time.now_ms += ON.warmup_ms
    assert len(hall.look()) == 2


def test_a_parked_session_waits_for_room_too(hall: Hall) -> None:
    hall.parallel = 1
    hall.loop = type(hall.loop)(hall._bench(), hall.settings, hall.sessions)
    hall.fates = lambda _: Fate(Ending.LIMIT, BEGUN_MS + 5 * MINUTE)
    [ref] = hall.look()
    hall.gauge.reading = machine(4, 3.9)
    hall.fates = answered
    assert hall.look(9) == []
    waiting = hall.lines[-1].facts["waiting"]
    assert isinstance(waiting, dict)
    assert waiting[str(ref)] == "room"
    hall.gauge.reading = machine(4, 0.3)
    assert ref in hall.look(2)


def test_unknown_starts_nothing(hall: Hall) -> None:
    hall.gauge.reading = replace(machine(4, 0), memory=Unknown("memory.max cannot be read"))
    assert hall.look() == []
    assert hall.said("iter")[-1].endswith("no room: unknown — memory.max cannot be read")


# --- who was let in and has not come to write it down --------------------------------------------


class Members:
    """Stands for a supervisor: only names."""

    def __init__(self, *sessions: str) -> None:
        self.members = [SimpleNamespace(session=each) for each in sessions]


def test_whoever_was_just_let_in_counts_before_its_run_folder_is_there(house: House) -> None:
    time = HandTime()
    door = Door(house.admission, time, Members(name(1), name(2), name(3)))  # type: ignore[arg-type]
    for number in (1, 2, 3):
        assert door.full(ON, "") is None
        door.let_in(ON, name(number))
    full = door.full(ON, "")
    assert full is not None
    assert "3.22 GB for 3 just begun" in full.numbers
    house.session(1, alive=True)
    assert door.full(ON, "") == full, "it is counted once"


def test_whoever_died_at_once_is_not_counted(house: House) -> None:
    members = Members(name(1), name(2), name(3))
    door = Door(house.admission, HandTime(), members)  # type: ignore[arg-type]
    for number in (1, 2, 3):
        door.let_in(ON, name(number))
    assert door.full(ON, "") is not None
    members.members.clear()
    assert door.full(ON, "") is None


def test_one_that_is_taken_up_counts_as_young_at_once(house: House) -> None:
    house.session(1, alive=True, since_ms=BEGUN_MS - 90 * MINUTE)
    begun = {name(1): Live(BEGUN_MS, NEED)}
    assert house.admission.reserved(ON, BEGUN_MS, begun=begun).count == 1


REFUSED: Final = "work: REFUSED — no room: memory — 1.00 GB held > 0.90 GB"


def gone(words: str) -> Gone:
    member = Member(name(1), REF, "/f", (1, 2), None)  # type: ignore[arg-type]
    return Gone(member, Exit(code=5), words)


def test_a_session_that_found_no_room_itself_backs_nothing_off(house: House) -> None:
    """New, or to be taken up: what did not fit says nothing of the ticket."""
    for left in (False, True):
        if left:
            house.session(1, alive=False)
        told = closing_of(house.runs, gone(REFUSED))
        assert told.no_room == Full("memory", "1.00 GB held > 0.90 GB")
        backoff = BackOff()
        backoff.remember(gone(REFUSED).member, told, BEGUN_MS)
        assert (backoff.refusals, backoff.tries) == ({}, {})
    other = closing_of(house.runs, gone("work: REFUSED — p0#1 is not eligible: it is done"))
    assert other.no_room is None


class Refused(Sessions):
    """Each session's process finds at once that it does not fit."""

    def __init__(self, hall: Hall) -> None:
        super().__init__(hall)
        self.left: list[Gone] = []

    def begin(self, session: str, ref: Ref, folder: str, ports: Range) -> Member:
        member = Member(session, ref, folder, ports, None)  # type: ignore[arg-type]
        self.launched.append((self._hall.minute, ref))
        self.left.append(Gone(member, Exit(code=5), REFUSED))
        return member

    def gone(self) -> Iterator[Gone]:
        left, self.left = self.left, []
        return iter(left)


def test_the_loop_begins_nothing_more_until_its_next_look(hall: Hall) -> None:
    """Settings that were changed since it read them would have it begin sessions without end."""
    hall.gauge.reading, hall.parallel = PLENTY.reading, 1
    hall.sessions = Refused(hall)
    hall.loop = type(hall.loop)(hall._bench(), hall.settings, hall.sessions)
    for _ in range(5):
        hall.loop.iterate()
    assert len(hall.sessions.launched) == 1
    assert hall.said("iter")[-1].endswith("no room: memory — 1.00 GB held > 0.90 GB")
    hall.time.now_ms += MINUTE
    hall.loop.iterate()
    assert len(hall.sessions.launched) == 2
    assert hall.loop._backoff.refusals == {}


def test_the_door_stays_shut_for_an_interval_after_that(house: House) -> None:
    house.gauge.reading = PLENTY.reading
    time = HandTime()
    door = Door(house.admission, time, Members())  # type: ignore[arg-type]
    told = Full("memory", "1.00 GB held > 0.90 GB")
    door.shut(told, 60)
    assert door.full(ON, "") == told
    time.now_ms += 60_000
    assert door.full(ON, "") is None
