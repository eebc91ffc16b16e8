"""What an iteration of the loop does: a pure plan over what is known, most urgent first.

It reads no clock and does nothing itself: `flow/run` carries the actions out, and the simulation
drives it as it stands. What is in memory decides; whoever acts reads the ticket again before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from colony.core.allowance import NO_SEAT, Quota, Seat
from colony.core.eligible import Code
from colony.core.lines import clip
from colony.core.markers import utc
from colony.core.opening import closed
from colony.core.pick import Next, Unready, pick
from colony.core.ports import Range, free_ranges
from colony.core.survey import Survey
from colony.core.ticket import LeaseView, Ref, Ticket
from colony.core.trees import place_of

WHY_MAX: Final = 80
"""Characters of why a start was refused: when it is tried again must fit behind it in a line."""

HELD_BACK: Final[frozenset[Code]] = frozenset({"budget", "starts", "reviews", "asked"})
"""Rules of a ticket that the loop says as its own: what else keeps one is shown by its state."""

KeptState = Literal["running", "parked", "left", "resting"]


@dataclass(frozen=True, slots=True)
class Kept:
    """A session of this host that has not ended.

    *running*: somebody holds its lock. *parked*: it may go on at `due_ms`. *left*: nobody works on
    it, and it is in the middle. *resting*: its result is kept for a person, nothing is to be done.
    """

    session: str
    ref: Ref
    folder: str
    """Its dev folder, all links resolved."""
    ports: Range
    state: KeptState
    due_ms: int = 0
    """When it may be taken up: the end of its pause."""
    why: str = ""
    """Why it waits, for a person."""
    posts: bool = False
    """Only its outbox is left: it needs no agent, and so no slot, folder or ports."""
    checks: bool = False
    """Its report waits for a verdict: it needs an agent even when its ticket was moved."""
    seat: Seat = NO_SEAT
    """What its next part runs on; empty: what new sessions of its project do."""
    awaits: bool = False
    """Its account parked it: it goes on when that allows it, whatever its own time says."""
    wanted: bool = False
    """A person wants it to go on, and knows what holds its account: it is tried all the same."""
    answered: bool = False
    """Of one that runs: its account is known to have answered it."""
    asked_ms: int | None = None
    """Of one that runs and was not answered: since when it asks; None: it is only beginning."""
    again_ms: int = 0
    """After a try that failed it is not tried before, whatever its ticket or its account shows."""
    stood: str = ""
    """Where it stands on disk, for telling whether a try brings it on."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A start that was refused a moment ago."""

    until_ms: int
    why: str


@dataclass(frozen=True, slots=True)
class Room:
    """What this host and its operator allow now."""

    blocked: tuple[Range, ...] = ()
    """Ranges in which something else listens."""
    paused: frozenset[str] = frozenset()
    """Projects; the empty name stands for all of them."""
    stopping: bool = False
    closed_until_ms: int | None = None
    """It is outside of the hours in which sessions are started until then; None: it is not."""
    refused: Mapping[Ref, Refusal] = field(default_factory=dict)
    folders: Mapping[str, str] = field(default_factory=dict)
    """Project -> its dev folder here, all links resolved."""
    trees: Mapping[str, str] = field(default_factory=dict)
    """Project whose tickets have trees of their own -> the folder of those."""
    expiries: int | None = None
    """How many leases may be expired now (`core.brake`); None: all that are dead."""
    unreadable: frozenset[str] = frozenset()
    """Sessions whose run folder is here and says nothing of use: they are not known to be dead."""

    def folder_of(self, ref: Ref) -> str:
        """Where a session on this ticket would work."""
        return place_of(ref, self.folders, self.trees) or f"project {ref.project}"

    def pauses(self, ref: Ref) -> bool:
        return "" in self.paused or ref.project in self.paused


@dataclass(frozen=True, slots=True)
class PlanSettings:
    parallel: int
    pool: Range
    ports_per_session: int


@dataclass(frozen=True, slots=True)
class Expire:
    """Give a ticket back whose session is silent: only while that very lease is dead."""

    ref: Ref
    lease: LeaseView


@dataclass(frozen=True, slots=True)
class Resume:
    session: str
    ref: Ref
    ports: Range | None
    """None: it runs no agent."""


@dataclass(frozen=True, slots=True)
class Start:
    ref: Ref
    ports: Range


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the creator for what a project lacks; each fact is asked for once."""

    unready: Unready


@dataclass(frozen=True, slots=True)
class Probe:
    """Read the quota: something could begin but for that. Never two at a time."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Something that could go on and does not; `reason` is one line."""

    ref: Ref
    code: str
    reason: str
    session: str = ""


Action = Expire | Resume | Start | Ask | Probe | Wait


