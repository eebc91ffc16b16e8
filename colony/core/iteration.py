"""What one iteration of the loop did, as the line that people and scripts read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from colony.core.account import in_force
from colony.core.admission import Full
from colony.core.allowance import ANYTHING, Quota
from colony.core.lines import Json, Line, clip
from colony.core.markers import utc
from colony.core.plan import Action, Ask, Expire, Probe, Resume, Start, Wait
from colony.core.ports import Range, show_range
from colony.core.ticket import Ref

NAMED_MAX: Final = 8
"""Tickets of one kind that are named one by one."""
TOLD_MAX: Final = 300
"""Characters of what is said of one: names of sessions and hosts are other programs' words."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A session that was started or taken up."""

    ref: Ref
    session: str
    ports: Range | None


@dataclass(frozen=True, slots=True)
class Iteration:
    number: int
    at_ms: int
    running: int
    parallel: int
    started: Sequence[Begun] = ()
    resumed: Sequence[Begun] = ()
    expired: Sequence[str] = ()
    kept: Sequence[str] = ()
    """Leases that were to be expired and were not, with the reason."""
    waiting: Sequence[Wait] = ()
    as_before: bool = False
    """The same wait for the same reasons as in the last line: named once is enough."""
    notes: Sequence[str] = ()
    """What else is to be known: the tracker does not answer, the loop is paused."""
    quota: Quota = ANYTHING
    full: Full | None = None
    """Something was to begin and does not fit on this machine."""

    @property
    def silent(self) -> bool:
        """The account is held, which has been said, and nothing happened."""
        happened = self.started or self.resumed or self.expired or self.kept or self.notes
        return (
            not happened
            and self.full is None
            and bool(self.quota.lacks or in_force(self.quota.holds, self.at_ms))
        )


@dataclass(slots=True)
class Did:
    """What an iteration has done so far."""

    started: list[Begun] = field(default_factory=list)
    resumed: list[Begun] = field(default_factory=list)
    expired: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    waiting: list[Wait] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    full: Full | None = None
    """One more did not fit: nothing else is tried after that."""


def line(done: Iteration) -> Line:
    """`ITER 4 2026-01-31 18:19 UTC · running 1/1 · started shop#1 (s-…, ports 8700-8709) · …`"""
    quota = done.quota
    said = [each for each in (quota.gauge.text, quota.spent.text) if each]
    said.append(f"running {done.running}/{done.parallel}")
    said += _told("started", map(_begun, done.started))
    said += _told("resumed", map(_begun, done.resumed))
    said += _told("expired", done.expired)
    said += _told("NOT expired", done.kept)
    if done.as_before:
        said.append(f"waiting: {len(done.waiting)} as before")
    else:
        said += _told("waiting:", map(_wait, done.waiting), "; ")
    if not (done.started or done.resumed or done.waiting):
        said.append("nothing to start")
    if done.full is not None:
        said.append(done.full.text)
    said += done.notes
    facts: dict[str, Json] = {
        "iteration": done.number,
        "running": done.running,
        "parallel": done.parallel,
        "started": [each.session for each in done.started],
        "resumed": [each.session for each in done.resumed],
        "expired": list(done.expired),
        "waiting": {str(each.ref): each.code for each in done.waiting},
    }
    if done.full is not None:
        facts["room"] = done.full.cause
    # Where no account is needed, and no day's money is limited, nothing is said of them.
    told = {"quota": quota.gauge.facts, "day": quota.spent.facts}
    facts |= {name: each for name, each in told.items() if each}
    text = " · ".join([f"{done.number} {utc(done.at_ms)}", *said])
    return Line("iter", text, ms=done.at_ms, facts=facts)


def _begun(one: Begun) -> str:
    ports = f", ports {show_range(one.ports)}" if one.ports is not None else ""
    return f"{one.ref} ({one.session}{ports})"


def _wait(one: Wait) -> str:
    return f"{one.ref} ({clip(one.reason, 120)})"


def _told(word: str, found: Iterable[str], between: str = ", ") -> list[str]:
    all_ = [clip(each, TOLD_MAX) for each in found]
    if not all_:
        return []
    more = len(all_) - NAMED_MAX
    shown = between.join(all_[:NAMED_MAX]) + (f"{between}and {more} more" if more > 0 else "")
    return [f"{word} {shown}"]


def _named(action: Action) -> str | None:
    """What it is about."""
    match action:
        case Ask(unready):
            return unready.project
        case Probe():
            return None
        case _:
            return str(action.ref)


def planned(actions: tuple[Action, ...]) -> Iterator[Line]:
    """The plan, one line an action."""
    for action in actions:
        match action:
            case Expire(ref, lease):
                text = f"expire {ref}: session {lease.session} is silent"
            case Ask(unready):
                text = f"ask for project {unready.project}: {unready.kind}"
            case Resume(session, ref, _):
                text = f"resume {ref} (session {session})"
            case Start(ref, ports):
                text = f"start {ref} (ports {ports[0]}-{ports[1]})"
            case Probe():
                text = "read the quota"
            case Wait(ref, _, reason, session):
                text = f"wait {ref}{f' (session {session})' if session else ''}: {reason}"
        word = type(action).__name__.lower()
        ref_of = _named(action)
        yield Line("run.action", text, ref_of, facts={"action": word})
    if not actions:
        yield Line("run.action", "nothing to do", facts={"action": "none"})
