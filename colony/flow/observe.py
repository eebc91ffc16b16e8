"""Look at the tracker and the registry: one `Survey`, read once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from colony.core.attempts import HOUR_MS
from colony.core.people import NOBODY, Intake, People, people_of
from colony.core.survey import Survey, in_review, needs_history
from colony.core.ticket import History, Ref, Ticket
from colony.errors import NotFound
from colony.host.registry import Registry
from colony.tracker.reads import Reads

LOOKED_AT = frozenset({"open", "reopened", "progress"})
"""States in which a ticket's people or history can matter for what is next."""


@dataclass(frozen=True, slots=True)
class Viewpoint:
    """From where the world is looked at."""

    registry: Registry
    host: str
    intake: Intake
    creator_names: frozenset[str]
    max_starts: int = 0
    """Sessions that may be started on one ticket within an hour; 0: no limit."""
    max_cost_cents: int = 0
    """US cents that all sessions on one ticket may cost; 0: no limit."""
    max_review: int = 0
    """Results of a project that may wait for its creator; 0: no limit."""
    capabilities: frozenset[str] = frozenset()
    """What this host offers; small letters."""


def look(tracker: Reads, view: Viewpoint) -> Survey:
    """Every ticket; histories of those only whose row does not decide."""
    rows = tracker.tickets()
    names = {row.ref.project for row in rows if row.state in LOOKED_AT}
    people = {name: people_in(tracker, view.creator_names, name) for name in sorted(names)}
    since_ms = tracker.now_ms() - HOUR_MS if view.max_starts else None
    wanted = [row.ref for row in rows if unclear(row, people, view, since_ms)]
    survey = survey_of(tracker, view, rows, people, [tracker.ticket(ref) for ref in wanted])
    return replace(survey, reviews=in_review(rows)) if view.max_review else survey


def look_at(tracker: Reads, view: Viewpoint, ref: Ref) -> tuple[Survey, History]:
    """One ticket, whole. `NotFound`: there is none."""
    history = tracker.ticket(ref)
    people = {ref.project: people_in(tracker, view.creator_names, ref.project)}
    rows = [history.ticket]
    # Whether a question is newer than a rejection is read from the question's own row.
    rows += [tracker.ticket(child.ref).ticket for child in history.ticket.children]
    survey = survey_of(tracker, view, tuple(rows), people, [history])
    if view.max_review and history.ticket.state == "open":
        waiting = tracker.tickets(ref.project, frozenset({"review"}))
        survey = replace(survey, reviews=in_review(waiting))
    return survey, history


def again(survey: Survey, history: History) -> Survey:
    """The survey with this ticket as it is now."""
    ref = history.ticket.ref
    rows = tuple(history.ticket if row.ref == ref else row for row in survey.tickets)
    return replace(survey, tickets=rows, histories={**survey.histories, ref: history})


def unclear(row: Ticket, people: dict[str, People], view: Viewpoint, since_ms: int | None) -> bool:
    """True where the ticket's history is wanted. `since_ms`: as in `needs_history`."""
    if row.state == "progress":
        return row.lease is None
    known, capped = people.get(row.ref.project, NOBODY), view.max_cost_cents > 0
    return needs_history(row, known, view.intake, since_ms, capped=capped)


def people_in(tracker: Reads, creator_names: frozenset[str], name: str) -> People:
    """Who is who in a project; in one that the tracker does not know, the configured creators."""
    try:
        return people_of(tracker.project(name), creator_names)
    except NotFound:
        return people_of(None, creator_names)


def survey_of(
    tracker: Reads,
    view: Viewpoint,
    rows: tuple[Ticket, ...],
    people: dict[str, People],
    histories: Iterable[History],
) -> Survey:
    """What was read, seen from here."""
    return Survey(
        tickets=rows,
        registry=view.registry.projects,
        host=view.host,
        now_ms=tracker.now_ms(),
        histories={each.ticket.ref: each for each in histories},
        people=people,
        intake=view.intake,
        max_starts=view.max_starts,
        max_cost_cents=view.max_cost_cents,
        max_review=view.max_review,
        capabilities=view.capabilities,
        folders_missing=view.registry.missing,
        has_relations="relations" in tracker.features,
    )
