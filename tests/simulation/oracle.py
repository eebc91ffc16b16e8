"""The oracle: it sees what really lives and what is really written, and knows what must hold.

It reads no table of the product: which agents run it is told by their boxes, what is written it
reads from the feed of the tracker, line by line, with rules of its own.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from colony.core.lines import Line
from colony.core.ticket import Event, Ref
from colony.tracker.protocol import Written
from tests.simulation.account import Agents
from tests.simulation.kernel import Violation, World
from tests.simulation.machines import Box, Clock

CANARY: Final = "canary-7f3a"
"""What no part, ticket or log may ever hold."""
STARTED: Final = re.compile(
    r"^colony-lease: (\S+) · host \S+ · (?:started|salvage)\b.*? ms (\d+)$", re.M
)
ENDING: Final = re.compile(r"^colony-(report|verdict|run): (\S+)( .*)?$", re.M)
EXPIRED: Final = re.compile(r"^colony-lease-expired: (\S+)", re.M)
LEASE: Final = re.compile(r"^colony-(?:lease|parked): (\S+) .*? ms (\d+)$", re.M)
WAKING_S: Final = 60.0
"""So long after its machine woke may an agent still run whose lease is gone."""
LIMIT_LEAST_S: Final = 600.0
"""A limit that told no reset is waited out at least so long."""
TRY_EVERY_S: Final = 7000.0
"""During a long limit one session tries as often."""
TRIES_AN_HOUR: Final = 20
SIDE_BY_SIDE_S: Final = 60.0
"""Who began within so long could not know yet."""
FROM_OPEN: Final = frozenset({"open", "reopened"})


@dataclass
class Seen:
    """A ticket, as the events so far tell."""

    state: str = ""
    holder: str = ""
    """The session that took it last, while nobody moved it since."""
    until_ms: int = 0
    by_person: int = 0
    """Id of the last move that a person made."""
    lost: dict[str, float] = field(default_factory=dict)
    """Session that a person took it from -> until when it may not have noticed."""
    taken: int = 0
    """Id of the event with which the holder took it."""
    opened_s: float = 0.0
    endings: Counter[str] = field(default_factory=Counter)


class Oracle:
    def __init__(self, world: World, colony: Any, agents: Agents) -> None:
        self.world, self.colony, self.agents = world, colony, agents
        self.tickets: dict[Ref, Seen] = defaultdict(Seen)
        self.live: dict[Box, str] = {}
        self.worked_s: Counter[str] = Counter()
        """Session -> seconds of its agents."""
        self._began: dict[Box, float] = {}
        self._last = 0
        self.met: dict[Path, tuple[float, int, int | None]] = {}
        """Home -> when one of its agents last was turned away by a limit, the same by its own
        clock, and the reset that it told; nothing once one that began later was answered."""
        self.tries: dict[str, deque[float]] = defaultdict(deque)
        """Session -> when a loop took it up within the last hour."""
        self.passed_over: dict[tuple[Path, Ref], int] = {}

    # --- what lives --------------------------------------------------------------------------

    def part_begins(self, box: Box) -> None:
        """I1, I7, I8: at the moment at which an agent begins to run."""
        home, ticket = box.owner.home, self.agents.tickets[box.session]
        self._began[box] = self.world.now_s
        for other, theirs in self.live.items():
            if theirs == ticket:
                self._both(box, other, ticket)
            if other.owner.home is home and _overlap(box, other):
                self._broken("I7", f"{box.session} and {other.session} have the same ports")
        self.live[box] = ticket
        here = sum(each.owner.home is home for each in self.live)
        if here > home.options.parallel:
            self._broken("I7", f"{here} agents at once, at most {home.options.parallel}")
        from tests.simulation.programs import CANARY

        if CANARY in json.dumps([box.command.argv, dict(box.command.env)]):
            self._broken("I8", f"{box.session} was given what is the operator's")

    def _both(self, box: Box, other: Box, ticket: str) -> None:
        """A session that a person took the ticket from ends when it notices, at the latest when its
        lease would have; until then somebody else may have begun."""
        asleep = [each for each in (box, other) if each.owner.host.frozen_s > self.world.now_s]
        for each in asleep:
            # It cannot act. When its machine wakes it must find out before anything else.
            self.world.count("begun while the other was asleep")
            self.world.at(each.owner.host.frozen_s + WAKING_S, lambda each=each: self._awake(each))
        if asleep:
            return
        lost = self.tickets[_ref(ticket)].lost
        if any(each.checks and each.session in lost for each in (box, other)):
            # What was reported before a person moved the ticket is checked to the end.
            self.world.count("begun while the other is checked")
            return
        if all(self.world.now_s > lost.get(each.session, 0) for each in (box, other)):
            self._broken("I1", f"{box.session} and {other.session} both work on {ticket}")
        self.world.count("begun before the other noticed")

    def _awake(self, box: Box) -> None:
        if box in self.live and self.world.now_s > box.owner.host.frozen_s + WAKING_S / 2:
            self._broken("I1", f"{box.session} woke and works on without a lease")

    def turned_away(self, box: Box, resets_ms: int | None) -> None:
        """A limit holds the account, not the ticket: who met it begins nothing before its reset, as
        the home's own clock has it, but for one try each two hours."""
        home, now_ms = box.owner.home, Clock(box.owner.host).wall_ms()
        _, met_ms, reset_ms = self.met.get(home.folder, (0.0, 0, None))
        since_s = (box.owner.begun_ms - met_ms) / 1000
        least_s = LIMIT_LEAST_S if reset_ms is None else TRY_EVERY_S
        before_reset = reset_ms is None or now_ms < reset_ms
        if SIDE_BY_SIDE_S < since_s < least_s and before_reset:
            where = home.folder.name
            self._broken("I10", f"{box.session} was begun against a limit that {where} had met")
        self.met[home.folder] = (self.world.now_s, now_ms, resets_ms)

    def answered(self, box: Box) -> None:
        """What its home had met before this agent began is over, whatever its clock says since."""
        met_s, _, _ = self.met.get(box.owner.home.folder, (math.inf, 0, None))
        if self._began[box] > met_s:
            del self.met[box.owner.home.folder]

    def part_over(self, box: Box) -> None:
        if self.live.pop(box, None) is not None:
            self.worked_s[box.session] += round(self.world.now_s - self._began.pop(box))

    # --- what is written ---------------------------------------------------------------------

    def written(self) -> None:
        """Read what is new in the feed."""
        changes = self.colony.changes(self._last, 1000)
        for each in changes.events:
            self._last = each.event.id
            if each.ref is not None:
                self._event(each.ref, each.event)

    def repeated(self, answer: Any, again: Any, before: int, after: int) -> None:
        """I4: a request that comes twice is one request."""
        if isinstance(answer, Written) and (again != answer or before != after):
            self._broken("I4", f"a repeated request answered {again}, before {answer}")

    def _event(self, ref: Ref, event: Event) -> None:
        seen = self.tickets[ref]
        if event.kind == "created":
            seen.state, seen.opened_s = event.after, self.world.now_s
            return
        if event.machine:
            self._by_machine(ref, seen, event)
        if event.kind == "state":
            if event.before != seen.state:
                self._broken("I3", f"{ref}: moved from {event.before}, it was {seen.state}")
            seen.state = event.after
            if not event.machine:
                if seen.holder:
                    left_ms = seen.until_ms - event.at_ms
                    seen.lost[seen.holder] = self.world.now_s + left_ms / 1000
                seen.by_person, seen.holder = event.id, ""
            elif event.after != "progress":
                seen.holder = ""

    def _by_machine(self, ref: Ref, seen: Seen, event: Event) -> None:
        started = STARTED.search(event.text)
        if event.kind == "state" and started:
            self._taken(ref, seen, event, started[1], int(started[2]))
        elif event.kind == "state":
            self._moved(ref, seen, event)
        else:
            lease = LEASE.search(event.text)
            if lease and lease[1] == seen.holder:
                seen.until_ms = int(lease[2])
        ending = ENDING.search(event.text)
        if ending:
            word, session = ending[1], ending[2]
            seen.endings[session] += 1
            self.world.count(f"posted: {word}{_how(ending[3] or '')}")
            if seen.endings[session] > 1:
                self._broken("I2", f"{ref}: session {session} ended {seen.endings[session]} times")
        if _canary(event.text):
            self._broken("I8", f"{ref}: event {event.id} tells a secret")

    def _taken(self, ref: Ref, seen: Seen, event: Event, session: str, until_ms: int) -> None:
        if event.before == "progress" and seen.holder and seen.holder != session:
            self._broken("I1", f"{ref}: {session} took it from {seen.holder}")
        if event.before not in FROM_OPEN and seen.holder != session:
            self._broken("I3", f"{ref}: taken while it was {event.before}")
        seen.holder, seen.until_ms, seen.taken = session, until_ms, event.id

    def _moved(self, ref: Ref, seen: Seen, event: Event) -> None:
        """I3: the machine moves only what its own session holds since the last move of a person."""
        if event.before != "progress":
            if not (event.after == "pending" and event.before in FROM_OPEN):
                self._broken("I3", f"{ref}: the machine moved it from {event.before}")
            return
        if not seen.holder or seen.taken < seen.by_person:
            self._broken("I3", f"{ref}: moved to {event.after} by nobody who holds it")
        expired = EXPIRED.search(event.text)
        if expired:
            self.world.count("lease expired")
            if event.at_ms <= seen.until_ms:
                self._broken("I1", f"{ref}: the lease of {expired[1]} was expired while it lived")

    # --- what the loop says ------------------------------------------------------------------

    def said(self, home: Any, line: Line) -> None:
        self.written()
        if line.kind == "iter":
            self._iteration(home, line)

    def _iteration(self, home: Any, line: Line) -> None:
        """I6: whatever is eligible is started, or waits for a reason that is told and true."""
        facts = line.facts
        for session in facts.get("resumed", ()):  # type: ignore[union-attr]
            self._taken_up(session)
        if "waiting" not in facts or "the tracker does not answer" in line.text:
            return
        waiting = facts["waiting"]
        known = {str(ref) for ref in self._eligible(home)}
        begun = {self.agents.tickets.get(each) for each in (*facts["started"], *facts["resumed"])}
        for ticket in known:
            key = (home.folder, ticket)
            silent = ticket not in waiting and ticket not in begun
            idle = waiting.get(ticket) == "slots" and facts["running"] < facts["parallel"]
            busy = home.loop.stops.count > 0
            self.passed_over[key] = (
                self.passed_over.get(key, 0) + 1 if (silent or idle) and not busy else 0
            )
            if self.passed_over[key] > 2:
                self._broken("I6", f"{ticket} is passed over in {home.folder.name}: {line.text}")
        for key in [
            each for each in self.passed_over if each[0] == home.folder and each[1] not in known
        ]:
            del self.passed_over[key]

    def _taken_up(self, session: str) -> None:
        """I11: what cannot be taken up is not tried without end."""
        tries, now_s = self.tries[session], self.world.now_s
        tries.append(now_s)
        while tries[0] < now_s - 3600:
            tries.popleft()
        if len(tries) > TRIES_AN_HOUR:
            self._broken("I11", f"{session} was taken up {len(tries)} times within an hour")

    def _eligible(self, home: Any) -> list[Ref]:
        """Open tickets that hang on nothing, and were so for two intervals already."""
        found = []
        settled_s = self.world.now_s - 3 * home.options.interval_s - 600
        for ref, seen in self.tickets.items():
            if (
                seen.state == "open"
                and not seen.endings
                and seen.opened_s < settled_s
                and not seen.taken
            ):
                found.append(ref)
        return found

    # --- at the end --------------------------------------------------------------------------

    def at_rest(self, homes: list[Any]) -> None:
        """I2, I5, I9, L1 to L3, when everything was healed and had its time."""
        if self.live:
            self._broken("L3", f"agents still run: {[each.session for each in self.live]}")
        rows = self.colony.tickets(None, None, None)
        for row in rows:
            if row.state not in ("done", "canceled"):
                self._broken("L1", f"{row.ref} is still {row.state}")
        posted = Counter()
        for seen in self.tickets.values():
            posted.update(seen.endings)
        for home in homes:
            for record in sorted(home.runs.glob("s-*/session.json")):
                self._session(json.loads(record.read_text("utf-8")), posted)

    def _session(self, facts: dict[str, Any], posted: Counter[str]) -> None:
        session = facts["session"]
        if facts.get("outcome") is None:
            self._broken("I5", f"session {session} never ended")
        self.world.count(f"outcome: {facts['outcome']}")
        if self.agents.valid.get(session) and facts["outcome"] in ("no valid report", "given back"):
            self._broken("I2", f"session {session} had a report, and ended: {facts['outcome']}")
        report = facts.get("report") or {}
        if report.get("valid") and posted[session] != 1 and facts["outcome"] != "given back":
            self._broken(
                "I2",
                f"session {session} ({facts['outcome']}): its report was posted"
                f" {posted[session]} times",
            )
        self._money(session, facts)

    def _money(self, session: str, facts: dict[str, Any]) -> None:
        """I9: what a conversation cost is the total that its last result told."""
        told: dict[str, int] = {}
        for call in self.agents.account.calls:
            if call.session == session and call.told is not None:
                told[call.conversation] = max(call.told, told.get(call.conversation, 0))
        counted: Counter[str] = Counter()
        for part in facts.get("parts", ()):
            counted[part["agentSession"]] += round(part.get("costUsd", 0) * 1_000_000)
        for conversation in {*told, *counted}:
            if abs(told.get(conversation, 0) - counted[conversation]) > 1:
                self._broken(
                    "I9",
                    f"session {session}: {counted[conversation]} counted,"
                    f" {told.get(conversation)} told (millionths of a dollar)",
                )

    def wasted(self, homes: list[Any]) -> tuple[float, float]:
        """Seconds of agents whose result came late, and of all."""
        late = 0
        for home in homes:
            for record in home.runs.glob("s-*/session.json"):
                facts = json.loads(record.read_text("utf-8"))
                if facts.get("outcome") == "late":
                    late += self.worked_s[facts["session"]]
        return late, sum(self.worked_s.values())

    def _broken(self, name: str, what: str) -> None:
        raise Violation(f"{name}: {what} (seed {self.world.seed}, {self.world.now_s:.0f} s)")


def _ref(ticket: str) -> Ref:
    found = Ref.parse(ticket)
    assert found is not None
    return found


def _how(rest: str) -> str:
    for word in ("late", "half done", "given back", "no report", "none", "fail"):
        if word in rest:
            return f" {word}"
    return ""


def _canary(text: str) -> bool:
    return CANARY in text


def _overlap(one: Box, other: Box) -> bool:
    def span(box: Box) -> tuple[int, int]:
        return int(box.command.env["COLONY_PORT_FROM"]), int(box.command.env["COLONY_PORT_TO"])

    (a, b), (c, d) = span(one), span(other)
    return not (b < c or d < a)
