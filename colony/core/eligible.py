"""Which tickets are work, and why the others wait: one rule a function, the deciding one first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from colony.core.attempts import HOUR_MS, attempts_of, cost_cents, starts_within_the_hour
from colony.core.budget import cap_of, is_used_up, was_asked
from colony.core.keywords import PRIORITIES, accepted
from colony.core.lease import Ended, lease_of
from colony.core.lines import clip
from colony.core.markers import utc
from colony.core.money import dollars
from colony.core.people import needs_accept
from colony.core.project import Project
from colony.core.relations import blockers, is_question, open_questions, parts_of
from colony.core.rework import is_rework, last_rejection, rejection_of
from colony.core.survey import ProjectTrouble, Survey
from colony.core.ticket import Related, Ticket

Code = Literal[
    "question",
    "done",
    "canceled",
    "review",
    "pending",
    "leased",
    "parked",
    "ordered",
    "built",
    "silent",
    "unleased",
    "unread",
    "reopened",
    "no file",
    "no concept",
    "broken",
    "no workers",
    "blocked",
    "parent",
    "asked",
    "stranger",
    "budget",
    "starts",
    "host",
    "folder",
    "needs",
    "reviews",
]
"""Why a ticket is not started. *silent*: its lease is past its time. *unleased*: in progress by
somebody else's hand, or its lease has ended. *unread*: its history is missing from the survey."""

COUNTED: Final[frozenset[Code]] = frozenset({"done", "canceled", "review", "reopened"})
"""Codes of tickets that wait for nobody but their creator, or for nothing: counted, not listed."""

_LISTED: Final = 3


@dataclass(frozen=True, slots=True)
class Ready:
    """The ticket is work for this host. `words`: what is special about it."""

    words: tuple[str, ...] = ()
    rework: bool = False


@dataclass(frozen=True, slots=True)
class Waits:
    """The ticket is no work now; `reason` is one line."""

    code: Code
    reason: str


@dataclass(frozen=True, slots=True)
class For:
    """Something that speaks for starting the ticket; `special` ones are worth a word."""

    text: str
    special: bool = False


Rule = Callable[[Ticket, Survey], For | Waits | None]


def judge(ticket: Ticket, survey: Survey) -> Ready | Waits:
    """Is this ticket work, here and now?"""
    words = []
    for rule in RULES:
        said = rule(ticket, survey)
        if isinstance(said, Waits):
            return said
        if said is not None and said.special:
            words.append(said.text)
    return Ready(tuple(words), rework=ticket.state == "reopened")


def reasons(ticket: Ticket, survey: Survey) -> tuple[For | Waits, ...]:
    """All that speaks for and against starting the ticket now; the deciding one first."""
    said = [one for one in (rule(ticket, survey) for rule in RULES) if one is not None]
    return tuple(sorted(said, key=lambda one: isinstance(one, For)))


def no_work_ever(ticket: Ticket) -> str | None:
    """Why no session may ever touch this ticket, whatever its state; None for every other one."""
    if not is_question(ticket):
        return None
    resumed = ", and never resumed" if ticket.state == "progress" else ""
    return f"a question for its creator ({ticket.state}): never work{resumed}"


# --- the rules, in their order ---------------------------------------------------------------


def _question(ticket: Ticket, _: Survey) -> Waits | None:
    if ticket.state in ("done", "canceled"):
        return None
    why = no_work_ever(ticket)
    return Waits("question", why) if why else None


def _state(ticket: Ticket, survey: Survey) -> For | Waits:
    match ticket.state:
        case "open":
            return For("it is open")
        case "reopened":
            return _reopened(ticket, survey)
        case "progress":
            return _in_progress(ticket, survey)
        case "review":
            return Waits("review", "its result waits for the creator")
        case "pending":
            return Waits("pending", _pending(ticket))
        case "done":
            return Waits("done", "it is done")
        case "canceled":
            return Waits("canceled", "it was canceled")
        case _:
            assert_never(ticket.state)


