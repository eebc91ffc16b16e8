"""News of a session for whoever looks at the tracker: its row, and the end of what it does.

News are no history: no event, and nobody's next step is decided by them. So a session without
leave to post tells them too: what it writes is its own row, never the ticket. What cannot be told
is not told again, is no error, and keeps nothing waiting: each try has a thread of its own, which
is left behind when it takes too long. A session is told of once it holds its ticket; before that
it may be refused, and then there was none.
"""

from __future__ import annotations

import functools
import json
import threading
from dataclasses import dataclass
from typing import Final

from colony.coding.protocol import CodingAgent
from colony.core.lines import Json
from colony.core.records import SessionRecord
from colony.core.session import Beside, Facts, PartFacts, ReportFacts, VerdictFacts, record_of
from colony.core.strict_json import Problems
from colony.errors import ColonyError
from colony.flow.bench import Bench
from colony.flow.evidence import REPORT, VERDICT, Spoiled, kept_json
from colony.flow.following import Follower, Tail
from colony.host.streams import STREAM
from colony.host.threads import Thread
from colony.tracker.records.limits import RECORD_MAX

TRY_S: Final = 5.0
"""How long a try is waited for."""
HASTE_S: Final = 0.3
"""The same, while this process is being stopped: a pause is to be over within seconds."""
EVERY_S: Final = 10.0
"""Between two tries while a part runs."""
STILL_S: Final = 60.0
"""Until a running part that does nothing new is told again: who is silent counts as gone."""


@dataclass(frozen=True, slots=True)
class Bulletin:
    """What is told at once."""

    record: SessionRecord
    tail: str


class News:
    """What one process tells of one session. Only `tell` may be called by another thread."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._tail = Tail()
        self._known: dict[str, Json] = {}
        """Reports and verdicts, by their sha256."""
        self._phase = ""
        self._next: Bulletin | None = None
        self._last: Bulletin | None = None
        self._lock = threading.Lock()
        """Held while a try is begun and what it tells is taken: both threads do that."""
        self._try: Thread | None = None
        self._tried_s = -EVERY_S
        self._patience_s = TRY_S

    def hurry(self) -> None:
        """This process is being stopped: from now on a try is hardly waited for."""
        self._patience_s = HASTE_S

    def changed(self, facts: Facts) -> None:
        """The facts were written down: a new phase is told, and waited for a little."""
        record = record_of(facts, Beside())
        if record.phase in ("new", self._phase):
            return
        self._phase = record.phase
        self._tell_now(self._bulletin(facts, ""))

    def rests(self, facts: Facts) -> None:
        """This process leaves the session as it is: told once, and waited for a little."""
        if facts.outcome is None and record_of(facts, Beside()).phase != "new":
            self._tell_now(self._bulletin(facts, "", rests=True))

    def _tell_now(self, bulletin: Bulletin) -> None:
        with self._lock:
            self._next = None
        # What was begun for a running part must not come after this.
        self._wait()
        with self._lock:
            begun = self._begin(bulletin)
        if begun:
            self._wait()

    def follow(self, agent: CodingAgent, part: PartFacts) -> Follower:
        """Whoever follows this part's stream for a person and for the tail alike."""
        self._tail.add(f"— {part.kind} begins —")
        stream = self._bench.place.folder.path / part.folder / STREAM
        return Follower(agent, stream, self._bench.secrets, self._tail)

    def looked(self, facts: Facts, follower: Follower) -> None:
        """A running part was looked at: this is what the next try tells."""
        if self._since_s() >= EVERY_S:
            self._next = self._bulletin(facts, follower.last_call)

    def tell(self) -> None:
        """Begin a try where it is time for one and something is new; never waits, never fails."""
        with self._lock:
            bulletin = self._next
            every_s = EVERY_S if bulletin != self._last else STILL_S
            if bulletin is not None and self._since_s() >= every_s:
                self._next = None
                self._begin(bulletin)

    def _since_s(self) -> float:
        return self._bench.place.clock.boot_s() - self._tried_s

    def _begin(self, bulletin: Bulletin) -> bool:
        """False: the last try has not come back yet, or this machine has no thread to give."""
        if self._try is not None and self._try.is_alive():
            return False
        self._tried_s = self._bench.place.clock.boot_s()
        threads = self._bench.place.threads
        try:
            self._try = threads.begin(functools.partial(self._put, bulletin), "news")
        except RuntimeError:
            return False
        return True

    def _wait(self) -> None:
        """For the try that is under way, as long as its time is not up."""
        if self._try is not None:
            self._try.join(max(0.0, min(self._patience_s, TRY_S - self._since_s())))

    def _put(self, bulletin: Bulletin) -> None:
        tracker, last = self._bench.tracker, self._last
        session, tail = bulletin.record.id, bulletin.tail
        try:
            # The tail first, once there is a row: who reads that it ended reads all of it.
            if last is not None and tail != last.tail:
                tracker.put_tail(session, tail)
            tracker.put_session(bulletin.record)
            if last is None:
                tracker.put_tail(session, tail)
            self._last = bulletin
        except Exception:  # noqa: BLE001, S110 - the session goes on, whatever becomes of its news
            pass

    # --- what is told ------------------------------------------------------------------------

    def _bulletin(self, facts: Facts, last_tool: str, *, rests: bool = False) -> Bulletin:
        beside = Beside(
            account=self._account(facts),
            report=self._valid(REPORT, facts.report),
            verdict=self._valid(VERDICT, facts.verdict),
            last_tool=last_tool,
            rests=rests,
        )
        return Bulletin(record_of(facts, beside), self._tail.text)

    def _account(self, facts: Facts) -> str:
        kind = facts.parts[-1].kind if facts.parts else "work"
        try:
            agent = self._bench.agent_for(facts.setup.runner(kind))
        except ColonyError:
            return ""
        login = agent.login(self._bench.place.environ)
        return f"{agent.name}, {login}" if login else agent.name

    def _valid(self, name: str, found: ReportFacts | VerdictFacts | None) -> Json:
        """The file as JSON, where it is valid and no larger than a row may hold."""
        if found is None or not found.valid:
            return None
        if found.sha256 not in self._known:
            self._known[found.sha256] = self._read(name, found.sha256)
        return self._known[found.sha256]

    def _read(self, name: str, sha256: str) -> Json:
        try:
            data = kept_json(self._bench.place.folder, name, sha256)
        except (Spoiled, ColonyError):
            return None
        if isinstance(data, Problems) or len(json.dumps(data)) > RECORD_MAX:
            return None
        return data
