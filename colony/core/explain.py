"""Why a ticket would be started now, or not: every rule, the deciding one first, and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from colony.core.eligible import Code, For, Waits
from colony.core.lines import Json, Line
from colony.core.relations import blockers, open_questions
from colony.core.ticket import Ref, Ticket

NAMED_MAX: Final = 3
"""Tickets of the queue that are named one by one."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One rule's word. `remedy`: what a person can do about it, with the command; may be empty."""

    code: str
    text: str
    against: bool
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Delay:
    """What is worked before the ticket: it refuses nothing, and it comes first."""

    tickets: tuple[Ref, ...]
    reason: Reason


@dataclass(frozen=True, slots=True)
class Explanation:
    """The first reason that speaks against it decides; with none, a delay does."""

    ref: Ref
    reasons: tuple[Reason, ...]
    """Those against it first."""
    delays: tuple[Delay, ...] = ()

    @property
    def deciding(self) -> Reason | None:
        return next((each for each in self.reasons if each.against), None)

    @property
    def after(self) -> tuple[Ref, ...]:
        """What comes before it, if it comes at all."""
        if self.deciding is not None:
            return ()
        return tuple(dict.fromkeys(ref for each in self.delays for ref in each.tickets))


def explain(
    ticket: Ticket, rules: Sequence[For | Waits], own: Sequence[Reason], delays: Sequence[Delay]
) -> Explanation:
    """`rules`: the ticket's, the deciding one first. `own`: this host's, in the order in which a
    start asks. A session that was left on the ticket decides before the lease that it has.
    """
    told = [_of_rule(ticket, each) for each in rules]
    left = [each for each in own if each.code == "left"]
    everything = [*left, *told, *(each for each in own if each.code != "left")]
    against = [each for each in everything if each.against]
    good = [each for each in everything if not each.against]
    return Explanation(ticket.ref, (*against, *good), tuple(delays))


def behind(ticket: Ticket, queue: Sequence[Ticket]) -> Delay:
    """The tickets of the queue that are worked before this one; at least one."""
    refs = tuple(each.ref for each in queue)
    higher = any(each.priority > ticket.priority for each in queue)
    why = "of higher priority, or older" if higher else "older"
    told = "1 ticket comes" if len(refs) == 1 else f"{len(refs)} tickets come"
    ref = ticket.ref
    up = f'let it come sooner: colony ticket comment {ref.project} {ref.number} "/prio high"'
    return Delay(refs, Reason("later", f"{told} first ({why}): {_named(refs)}", True, up))


def lines(found: Explanation) -> Iterator[Line]:
    """The answer, then what speaks against, then what speaks for it, then what to do."""
    yield _answer_line(found)
    for each in found.reasons:
        if each.against:
            yield _line(found.ref, each)
    for delay in found.delays:
        yield _line(found.ref, delay.reason)
    for each in found.reasons:
        if not each.against:
            yield _line(found.ref, each)
    if found.deciding is None:
        yield Line("note", _start(found))


def _answer_line(found: Explanation) -> Line:
    deciding, after = found.deciding, found.after
    if deciding is not None:
        answer, code, text = "not started", deciding.code, f"is not started: {deciding.text}"
    elif after:
        answer, code, text = "later", "later", f"comes after {_named(after)}"
    else:
        answer, code, text = "next", "next", "would be started next"
    facts: dict[str, Json] = {
        "answer": answer, "code": code, "after": [str(each) for each in after],
    }  # fmt: skip
    return Line("explain", f"{found.ref} {text}", str(found.ref), facts=facts)


def _line(ref: Ref, reason: Reason) -> Line:
    sign = "against" if reason.against else "for"
    what = f" — {reason.remedy}" if reason.remedy else ""
    facts: dict[str, Json] = {
        "code": reason.code, "reason": reason.text, "remedy": reason.remedy or None,
    }  # fmt: skip
    return Line(f"explain.{sign}", f"{sign}: {reason.text}{what}", str(ref), facts=facts)