def plan(
    survey: Survey,
    sessions: tuple[Kept, ...],
    quota: Quota,
    room: Room,
    settings: PlanSettings,
    now_ms: int,
) -> tuple[Action, ...]:
    """Leases and recovery, then questions, then resumes, then starts; `now_ms` is this host's wall
    clock, `survey.now_ms` the tracker's. The same facts give the same actions."""
    if room.stopping:
        return ()
    found = pick(survey)
    hands = _Hands(sessions, quota, room, settings, now_ms)
    begun = (*hands.resumes(survey), *hands.starts(found), *_held_back(found))
    return (
        *_expired(survey, sessions, room),
        *(Ask(one) for one in found.unready),
        *((Probe(),) if hands.reads else ()),
        *begun,
    )


def _held_back(found: Next) -> Iterator[Wait]:
    """Work that a cap or a question keeps, and that nobody else is on: somebody waits for it."""
    for one in found.waiting:
        if one.waits.code in HELD_BACK:
            yield Wait(one.ticket.ref, one.waits.code, one.waits.reason)


def _expired(survey: Survey, sessions: tuple[Kept, ...], room: Room) -> Iterator[Expire]:
    dead = [
        Expire(row.ref, row.lease)
        for row in at_stake(survey, sessions, room.unreadable)
        if row.lease is not None and is_silent(row, survey.now_ms)
    ]
    dead.sort(key=lambda one: (one.lease.until_ms or 0, one.ref.project, one.ref.number))
    yield from dead if room.expiries is None else dead[: room.expiries]


def at_stake(
    survey: Survey, sessions: tuple[Kept, ...], unreadable: frozenset[str]
) -> tuple[Ticket, ...]:
    """Tickets whose lease may die, and then be expired from here: a session that is kept on this
    host is taken up instead, and one whose folder cannot be read is left to a person."""
    ours = {one.session for one in sessions} | unreadable
    return tuple(
        row
        for row in survey.tickets
        if row.state == "progress"
        and row.lease is not None
        and row.lease.kind != "ready"
        and row.lease.until_ms is not None
        and row.lease.session not in ours
    )


def is_silent(row: Ticket, now_ms: int) -> bool:
    """Its lease is past its time, by the tracker's clock; one that is built never is."""
    lease = row.lease
    if row.state != "progress" or lease is None or lease.kind == "ready":
        return False
    return lease.until_ms is not None and now_ms > lease.until_ms


def tries_first(quota: Quota, seat: Seat, sessions: Iterable[Kept]) -> tuple[str, str] | None:
    """Who tries the account for all, after the time of a hold: a session that runs, that began to
    ask after the last try had failed, and that has not been answered."""
    asking = [one for one in sessions if one.state == "running" and not (one.posts or one.answered)]
    for hold in quota.untried(seat):
        for one in asking:
            late = one.asked_ms is None or one.asked_ms >= hold.failed_ms
            other = _seat_of(one, quota)
            if late and quota.is_on(hold, other):
                return "tries", f"{one.session or one.ref} tries first: {hold.why} before"
    return None


def _seat_of(one: Kept, quota: Quota) -> Seat:
    return one.seat if one.seat != NO_SEAT else quota.seat_of(one.ref.project)


