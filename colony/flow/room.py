"""Whether one more session fits here: the machine is read, live sessions are counted, core judges.

Nothing is kept from one call to the next but what was said of the reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from colony.core.admission import (
    Full,
    Live,
    Reading,
    Reserved,
    judge,
    life_of,
    reads,
    reserved,
)
from colony.core.guard import Guard
from colony.core.lines import Line
from colony.core.session import Facts
from colony.errors import Busy
from colony.flow.bench import Emit
from colony.flow.runs import facts_of, not_ended
from colony.flow.supervise import Supervisor
from colony.host.clock import Clock
from colony.host.gauge import Gauge
from colony.host.lock import is_locked

OFF_SAID: Final = "COLONY_GUARD=off: sessions are started without asking whether they fit here"


class NoRoom(Busy):
    """One more session does not fit on this machine now."""

    code = "no_room"


Reap = Callable[[str, Callable[[], bool]], object]


@dataclass(slots=True)
class Said:
    """What this process last said of its readings."""

    text: str = ""


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A session that asks."""

    folder: str
    """Its dev folder; empty: it is not known."""
    memory: int
    """Bytes that it is expected to hold."""
    session: str = ""
    """Its name, where it has a run folder: it is not counted against itself."""


@dataclass(frozen=True, slots=True)
class Admission:
    gauge: Gauge
    runs: Path
    tmp: Path
    """Where programs of this machine put what is temporary."""
    emit: Emit
    said: Said = field(default_factory=Said)
    reap: Reap | None = None
    """Makes room on the disk, and is asked for that once before a refusal; told where the session
    would work, and how to ask whether it is enough."""

    def room_for(
        self,
        guard: Guard,
        one: Newcomer,
        now_ms: int,
        *,
        begun: Mapping[str, Live] | None = None,
    ) -> Full | None:
        """None: it fits. Who begins at once holds the home's lock from here until its run folder
        stands, so that each counts those before it.

        `begun`: sessions whose process is known and whose run folder may not tell of it yet.
        """
        if not guard.on:
            return None
        before = self.reserved(guard, now_ms, one.session, begun or {})
        full = self._judged(guard, one, before)
        if full is not None and full.cause == "disk" and self.reap is not None:
            self.reap(Path(one.folder).name, lambda: self._judged(guard, one, before) is None)
            full = self._judged(guard, one, before)
        return full

    def reserved(
        self, guard: Guard, now_ms: int, but: str = "", begun: Mapping[str, Live] | None = None
    ) -> Reserved:
        """What young sessions of this home are still to take."""
        live = dict(self._live(guard, now_ms))
        for session, life in (begun or {}).items():
            known = live.get(session, life)
            live[session] = max(life, known, key=lambda each: each.since_ms)
        live.pop(but, None)
        return reserved(live.values(), now_ms, guard.warmup_ms)

    def read(self, folder: str) -> Reading | None:
        """The machine as it is now."""
        folders = {"work folder": Path(folder)} if folder else {}
        return self.gauge.read(folders | {"run folder": self.runs, "temporary folder": self.tmp})

    def _judged(self, guard: Guard, one: Newcomer, before: Reserved) -> Full | None:
        reading = self.read(one.folder)
        text = reads(reading, guard)
        if text != self.said.text:
            self.said.text = text
            self.emit(Line("guard", text))
        return judge(reading, guard, before, one.memory)

    def _live(self, guard: Guard, now_ms: int) -> Iterator[tuple[str, Live]]:
        """Whoever holds its run folder's lock. What such a folder does not tell yet, or not any
        more, is taken for a session that just began."""
        for folder in not_ended(self.runs):
            if not is_locked(folder.lock):
                continue
            facts = facts_of(folder)
            if not isinstance(facts, Facts):
                yield folder.session, Live(now_ms, guard.session_memory)
            elif facts.outcome is None:
                yield folder.session, life_of(facts)


class Door:
    """The loop's way in: whom it let in counts from then on, whether its process has come to write
    that down or not."""

    def __init__(self, admission: Admission, clock: Clock, supervisor: Supervisor) -> None:
        self._admission, self._clock, self._supervisor = admission, clock, supervisor
        self._begun: dict[str, Live] = {}
        self._shut: tuple[Full, float] | None = None

    def full(self, guard: Guard, folder: str, session: str = "") -> Full | None:
        """None: one more fits. `session`: of one that is to be taken up."""
        if self._shut is not None and self._clock.boot_s() < self._shut[1]:
            return self._shut[0]
        members = {each.session for each in self._supervisor.members}
        self._begun = {name: life for name, life in self._begun.items() if name in members}
        one = Newcomer(folder, guard.session_memory, session)
        now_ms = self._clock.wall_ms()
        return self._admission.room_for(guard, one, now_ms, begun=self._begun)

    def shut(self, full: Full, seconds: float) -> None:
        """A session that was let in found no room itself: settings were changed since this process
        read them, or it came too late. Without a pause it would be begun again without end."""
        self._shut = full, self._clock.boot_s() + seconds

    def let_in(self, guard: Guard, session: str) -> None:
        self._begun[session] = Live(self._clock.wall_ms(), guard.session_memory)