def _reopened(ticket: Ticket, survey: Survey) -> For | Waits:
    history = survey.histories.get(ticket.ref)
    if history is None:
        return Waits("unread", "sent back, but its history could not be read")
    rejection = last_rejection(history.events)
    if rejection is None or not is_rework(history):
        return Waits("reopened", "sent back, and a session was started since")
    words = rejection_of(history, survey.people_of(ticket))
    author = words.author if words else rejection.author
    return For(f"sent back by {clip(author, 40)} on {utc(rejection.at_ms)}: rework", special=True)


def _pending(ticket: Ticket) -> str:
    asked = open_questions(ticket)
    return f"waits for the answer on {_names(asked)}" if asked else "on hold"


def _in_progress(ticket: Ticket, survey: Survey) -> Waits:
    lease = ticket.lease
    if lease is None:
        return Waits("unleased", _unleased(ticket, survey))
    session, where = clip(lease.session, 60), f" on {clip(lease.host, 60)}" if lease.host else ""
    if lease.kind == "ready":
        return Waits("built", f"built, waits for the deploy (session {session})")
    if lease.kind in ("queued", "claimed"):
        return Waits("ordered", f"ordered as session {session}, {lease.kind}{where}")
    if lease.until_ms is None:
        return Waits("leased", f"leased by session {session}{where}, without an end")
    if lease.until_ms < survey.now_ms:
        return Waits("silent", f"session {session}{where} is silent since {utc(lease.until_ms)}")
    if lease.kind == "parked":
        return Waits("parked", f"session {session} is parked{where}")
    return Waits("leased", f"leased by session {session}{where} until {utc(lease.until_ms)}")


def _unleased(ticket: Ticket, survey: Survey) -> str:
    history = survey.histories.get(ticket.ref)
    held = lease_of(history.events) if history else None
    if isinstance(held, Ended):
        return f"in progress, but the lease of session {held.session} has ended: {held.why}"
    return "in progress without a lease of Colony"


def _registry(ticket: Ticket, survey: Survey) -> For | Waits:
    name = ticket.ref.project
    project = survey.registry.get(name)
    match project:
        case None:
            return Waits("no file", f"project {name} has no registry file here ({survey.host})")
        case ProjectTrouble(kind, text):
            return Waits(kind, clip(text, 300))
        case Project():
            if not project.workers:
                return Waits("no workers", f"project {name} takes no workers")
            if not project.concept:
                return Waits("no concept", f"project {name} has no written concept")
            return For(f"project {name} is set up")
        case _:
            assert_never(project)


def _blocked(ticket: Ticket, survey: Survey) -> For | Waits | None:
    if not survey.has_relations:
        return None
    left = blockers(ticket)
    if not left:
        return For("nothing blocks it")
    names = ", ".join(f"{one.ref} ({one.state})" for one in left[:_LISTED])
    canceled = any(one.state == "canceled" for one in left)
    hint = "; a canceled one blocks until its link is removed" if canceled else ""
    return Waits("blocked", f"blocked by {names}{_more(left)}{hint}")


def _parent(ticket: Ticket, survey: Survey) -> Waits | None:
    children = parts_of(ticket) if survey.has_relations else ()
    if not children:
        return None
    done = sum(child.state == "done" for child in children)
    count = "1 child ticket" if len(children) == 1 else f"{len(children)} child tickets"
    return Waits("parent", f"a parent ({count}, {done} done): its children are the work")


def _asked(ticket: Ticket, survey: Survey) -> For | Waits | None:
    asked = open_questions(ticket) if survey.has_relations else ()
    if not asked:
        return None
    history = survey.histories.get(ticket.ref)
    if history is None:
        return Waits("asked", f"waits for the answer on {_names(asked)}")
    rejection = rejection_of(history, survey.people_of(ticket))
    if rejection is None:
        return Waits("asked", f"waits for the answer on {_names(asked)}")
    rows = ((one, survey.ticket(one.ref)) for one in asked)
    newer = tuple(one for one, row in rows if row and row.created_ms > rejection.at_ms)
    if newer:
        return Waits("asked", f"waits for the answer on {_names(newer)}")
    return For(f"the rejection is newer than the question {_names(asked)}")


