"""The end of a session: render every write, then send them in order, each at most once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, assert_never

from colony.core import outbox
from colony.core.attempts import attempts_of, cost_cents, is_cost_known
from colony.core.budget import cap_of, may_be_capped
from colony.core.endings import Ending
from colony.core.lease import is_mine
from colony.core.lines import Json, Line
from colony.core.markers import Retry, Verdict, marker_of
from colony.core.outbox import Closing, Effect, Limits, fill
from colony.core.people import NOBODY, People
from colony.core.report import Report
from colony.core.session import GONE, LATE, MOVED, Facts, Occasion, why_no_report
from colony.core.standing import Standing, standing_of
from colony.core.texts.branch import to_do, told
from colony.core.ticket import Event, History, Ref
from colony.core.verdict import Ruled
from colony.errors import Invalid, NotFound
from colony.flow.growth import has_progress
from colony.flow.hold import Holder, patiently
from colony.flow.observe import Viewpoint, people_in
from colony.tracker.protocol import ANY, Conflict, Guard, Written

PATIENCE_S: Final = 300.0
"""How long the sending of one effect is tried before the session is left for later."""
NEVER: Final = Guard(event=-1)
"""Holds on no ticket: a write with it only says whether its key has been used."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What an ending is rendered from, beside the session's facts."""

    history: History
    """Of the ticket, as it is now."""
    known: frozenset[str]
    """Projects that have a registry entry."""
    progress: bool
    """The session left something."""
    people: People = NOBODY
    """Of the project; nobody where it does not matter."""


def seen(holder: Holder, view: Viewpoint, facts: Facts) -> Seen:
    """The ticket as it is now, and who is who where that decides what it may cost."""
    history = patiently(holder, lambda: holder.tracker.ticket(holder.ref), PATIENCE_S)
    people = NOBODY
    if may_be_capped(history.events, facts.setup.max_cost_cents):
        names, project = view.creator_names, holder.ref.project
        people = patiently(holder, lambda: people_in(holder.tracker, names, project), PATIENCE_S)
    return Seen(history, frozenset(view.registry.projects), has_progress(facts), people)


def closing_of(facts: Facts, seen: Seen) -> Closing:
    """The facts of the ending, as the ticket is now."""
    history = seen.history
    before = attempts_of(history.events)
    ticket = history.ticket
    earlier = cost_cents(history.events, facts.session)
    cap = cap_of(history.events, seen.people, facts.setup.max_cost_cents)
    return Closing(
        ticket=facts.ticket,
        url=ticket.url,
        state=ticket.state,
        session=facts.session,
        host=facts.host,
        live=bool(facts.setup.live),
        known=seen.known,
        sha256=facts.report.sha256 if facts.report else "",
        cost_usd=facts.cost_usd,
        cost_known=all(part.cost_known for part in facts.parts),
        runs=len(facts.parts),
        steps=facts.steps,
        progress=seen.progress,
        out_of_steps=_ran_out(facts),
        in_vain=before.in_vain,
        half_done=before.half_done,
        limits=Limits(facts.setup.max_attempts, facts.setup.max_half_done),
        earlier_cents=earlier,
        earlier_known=is_cost_known(history.events, facts.session),
        cap_cents=cap,
        # Where the cap was raised meanwhile there is something left.
        cut_by_cap=facts.cut_by_cap and cap - earlier <= (facts.setup.left_cents or 0),
        later=later_comments(history, facts.brief_event),
        strangers=facts.strangers,
        work=told(facts.setup.tree, facts.tree) if facts.setup.tree is not None else "",
        round=facts.round,
        ran_out=facts.ran_out,
    )


def _ran_out(facts: Facts) -> bool:
    own = [part for part in facts.parts if part.kind == "work"]
    return bool(own) and own[-1].ended is Ending.OUT_OF_STEPS


def later_comments(history: History, since: int) -> tuple[Event, ...]:
    """What people wrote after the brief."""
    return tuple(
        event
        for event in history.events
        if event.id > since and event.kind == "comment" and not event.machine
    )


def fails_in(history: History) -> int:
    """Distinct sessions whose report failed its check since the last retry."""
    sessions: set[str] = set()
    for event in history.events:
        marker = marker_of(event)
        if isinstance(marker, Verdict):
            sessions.add(marker.session)
        elif isinstance(marker, Retry):
            sessions.clear()
    return len(sessions)


def compose(facts: Facts, occasion: Occasion, ruled: Ruled | None, seen: Seen) -> Facts:
    """The facts with every text of the ending in the outbox."""
    closing = closing_of(facts, seen)
    effects = _effects(facts, occasion, ruled, seen.history, closing)
    return replace(facts, occasion=occasion, outbox=effects)


def _effects(
    facts: Facts, occasion: Occasion, ruled: Ruled | None, history: History, closing: Closing
) -> tuple[Effect, ...]:
    match occasion:
        case Occasion.PASSED:
            assert ruled is not None
            return outbox.passed(closing, _with_conflicts(facts, ruled.report))
        case Occasion.FAILED:
            assert ruled is not None
            count = fails_in(history) + 1
            return outbox.sent_back(closing, ruled, count, facts.setup.max_fails)
        case Occasion.NO_VERDICT:
            return outbox.no_verdict(closing)
        case Occasion.NO_REPORT:
            return outbox.no_report(closing, why_no_report(facts))
        case Occasion.STOPPED:
            return outbox.no_report(closing, Ending.STOPPED)
        case Occasion.LATE:
            return outbox.late(closing)
        case _:
            assert_never(occasion)


def _with_conflicts(facts: Facts, report: Report) -> Report:
    """What the base has moved away from under it is half done: the next worker brings them
    together."""
    setup = facts.setup.tree
    if setup is None or not facts.tree.conflicts:
        return report
    return replace(report, complete=False, open=(to_do(setup), *report.open))


