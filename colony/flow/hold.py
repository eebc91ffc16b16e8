"""Hold a ticket: write to it only while its lease is ours, and renew the lease meanwhile.

The algorithm is the one of `docs/leases.md`. Trust is counted on the clock that goes on through
suspend, from the moment a renewal was sent: what cannot be renewed in time is given up before
anybody else may take it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from colony.core import standing as standings
from colony.core.lease import margin_ms, renewal_at
from colony.core.markers import LeaseLine, marker_of
from colony.core.session import LeaseFacts
from colony.core.standing import Standing
from colony.core.texts import lease as lease_texts
from colony.core.ticket import History, Ref
from colony.errors import Busy, ColonyError, NoAnswer, NotFound
from colony.host import threads
from colony.host.clock import Clock
from colony.host.threads import Thread, Threads
from colony.tracker.protocol import Conflict, Guard, Tracker, Written

T = TypeVar("T")

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 15.0
QUIET_S = 30.0
"""So long before a renewal nothing else is sent."""
LOOK_S = 60.0
"""A ticket that a person took back is worked on no longer than this."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A session at its ticket, and what it takes to write to it."""

    tracker: Tracker
    clock: Clock
    ref: Ref
    session: str
    host: str
    ttl_ms: int
    pause: Callable[[float], object]
    """Waits that many seconds; a stop request ends it early with an error of its own."""
    threads: Threads = threads.SYSTEM

    @property
    def trust_s(self) -> float:
        """How long a renewal can be trusted, from the moment it was sent."""
        return (self.ttl_ms - margin_ms(self.ttl_ms)) / 1000


@dataclass(frozen=True, slots=True)
class Sent:
    """A guarded write that happened. `sent_s` is the boot clock when it was sent."""

    written: Written
    sent_s: float


@dataclass(frozen=True, slots=True)
class Lost:
    """The write did not happen: the ticket is not this session's (any more)."""

    standing: Standing
    history: History


Write = Callable[[Guard], Written | Conflict]


def patiently(holder: Holder, ask: Callable[[], T], within_s: float) -> T:
    """`ask()`, repeated with growing pauses while no answer comes, for `within_s` at most.

    `NoAnswer`: it may have happened. `Busy`: it did not, not once.
    """
    deadline = holder.clock.boot_s() + within_s
    pause = FIRST_PAUSE_S
    unknown: NoAnswer | None = None
    while True:
        try:
            return ask()
        except (NoAnswer, Busy) as error:
            if isinstance(error, NoAnswer):
                unknown = error
            if holder.clock.boot_s() + pause > deadline:
                raise unknown or error from None
            holder.pause(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)


def guarded(holder: Holder, write: Write, token: int, within_s: float) -> Sent | Lost:
    """Write while the lease is ours: a person's comment in between is no loss, a move is."""
    while True:
        history = patiently(holder, lambda: holder.tracker.ticket(holder.ref), within_s)
        standing = standings.standing_of(history, holder.session, token)
        if standing != "mine":
            return Lost(standing, history)
        guard = Guard(event=history.ticket.last_event)
        sent_s = holder.clock.boot_s()
        answer = patiently(holder, functools.partial(write, guard), within_s)
        if isinstance(answer, Written):
            return Sent(answer, sent_s)


def renewals_in(history: History, session: str) -> int:
    """How often this session's lease was renewed, as the history tells."""
    markers = (marker_of(event) for event in history.events)
    return sum(
        1
        for marker in markers
        if isinstance(marker, LeaseLine) and marker.session == session and marker.kind == "renewed"
    )


def _no_news() -> None:
    """There is nothing to tell."""


class _Stopping(ColonyError):
    """The owner wants the keeper to end: whatever it waits for is not asked again."""