def _start(found: Explanation) -> str:
    by_hand = f"colony work {found.ref.project} {found.ref.number} --post"
    if found.after:
        return f"start it before them: {by_hand}"
    return f"colony run starts it; by hand: {by_hand}"


def _named(refs: Sequence[Ref]) -> str:
    more = f" and {len(refs) - NAMED_MAX} more" if len(refs) > NAMED_MAX else ""
    return ", ".join(map(str, refs[:NAMED_MAX])) + more


# --- what to do about a rule -----------------------------------------------------------------


def _of_rule(ticket: Ticket, rule: For | Waits) -> Reason:
    match rule:
        case For(text):
            return Reason("ok", text, against=False)
        case Waits(code, text):
            return Reason(code, text, True, remedy_of(ticket, code))
        case _:
            assert_never(rule)


def remedy_of(ticket: Ticket, code: Code) -> str:
    """What a person can do so that this rule holds the ticket no longer; empty: only wait."""
    ref = ticket.ref
    named = f"{ref.project} {ref.number}"
    session = ticket.lease.session if ticket.lease else ""
    match code:
        case "question":
            return f'answer it: colony ticket answer {named} "…"'
        case "done" | "canceled":
            return f'have it worked on again: colony ticket state {named} reopened --text "why"'
        case "review":
            return (
                f"try it, then: colony ticket state {named} done,"
                f' or colony ticket state {named} reopened --text "why"'
            )
        case "pending" | "asked":
            return _answer(ticket) or f"let it go on: colony ticket state {named} open"
        case "leased":
            return f"watch it: colony tail {named}"
        case "parked":
            return f"look at it: colony sessions {session}"
        case "built":
            return f"after the deploy: colony deployed {named}"
        case "silent":
            return "give it back: colony leases --expire"
        case "unleased" | "reopened":
            return f"let Colony take it: colony ticket state {named} open"
        case "no file":
            return "register its folder: colony init FOLDER"
        case "no concept" | "broken" | "no workers" | "host" | "folder" | "needs":
            return _registry(ref.project, code)
        case "blocked":
            return _unblock(ticket)
        case "stranger" | "budget" | "starts" | "reviews":
            return _let_go(ref, code)
        case "ordered" | "parent" | "unread":
            return ""
        case _:
            assert_never(code)


def _let_go(ref: Ref, code: Code) -> str:
    named = f"{ref.project} {ref.number}"
    match code:
        case "stranger":
            return f'accept it: colony ticket comment {named} "/accept"'
        case "budget":
            # A shell would read "$N" in double quotes as a variable.
            return f"let it cost more: colony ticket comment {named} '/budget $N'"
        case "starts":
            return f"let it start now: colony retry {named}"
        case _:
            return f"try what waits: colony ticket list --project {ref.project} --state review"


def _registry(project: str, code: Code) -> str:
    file = f"projects/{project}.json"
    match code:
        case "no concept":
            return f"write it, and name it as concept in {file}"
        case "no workers":
            return f'let workers in: "workers": true in {file}'
        case "host":
            return "start it there"
        case "needs":
            return (
                "start it on a host that offers it,"
                " or, if this one does, say so in COLONY_CAPABILITIES"
            )
        case "folder":
            return f"make it, or mend dev.folder in {file}"
        case _:
            return f"mend {file} (docs/registry.md)"


def _answer(ticket: Ticket) -> str:
    asked = open_questions(ticket)
    if not asked:
        return ""
    ref = asked[0].ref
    return f'answer: colony ticket answer {ref.project} {ref.number} "…"'


def _unblock(ticket: Ticket) -> str:
    left = blockers(ticket)
    canceled = next((each.ref for each in left if each.state == "canceled"), None)
    if canceled is None:
        return ""
    ref = ticket.ref
    return (
        f"remove the link: colony ticket block {ref.project} {ref.number}"
        f" {canceled.project} {canceled.number} --remove"
    )