class _Hands:
    """What is free, handed out one by one."""

    def __init__(
        self,
        sessions: tuple[Kept, ...],
        quota: Quota,
        room: Room,
        settings: PlanSettings,
        now_ms: int,
    ) -> None:
        self._quota, self._room, self._settings, self._now_ms = quota, room, settings, now_ms
        running = [one for one in sessions if one.state == "running"]
        self._running = {one.folder: one for one in running if not one.posts}
        self._sessions = sessions
        self._worked = {one.ref: one for one in running if not one.posts}
        self._taken = [one.ports for one in running]
        self._slots = settings.parallel - len(running)
        self._asking = list(running)
        """Who may try the account for all."""
        self.reads = False
        """Something could begin, once the quota is read."""

    def resumes(self, survey: Survey) -> Iterator[Resume | Wait]:
        """What was begun goes on before anything new, oldest first."""
        for one in self._sessions:
            if one.state in ("running", "resting"):
                continue
            lost = one.state == "parked" and _has_lost(survey.ticket(one.ref), one)
            why = self._against(one, lost=lost)
            if why is not None:
                yield Wait(one.ref, *why, one.session)
            elif one.posts or lost:
                yield Resume(one.session, one.ref, None)
            else:
                yield self._resumed(one)

    def _against(self, one: Kept, *, lost: bool) -> tuple[str, str] | None:
        """Why a session does not go on now. One that has lost its ticket only has to find out."""
        seat = self._seat(one)
        if self._now_ms < one.again_ms:
            return "backoff", one.why or f"until {utc(one.again_ms)}"
        by_account = one.awaits and self._quota.needed_by(seat)
        if self._now_ms < one.due_ms and not lost and not by_account:
            code = "parked" if one.state == "parked" else "backoff"
            return code, one.why or f"until {utc(one.due_ms)}"
        if one.posts or lost:
            return None
        held = self._paused(one.ref) if one.wanted else self._held(one.ref, seat)
        if held is not None and by_account and held[0] == "held":
            return "parked", held[1]
        return held or self._ticket(one.ref) or self._folder(one.folder) or self._slot()

    def _resumed(self, one: Kept) -> Resume | Wait:
        ports, seat = self._range(), self._seat(one)
        if ports is None:
            return Wait(one.ref, "ports", "no free range of ports", one.session)
        why = None if one.wanted else self._first(seat)
        if why is not None:
            return Wait(one.ref, *why, one.session)
        begins = replace(one, state="running", seat=seat, answered=False, asked_ms=None)
        self._take(one.folder, ports, begins)
        return Resume(one.session, one.ref, ports)

    def starts(self, found: Next) -> Iterator[Start | Wait]:
        """By priority, then age. What cannot start is passed over with its reason."""
        kept = {one.ref: one for one in self._sessions if one.state != "resting"}
        for eligible in found.eligible:
            ref = eligible.ticket.ref
            if ref in kept and kept[ref].state != "running":
                # What becomes of its session has been said.
                continue
            folder = self._room.folder_of(ref)
            why = self._not_now(ref, kept.get(ref), folder)
            if why is not None:
                yield Wait(ref, *why)
                continue
            ports = self._range()
            if ports is None:
                yield Wait(ref, "ports", "no free range of ports")
                continue
            seat = self._quota.seat_of(ref.project)
            why = self._first(seat)
            if why is not None:
                yield Wait(ref, *why)
                continue
            self._take(folder, ports, Kept("", ref, folder, ports, "running", seat=seat))
            yield Start(ref, ports)

    def _not_now(self, ref: Ref, kept: Kept | None, folder: str) -> tuple[str, str] | None:
        if kept is not None:
            return "kept", f"session {kept.session} of this host is on it"
        closed_until_ms = self._room.closed_until_ms
        if closed_until_ms is not None:
            return "hours", closed(closed_until_ms)
        refused = self._room.refused.get(ref)
        if refused is not None and self._now_ms < refused.until_ms:
            return "refused", f"{clip(refused.why, WHY_MAX)}; again after {utc(refused.until_ms)}"
        held = self._held(ref, self._quota.seat_of(ref.project))
        held = held or self._quota.rests(ref, self._now_ms)
        return held or self._kept_folder(folder) or self._folder(folder) or self._slot()

    def _held(self, ref: Ref, seat: Seat) -> tuple[str, str] | None:
        return self._paused(ref) or self._quota.against(seat, self._now_ms)

    def _paused(self, ref: Ref) -> tuple[str, str] | None:
        if self._room.pauses(ref):
            return "paused", "paused by hand" + ("" if "" in self._room.paused else " here")
        return None

    def _first(self, seat: Seat) -> tuple[str, str] | None:
        """What comes before an agent that has all else: the quota is read, and after the time of a
        hold one session tries the account for all."""
        if self._quota.stale and self._quota.needed_by(seat):
            self.reads = True
            return "quota", "the quota is read first"
        return tries_first(self._quota, seat, self._asking)

    def _seat(self, one: Kept) -> Seat:
        return _seat_of(one, self._quota)

    def _kept_folder(self, folder: str) -> tuple[str, str] | None:
        for one in self._sessions:
            if one.folder == folder and one.state in ("parked", "left") and not one.posts:
                return "folder", f"session {one.session} is {one.state} in its folder"
        return None

    def _folder(self, folder: str) -> tuple[str, str] | None:
        at = self._running.get(folder)
        return None if at is None else ("folder", f"{at.ref} is worked on in its folder")

    def _ticket(self, ref: Ref) -> tuple[str, str] | None:
        at = self._worked.get(ref)
        return None if at is None else ("busy", f"session {at.session} works on it")

    def _slot(self) -> tuple[str, str] | None:
        return None if self._slots > 0 else ("slots", f"{self._settings.parallel} at once")

    def _range(self) -> Range | None:
        pool, size = self._settings.pool, self._settings.ports_per_session
        taken = (*self._taken, *self._room.blocked)
        return next(free_ranges(pool, size, taken), None)

    def _take(self, folder: str, ports: Range, one: Kept) -> None:
        self._slots -= 1
        self._taken.append(ports)
        self._running[folder] = one
        self._worked[one.ref] = one
        self._asking.append(one)


def _has_lost(row: Ticket | None, one: Kept) -> bool:
    """The row says that the session has its ticket no more, and nothing is left for its agent. A
    row that is not there says nothing: only a look at the ticket itself tells that it is gone."""
    if row is None:
        return False
    if row.state != "progress":
        return not one.checks
    return row.lease is not None and row.lease.session != one.session
