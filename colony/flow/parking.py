"""Pausing a session that keeps its lease, and going on: what the ticket is told, and when.

The box is empty and the pause is on disk before anything is told. Where telling fails the session
is paused all the same: the line that it goes on tells both.
"""

from __future__ import annotations

from dataclasses import replace

from colony.core.lease import margin_ms
from colony.core.markers import Parked as Marker
from colony.core.markers import Phase
from colony.core.session import Facts, Park, ParkFacts, park_changed
from colony.core.standing import Standing, standing_of
from colony.core.texts import lease as texts
from colony.core.ticket import History
from colony.errors import ColonyError
from colony.flow.hold import Holder, Lost, Sent, guarded
from colony.flow.take import ANSWER_S, Hold
from colony.flow.tenure import QUICK_S


def park_facts(holder: Holder, facts: Facts, step: Park, offset_minutes: int) -> ParkFacts:
    """The pause as it will be told. Its lease lives a whole time beyond the end of it."""
    number = len(facts.parks) + 1
    phase: Phase = "controller" if facts.report is not None and facts.report.valid else "worker"
    until_ms = max(step.resume_ms, holder.tracker.now_ms()) + holder.ttl_ms
    marker = Marker(facts.session, facts.host, phase, step.resume_ms, until_ms)
    text = texts.parked(marker, step.reason, offset_minutes)
    return ParkFacts(number, step.reason, len(facts.parts), step.resume_ms, until_ms, text)


def told(holder: Holder, facts: Facts, park: ParkFacts, *, quick: bool) -> Facts:
    """Write the pause into the ticket: the facts as they are then. Nobody answers in time: as they
    were. The lease is not ours any more: that is in them."""
    standing = _tell_quickly(holder, facts, park) if quick else _tell(holder, facts, park)
    if standing is None:
        return facts
    assert facts.lease is not None
    lease = replace(facts.lease, until_ms=park.until_ms, parks=park.number)
    lost = facts.lost if standing == "mine" else standing
    return park_changed(replace(facts, lease=lease, lost=lost), replace(park, told=True))


def still_parked(facts: Facts, history: History) -> Facts:
    """A parked session holds its ticket by the line that paused it, past its time or not."""
    assert facts.lease is not None
    standing = standing_of(history, facts.session, facts.lease.token)
    return facts if standing == "mine" else replace(facts, lost=standing)


def to_go_on(holder: Holder, facts: Facts, park: ParkFacts) -> Facts:
    """The intent to go on, with the lease as it will be said; once said it stays the same."""
    if park.again_until_ms is not None:
        return facts
    until_ms = holder.tracker.now_ms() + holder.ttl_ms
    return park_changed(facts, replace(park, again_until_ms=until_ms))


def gone_on(holder: Holder, facts: Facts) -> tuple[Facts, Hold | None]:
    """The pause is over; no hold: the lease is not this session's any more."""
    park = facts.parks[-1]
    found = _go_on(holder, facts, park)
    if isinstance(found, Lost):
        lost = "moved" if found.standing == "mine" else found.standing
        return replace(facts, lost=lost), None
    facts = park_changed(facts, replace(park, told=True, over=True))
    return replace(facts, lease=found.lease), found


def _tell_quickly(holder: Holder, facts: Facts, park: ParkFacts) -> Standing | None:
    found: list[Standing | None] = []
    hasty = replace(holder, pause=_nobody_waits)
    one = holder.threads.begin(lambda: found.append(_tell(hasty, facts, park)), "park")
    one.join(QUICK_S)
    return found[0] if found else None


def _tell(holder: Holder, facts: Facts, park: ParkFacts) -> Standing | None:
    """*mine*: it is there; None: no answer; else what became of the lease."""
    try:
        answer = _say(holder, facts, park.text, f"park:{park.number}")
    except ColonyError:
        return None
    return answer.standing if isinstance(answer, Lost) else "mine"


def _say(holder: Holder, facts: Facts, text: str, name: str) -> Sent | Lost:
    """A comment that holds only while the lease is this session's."""
    assert facts.lease is not None
    key = f"{facts.session}:{name}"
    return guarded(
        holder,
        lambda guard: holder.tracker.comment(holder.ref, text, key=key, guard=guard),
        facts.lease.token,
        ANSWER_S,
    )


class _InHaste(ColonyError):
    """Nothing is tried a second time."""


def _nobody_waits(_: float) -> None:
    raise _InHaste


def _go_on(holder: Holder, facts: Facts, park: ParkFacts) -> Hold | Lost:
    """Say that the pause is over; `park.again_until_ms` is on disk before. The lease as it holds
    now: what a process that died then said long ago is trusted for no longer than it says."""
    assert facts.lease is not None
    assert park.again_until_ms is not None
    until_ms = park.again_until_ms
    text = texts.resumed(facts.session, facts.host, park.number, until_ms)
    answer = _say(holder, facts, text, f"resume:{park.number}")
    if isinstance(answer, Lost):
        return answer
    left_s = (until_ms - holder.tracker.now_ms() - margin_ms(holder.ttl_ms)) / 1000
    trusted_s = min(answer.sent_s + holder.trust_s, holder.clock.boot_s() + left_s)
    return Hold(replace(facts.lease, until_ms=until_ms, parks=park.number), trusted_s)
