"""Take a ticket's lease, or find out what is left of the one this session had."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal

from colony.core.eligible import Waits, judge, no_work_ever
from colony.core.lease import Lease, is_dead, is_mine, lease_of, margin_ms
from colony.core.session import Facts, LeaseFacts
from colony.core.standing import standing_of
from colony.core.survey import Survey
from colony.core.texts import lease as lease_texts
from colony.core.ticket import History
from colony.errors import Busy, Refused
from colony.flow.hold import Holder, Lost, patiently, renew
from colony.flow.observe import Viewpoint, look_at
from colony.tracker.protocol import Conflict, Guard, Written

ANSWER_S: Final = 30.0
"""How long an answer to the take is waited for."""


BriefWriter = Callable[[Survey, History, Facts], Facts]


@dataclass(frozen=True, slots=True)
class Hold:
    """A lease, and until when it may be relied on (boot clock, seconds)."""

    lease: LeaseFacts
    trusted_s: float


def take(holder: Holder, view: Viewpoint, brief: BriefWriter, facts: Facts) -> tuple[Facts, Hold]:
    """Take the ticket. `Refused`, `Busy`: it is not to be had, and nothing was written.

    `brief` writes the brief of the ticket as it is, and gives the facts that name it: a lease is
    only ever taken on the ticket that its brief describes.
    """
    while True:
        survey, history = patiently(
            holder, lambda: look_at(holder.tracker, view, holder.ref), ANSWER_S
        )
        found = ours(holder, history)
        if found is not None:
            # Taken before, and its answer was lost: the brief on disk is the one it was taken on.
            if not facts.brief_sha256:
                facts = brief(survey, history, facts)
            return replace(facts, lease=found.lease), found
        refuse(survey, history)
        facts = brief(survey, history, facts)
        until_ms = holder.tracker.now_ms() + holder.ttl_ms
        text = lease_texts.started(holder.session, holder.host, until_ms)
        taken = _write(holder, history, "take", text, until_ms)
        if taken is not None:
            return replace(facts, lease=taken.lease), taken


def salvage(holder: Holder, history: History) -> Hold | None:
    """Take the ticket once more, to post what an earlier lease of this session left.

    None: it is in a state where only a comment may be written. `Busy`: another session holds it.
    """
    while True:
        found = ours(holder, history)
        if found is not None:
            return found
        held = lease_of(history.events)
        now_ms = holder.tracker.now_ms()
        if isinstance(held, Lease) and held.kind != "ready" and not is_dead(held, now_ms):
            raise Busy(f"{holder.ref} is leased by session {held.session}")
        if history.ticket.state not in ("open", "reopened"):
            return None
        until_ms = holder.tracker.now_ms() + holder.ttl_ms
        text = lease_texts.salvage(holder.session, holder.host, until_ms)
        taken = _write(holder, history, "salvage", text, until_ms)
        if taken is not None:
            return taken
        history = patiently(holder, lambda: holder.tracker.ticket(holder.ref), ANSWER_S)


def regain(holder: Holder, facts: Facts) -> Hold | Literal["moved", "taken"]:
    """Where this session stands with the lease in its facts: still its own, or not."""
    assert facts.lease is not None
    history = patiently(holder, lambda: holder.tracker.ticket(holder.ref), ANSWER_S)
    standing = standing_of(history, holder.session, facts.lease.token)
    if standing != "mine":
        return standing
    found = ours(holder, history, facts.lease)
    if found is None:
        # Its closing line is written: only the ticket's move may be left, and nothing expires.
        return Hold(facts.lease, holder.clock.boot_s() + holder.trust_s)
    if holder.clock.boot_s() < found.trusted_s:
        return found
    answer = renew(holder, facts.lease, ANSWER_S)
    if isinstance(answer, Lost):
        return "moved" if answer.standing == "mine" else answer.standing
    lease, sent_s = answer
    return Hold(lease, sent_s + holder.trust_s)


def ours(holder: Holder, history: History, known: LeaseFacts | None = None) -> Hold | None:
    """The lease as the history shows it, if it is this session's: a lost answer loses nothing."""
    held = lease_of(history.events)
    mine = is_mine(history.ticket.state, history.events, holder.session)
    if not mine or not isinstance(held, Lease) or held.until_ms is None:
        return None
    left_s = (held.until_ms - holder.tracker.now_ms() - margin_ms(holder.ttl_ms)) / 1000
    lease = LeaseFacts(
        held.token,
        held.until_ms,
        renewals=known.renewals if known else 0,
        parks=held.parks,
    )
    return Hold(lease, holder.clock.boot_s() + left_s)


def refuse(survey: Survey, history: History) -> None:
    """Raise where the ticket is not work here and now."""
    ticket = history.ticket
    never = no_work_ever(ticket)
    if never:
        raise Refused(f"{ticket.ref} is {never}")
    said = judge(ticket, survey)
    if isinstance(said, Waits):
        kind = Busy if said.code in ("leased", "parked", "ordered", "silent", "starts") else Refused
        raise kind(f"{ticket.ref} is not eligible: {said.reason}")


def _write(holder: Holder, history: History, word: str, text: str, until_ms: int) -> Hold | None:
    """The move to `progress` with its lease line; None: the ticket has changed since.

    `Busy`: another session took it at the same moment, on a tracker that let both write.

    The key names the bytes. An earlier take that lands only now is then a change like any other,
    to be found as ours, and not a key used for something else.
    """
    key = f"{holder.session}:{word}:{until_ms}"
    guard = Guard(event=history.ticket.last_event)
    sent_s = holder.clock.boot_s()
    answer = patiently(
        holder,
        lambda: holder.tracker.move(holder.ref, "progress", key=key, text=text, guard=guard),
        ANSWER_S,
    )
    match answer:
        case Written(event=event):
            token = event if "expect" in holder.tracker.features else _won(holder)
            return Hold(LeaseFacts(token, until_ms), sent_s + holder.trust_s)
        case Conflict():
            return None


def _won(holder: Holder) -> int:
    """The fencing number, where nothing kept two sessions from writing at once: the order of events
    decides. Who lost writes nothing more, since any word to the ticket is the winner's to say."""
    history = patiently(holder, lambda: holder.tracker.ticket(holder.ref), ANSWER_S)
    found = ours(holder, history)
    if found is None:
        held = lease_of(history.events)
        by = f"leased by session {held.session}" if isinstance(held, Lease) else "not ours"
        raise Busy(f"{holder.ref} is {by}: it was taken at the same moment")
    return found.lease.token