def _accepted(ticket: Ticket, survey: Survey) -> For | Waits | None:
    people = survey.people_of(ticket)
    if not needs_accept(ticket, people, survey.intake):
        return None
    history = survey.histories.get(ticket.ref)
    if history is None:
        return Waits("unread", "opened by a stranger, and its history could not be read")
    event = accepted(history.events, people)
    if event is not None:
        return For(f"accepted by {clip(event.author, 40)}", special=True)
    who = "Colony, with a stranger's words" if ticket.machine else clip(ticket.author, 40)
    return Waits("stranger", f"opened by {who}: waits for /accept by a member of the project")


def _budget(ticket: Ticket, survey: Survey) -> For | Waits | None:
    asked = survey.max_cost_cents or was_asked(ticket)
    history = survey.histories.get(ticket.ref) if asked else None
    if history is None:
        return None
    cap = cap_of(history.events, survey.people_of(ticket), survey.max_cost_cents)
    cost = cost_cents(history.events, but="")
    if is_used_up(cap, cost):
        return Waits("budget", f"it has cost {dollars(cost)}, and may cost {dollars(cap)}")
    return For(f"it has cost {dollars(cost)} of {dollars(cap)}") if cap else None


def _starts(ticket: Ticket, survey: Survey) -> Waits | None:
    """A safety net: whatever it is that starts a ticket again and again."""
    history = survey.histories.get(ticket.ref) if survey.max_starts else None
    if history is None:
        return None
    recent = starts_within_the_hour(attempts_of(history.events), survey.now_ms)
    if len(recent) < survey.max_starts:
        return None
    again = utc(recent[-survey.max_starts] + HOUR_MS)
    return Waits("starts", f"{len(recent)} sessions within the last hour; again after {again}")


def _host(ticket: Ticket, survey: Survey) -> For | Waits | None:
    project = survey.registry.get(ticket.ref.project)
    if not isinstance(project, Project):
        return None
    if project.dev_host and project.dev_host.casefold() != survey.host.casefold():
        return Waits("host", f"its dev folder is on {project.dev_host}, this is {survey.host}")
    if project.name in survey.folders_missing:
        return Waits("folder", f"the dev folder {project.dev_folder} is missing")
    return For(f"its dev folder is on this host ({survey.host})")


def _needs(ticket: Ticket, survey: Survey) -> For | Waits | None:
    project = survey.registry.get(ticket.ref.project)
    if not isinstance(project, Project) or not project.needs:
        return None
    lacking = [word for word in project.needs if word not in survey.capabilities]
    if lacking:
        return Waits("needs", f"this host does not offer: {clip(', '.join(lacking), 200)}")
    return For(f"this host offers what it needs: {clip(', '.join(project.needs), 200)}")


def _reviews(ticket: Ticket, survey: Survey) -> Waits | None:
    """Who does not come to trying results gets no more of them; what was sent back goes on."""
    waiting = survey.reviews.get(ticket.ref.project, 0)
    if ticket.state != "open" or not 0 < survey.max_review <= waiting:
        return None
    results = "1 result waits" if waiting == 1 else f"{waiting} results wait"
    return Waits("reviews", f"{results} for the creator of {ticket.ref.project}: nothing new yet")


def _priority(ticket: Ticket, _: Survey) -> For | None:
    if not ticket.priority:
        return None
    return For(f"priority {priority_word(ticket.priority)}", special=True)


def priority_word(priority: int) -> str:
    """`high`, `normal`, `low`, or the number."""
    return next((word for word, value in PRIORITIES.items() if value == priority), str(priority))


def _names(related: tuple[Related, ...]) -> str:
    return ", ".join(str(one.ref) for one in related[:_LISTED]) + _more(related)


def _more(related: tuple[Related, ...]) -> str:
    return f" and {len(related) - _LISTED} more" if len(related) > _LISTED else ""


RULES: Final[tuple[Rule, ...]] = (
    _question,
    _state,
    _registry,
    _blocked,
    _parent,
    _asked,
    _accepted,
    _budget,
    _starts,
    _host,
    _needs,
    _reviews,
    _priority,
)
