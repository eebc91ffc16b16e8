"""A session that cannot be taken up: it is tried again, each time after a longer pause.

Time is moved by hand; the process that is to take it up is a real one, and only ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
from hall import BEGUN_MS, MINUTE, Hall, limit

from colony.core.admission import Full
from colony.core.endings import Exit
from colony.flow.backoff import BackOff
from colony.flow.closing import closing_of
from colony.flow.run import Loop
from colony.flow.runs import facts_at
from colony.flow.supervise import Command, Gone, Member, Supervisor
from colony.host.control import Control
from colony.host.identity import has_ended
from colony.host.journal import RunFolder

SAYS: Final = "work: REFUSED — its disk is full"
RESET: Final = 60
"""Minutes until the limit that parked it is over."""
TRIED: Final = [60, 60, 61, 66, 81, 96, 111]
"""At once, after a minute, five, and then a quarter of an hour, again and again."""


class Home:
    """One ticket, whose session its account has parked. Nothing takes it up from then on."""

    def __init__(self, folder: Path) -> None:
        self.hall = Hall(folder, parallel=1, fates=lambda _: limit(RESET))
        [self.ref] = self.hall.look()
        [self.session] = [each.name for each in self.hall.runs.glob("s-*")]
        self.supervisor = Supervisor(Command((), {}, self.hall.runs))
        for project in self.hall.projects[1:]:
            Control(folder).pause(project)

    @property
    def folder(self) -> RunFolder:
        return RunFolder(self.hall.runs / self.session)

    def begins(self, script: str) -> None:
        """A loop whose sessions are a process that runs this script."""
        argv = ("/bin/sh", "-c", script, "colony")
        self.supervisor = Supervisor(Command(argv, {"PATH": "/usr/bin:/bin"}, self.hall.runs))
        self.hall.loop = Loop(self.hall._bench(), self.hall.settings, self.supervisor)

    def look(self) -> bool:
        """One iteration, until what it began is over; whether the session was tried in it."""
        before = len(self.hall.lines)
        self.hall.loop.iterate()
        assert all(has_ended(pidfd, 20) for pidfd in self.supervisor.pidfds)
        facts = [line.facts for line in self.hall.lines[before:] if line.kind == "iter"]
        return any(self.session in each["resumed"] for each in facts)  # type: ignore[operator]

    def tried(self, first: int, last: int) -> list[int]:
        """In which of these minutes it was tried; after a try the loop looks again at once."""
        found = []
        for minute in range(first, last + 1):
            self.hall.time.now_ms = BEGUN_MS + minute * MINUTE
            while self.look():
                found.append(minute)
                assert len(found) < 50, "it turns in a circle"
        return found

    def told(self) -> Gone:
        facts = facts_at(self.folder)
        member = Member(self.session, facts.ticket, "/f", (1, 2), None)  # type: ignore[arg-type]
        return Gone(member, Exit(code=5), SAYS)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    yield made
    assert all(has_ended(pidfd, 20) for pidfd in made.supervisor.pidfds)
    assert len(list(made.supervisor.gone())) <= 1
    made.hall.close()


@pytest.mark.parametrize("end", ["exit 5", "exit 0", "kill -9 $$"])
def test_one_that_its_account_parked(home: Home, end: str) -> None:
    """However its process ended: it stands where it stood."""
    home.begins(f"echo {SAYS!r}; {end}")
    assert home.tried(1, 111) == TRIED
    assert f"{home.ref} (try 7 failed)" in home.hall.said("iter")[-1]


def test_the_end_of_its_process_is_told_with_its_reason(home: Home) -> None:
    home.begins(f"echo {SAYS!r}; exit 5")
    home.tried(RESET, RESET)
    [first, _] = home.hall.said("session.end")
    told = f"its process ended with status 5: {SAYS}, still parked until "
    assert told in first


def test_one_that_lost_its_ticket_while_it_was_parked(home: Home) -> None:
    """Nothing holds it but its own tries: it only has to find out."""
    with closing(home.hall._opened("anna", machine=False)) as anna:
        anna.move(home.ref, "canceled", key="test:canceled")
    home.begins("exit 5")
    assert home.tried(1, 52) == [minute - 59 for minute in TRIED[:-1]] + [52]


def test_an_order_does_not_wait_for_the_tries_before_it(home: Home) -> None:
    """What a person wants is tried at once; where that failed as well, it waits as all else."""
    home.begins("exit 5")
    assert home.tried(RESET, 82) == TRIED[:5]
    Control(home.hall.folder).order(home.session, "stop")
    assert home.tried(83, 83) == [83]


def test_one_that_was_brought_on_begins_to_count_anew(home: Home) -> None:
    """Parked once more after a part: the pause holds, and no try has failed."""
    gone = home.told()
    stuck = replace(gone, member=replace(gone.member, stood="parked 1 1 0"))
    backoff = BackOff()
    backoff.remember(stuck.member, closing_of(home.hall.runs, stuck), BEGUN_MS)
    assert backoff.tries[home.session].count == 1
    backoff.remember(gone.member, closing_of(home.hall.runs, gone), BEGUN_MS)
    assert backoff.tries == {}


def test_a_parked_one_that_found_no_room_shuts_the_door(home: Home) -> None:
    """It did not fit: the loop begins nothing more, and that counts as no failed try."""
    gone = home.told()
    stuck = replace(gone, member=replace(gone.member, stood="parked 1 1 0"))
    full = replace(stuck, last_words="work: REFUSED — no room: memory — 1.00 GB held > 0.90 GB")
    told = closing_of(home.hall.runs, full)
    assert (told.stood, told.no_room) == ("", Full("memory", "1.00 GB held > 0.90 GB"))


def test_the_loop_wakes_for_the_next_try(home: Home) -> None:
    home.begins("exit 5")
    assert home.tried(RESET, RESET) == [RESET, RESET]
    home.hall.time.now_ms += MINUTE // 2
    assert not home.look()
    assert home.hall.loop._next_s == (BEGUN_MS + (RESET + 1) * MINUTE) / 1000