class Keeper:
    """Renews a lease in a thread of its own while a part runs.

    The thread writes to the tracker only; whoever owns the session reads `lease` and `lost` and
    writes them down. `over()` is the owner's own watchdog: it needs no thread to be alive.
    """

    def __init__(
        self,
        holder: Holder,
        lease: LeaseFacts,
        trusted_s: float,
        heartbeat_ms: int,
        wake: Callable[[], None],
        tell: Callable[[], None] = _no_news,
    ) -> None:
        """`tell` is called between renewals, never when one is near, and must not wait."""
        # The thread must never run into the owner's own way of stopping: it waits by its event.
        self._stop = holder.threads.event()
        self._holder = replace(holder, pause=self._pause)
        self._heartbeat_s = renewal_at(0, round(holder.trust_s * 1000), heartbeat_ms) / 1000
        self._wake = wake
        self._tell = tell
        self._renewed_s = trusted_s - holder.trust_s
        self._looked_s = holder.clock.boot_s()
        self._thread: Thread | None = None
        self.lease = lease
        self.trusted_s = trusted_s
        self.lost: Standing | None = None

    def start(self) -> None:
        self._thread = self._holder.threads.begin(self._run, "lease")

    def stop(self, within_s: float | None = None) -> None:
        """No renewal is begun after this. One that is under way is waited for, `within_s` seconds
        at most."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(within_s)

    def over(self) -> bool:
        """The lease is lost, or can no longer be trusted to be ours."""
        return self.lost is not None or self._holder.clock.boot_s() >= self.trusted_s

    def _run(self) -> None:
        due = self._renewed_s + self._heartbeat_s
        while self.lost is None and not self.over():
            # Short slices: the thread's clock stands still in suspend, the boot clock does not.
            if self._stop.wait(min(1.0, max(0.01, due - self._holder.clock.boot_s()))):
                return
            left_s = due - self._holder.clock.boot_s()
            if left_s > QUIET_S:
                self._tell()
                self._look()
            if left_s > 0:
                continue
            due = self._holder.clock.boot_s() + self._renew()
        self._wake()

    def _pause(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise _Stopping

    def _look(self) -> None:
        """Now and then: is the ticket still ours? Between two renewals a person may have moved it,
        and then somebody else may begin. No answer says nothing."""
        if self._holder.clock.boot_s() - self._looked_s < LOOK_S:
            return
        self._looked_s = self._holder.clock.boot_s()
        try:
            history = self._holder.tracker.ticket(self._holder.ref)
        except NotFound:
            self.lost = "moved"
        except ColonyError:
            return
        else:
            standing = standings.standing_of(history, self._holder.session, self.lease.token)
            self.lost = None if standing == "mine" else standing

    def _renew(self) -> float:
        """One renewal; the seconds until the next try."""
        retry_s = max(1.0, self._holder.ttl_ms / 40_000)
        try:
            answer = renew(self._holder, self.lease, within_s=retry_s)
        except NotFound:
            self.lost = "moved"
            return 0.0
        except ColonyError:
            return retry_s
        if isinstance(answer, Lost):
            self.lost = answer.standing
            return 0.0
        self.lease, sent_s = answer
        self.trusted_s = sent_s + self._holder.trust_s
        self._wake()
        return self._heartbeat_s


def renew(holder: Holder, lease: LeaseFacts, within_s: float) -> tuple[LeaseFacts, float] | Lost:
    """One renewal comment: the lease as renewed, and when it was sent.

    Its number comes from the history, not from memory: a renewal whose answer was lost is there.
    """
    history = patiently(holder, lambda: holder.tracker.ticket(holder.ref), within_s)
    count = renewals_in(history, holder.session) + 1
    until_ms = holder.tracker.now_ms() + holder.ttl_ms
    text = lease_texts.renewed(holder.session, holder.host, until_ms)
    key = f"{holder.session}:renew:{count}"
    answer = guarded(
        holder,
        lambda guard: holder.tracker.comment(holder.ref, text, key=key, guard=guard),
        lease.token,
        within_s,
    )
    if isinstance(answer, Lost):
        return answer
    return replace(lease, until_ms=until_ms, renewals=count), answer.sent_s