# --- sending ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sending:
    """What sending one effect needs to know beside the effect."""

    token: int | None
    """The lease's; None: none was taken, the ticket is in a state where only people move it."""
    outbox: tuple[Effect, ...]

    @property
    def made(self) -> Mapping[str, tuple[Ref, str]]:
        """What earlier effects made."""
        return {each.name: (each.made, each.url) for each in self.outbox if each.made is not None}


def send(holder: Holder, sending: Sending, effect: Effect) -> tuple[Effect, Line]:
    """One effect, as it is after sending: done, or skipped with the reason. The line tells it.

    Safe to repeat at any moment: whatever happened before, the same key answers the same.
    """
    try:
        done = _SENDERS[effect.kind](holder, sending, effect)
    except NotFound:
        done = replace(effect, status="skipped", why=GONE)
    return done, _line(holder, done)


def _standing(holder: Holder, sending: Sending) -> tuple[Standing, History]:
    history = patiently(holder, lambda: holder.tracker.ticket(holder.ref), PATIENCE_S)
    if sending.token is None:
        return "moved", history
    return standing_of(history, holder.session, sending.token), history


def _create(holder: Holder, sending: Sending, effect: Effect) -> Effect:
    assert effect.new is not None
    new = effect.new
    if _standing(holder, sending)[0] == "taken":
        return replace(effect, status="skipped", why=LATE)
    created = patiently(
        holder, lambda: holder.tracker.create(new, key=_key(holder, effect.name)), PATIENCE_S
    )
    return replace(effect, status="done", made=created.ticket.ref, url=created.ticket.url)


def _block(holder: Holder, sending: Sending, effect: Effect) -> Effect:
    by = next(each.made for each in sending.outbox if each.name == effect.by)
    if by is None or by == holder.ref or _standing(holder, sending)[0] == "taken":
        return replace(effect, status="skipped", why=LATE)
    try:
        patiently(
            holder,
            lambda: holder.tracker.block(holder.ref, by, key=_key(holder, effect.name)),
            PATIENCE_S,
        )
    except Invalid as error:
        # A person linked the two the other way round: what they decided stands.
        return replace(effect, status="skipped", why=error.line)
    return replace(effect, status="done")


def _comment(holder: Holder, sending: Sending, effect: Effect) -> Effect:
    """A person's move is no reason to drop what was found; a lost lease files it as late."""
    text = fill(effect.text, sending.made)
    key = _key(holder, effect.name)

    def write(guard: Guard) -> Written | Conflict:
        return holder.tracker.comment(holder.ref, text, key=key, guard=guard)

    while True:
        standing, history = _standing(holder, sending)
        taken = standing == "taken"
        guard = NEVER if taken else Guard(event=history.ticket.last_event)
        answer = patiently(holder, functools.partial(write, guard), PATIENCE_S)
        if isinstance(answer, Written):
            why = MOVED if standing == "moved" else ""
            return replace(effect, status="done", why=why, event=answer.event)
        if taken:
            return _late(holder, effect)


def _late(holder: Holder, effect: Effect) -> Effect:
    key = _key(holder, f"{effect.name}:late")
    answer = patiently(
        holder,
        lambda: holder.tracker.comment(holder.ref, effect.late_text, key=key, guard=ANY),
        PATIENCE_S,
    )
    event = answer.event if isinstance(answer, Written) else 0
    return replace(effect, status="done", why=LATE, event=event)


def _move(holder: Holder, sending: Sending, effect: Effect) -> Effect:
    """The state, last of all, and only while the ticket is this session's."""
    assert effect.state is not None
    state, text = effect.state, fill(effect.text, sending.made)
    key = _key(holder, effect.name)

    def write(guard: Guard) -> Written | Conflict:
        return holder.tracker.move(holder.ref, state, key=key, text=text, guard=guard)

    while True:
        history = patiently(holder, lambda: holder.tracker.ticket(holder.ref), PATIENCE_S)
        mine = _may_move(holder, sending, history)
        guard = Guard(event=history.ticket.last_event) if mine else NEVER
        answer = patiently(holder, functools.partial(write, guard), PATIENCE_S)
        if isinstance(answer, Written):
            return replace(effect, status="done", event=answer.event)
        if not mine:
            why = f"the ticket is {history.ticket.state} now"
            return replace(effect, status="skipped", why=why)


def _may_move(holder: Holder, sending: Sending, history: History) -> bool:
    ticket = history.ticket
    return sending.token is not None and is_mine(ticket.state, history.events, holder.session)


def _key(holder: Holder, name: str) -> str:
    return f"{holder.session}:{name}"


_SENDERS: Final[Mapping[str, Callable[[Holder, Sending, Effect], Effect]]] = {
    "create": _create,
    "block": _block,
    "comment": _comment,
    "move": _move,
}


def _line(holder: Holder, effect: Effect) -> Line:
    ticket, session = str(holder.ref), holder.session
    what = {
        "create": f"{'question' if effect.new and effect.new.state == 'pending' else 'ticket'} "
        f"{effect.made}: {effect.new.subject if effect.new else ''}",
        "block": f"{ticket} is blocked by it",
        "comment": f"comment on {ticket}",
        "move": f"{ticket} {'not ' if effect.status == 'skipped' else ''}moved to {effect.state}",
    }[effect.kind]
    facts: dict[str, Json] = {"effect": effect.name, "event": effect.event}
    if effect.status == "skipped":
        return Line("post.refused", f"{what} — {effect.why}", ticket, session, facts=facts)
    if effect.why == LATE:
        what = f"{what}, filed as late: the lease is another session's now"
    return Line("posted", what, ticket, session, facts=facts)
