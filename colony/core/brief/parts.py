"""The parts of a brief and their order: a table of short functions over one value.

A part is the name of a template, `templates/brief/<name>.md`, and the values that it shows. What
is quoted is cut here, so that all parts together keep to the budget's characters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from colony.core.brief import history, rows
from colony.core.brief.facts import BriefFacts
from colony.core.brief.quote import clean, code, fence, quote, within
from colony.core.brief.voices import voice_of
from colony.core.markers import utc
from colony.core.money import cents_of, dollars, nanos_of

Value = str | int | bool | Sequence[str] | Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Part:
    """A template's name and what it is rendered with. All strings are final text."""

    name: str
    values: Mapping[str, Value] = field(default_factory=dict)


def parts(facts: BriefFacts) -> tuple[Part, ...]:
    """All parts but the ticket's own, in their order, without those that have nothing to say."""
    found = (make(facts, facts.budget.max_chars * share // 100) for make, share in _TABLE)
    return tuple(part for part in found if part)


def ticket(facts: BriefFacts, room: int) -> Part:
    """The last part: the task and its history in what room the others left.

    `room` is for task and history alone; the template's own words come on top.
    """
    lead, task = history.task(facts, room // 2)
    one = facts.history.ticket
    return Part(
        "ticket",
        {
            "ref": str(facts.ref),
            "state": one.state,
            "opened": utc(one.created_ms),
            "author": code(one.author, 80),
            "who": history.WHO[voice_of(one, facts.people)],
            "lead": lead,
            "task": task,
            "history": history.history(facts, room - len(task)),
        },
    )


def _rejected(facts: BriefFacts, room: int) -> Part | None:
    """A rejection comes first of all, until a report has answered it."""
    rejection = facts.rejection
    if not rejection:
        return None
    comments = history.entries(rejection.comments, facts.people, facts.rest)
    return Part(
        "rejected",
        {
            "author": code(rejection.author, 80),
            "when": utc(rejection.at_ms),
            "reason": quote(rejection.reason, room // 2, facts.rest),
            "given": bool(rejection.reason.strip()),
            "comments": within(comments, room // 2, facts.rest),
        },
    )


def _news(facts: BriefFacts, room: int) -> Part | None:
    if not facts.news:
        return None
    blocks = history.entries(facts.news, facts.people, facts.rest)
    return Part("news", {"comments": within(blocks, room, facts.rest)})


def _header(facts: BriefFacts, _room: int) -> Part:
    return Part(
        "header",
        {
            "ref": str(facts.ref),
            "session": facts.session,
            "now": utc(facts.now_ms),
            "url": code(facts.url) if facts.url else "",
        },
    )


def _previous(facts: BriefFacts, room: int) -> Part | None:
    last = facts.previous
    if not last:
        return None
    said = [last.result] if last.result else []
    said += [f"- still open: {' '.join(item.split())}" for item in last.left_open[:5]]
    return Part(
        "previous",
        {
            "session": code(last.session),
            "host": code(last.host or "unknown"),
            "sessions": last.sessions,
            "here": last.here,
            "ended": clean(last.ended).text,
            "half_done": last.complete is False,
            "said": quote("\n".join(said), room, "its report holds them") if said else "",
            "work_copies": [code(path) for path in last.work_copies[:20]],
            "report": code(last.report) if last.report else "",
            "folder": code(last.folder) if last.folder else "",
        },
    )


def _read_first(facts: BriefFacts, room: int) -> Part:
    each = room // max(1, len(facts.docs))
    told = f"they stand in the file itself, in {code(facts.places.dev, 80)}"
    return Part(
        "read_first",
        {
            "concept": code(facts.places.concept),
            "dev": code(facts.places.dev),
            "docs": [
                (code(doc.name), "" if doc.text is None else quote(doc.text, each, told))
                for doc in facts.docs
            ],
            "decided": facts.decisions is not None,
            "ui": code(facts.ui_conventions) if facts.project.ui and facts.ui_conventions else "",
        },
    )


def _conventions(facts: BriefFacts, _room: int) -> Part | None:
    text = facts.texts.conventions.strip()
    return Part("conventions", {"text": text}) if text else None


def _decisions(facts: BriefFacts, room: int) -> Part | None:
    decided = facts.decisions
    if not decided:
        return None
    told = "the files named above hold them"
    return Part(
        "decisions",
        {
            "project": facts.ref.project,
            "files": [code(path) for path in decided.files],
            "partial": decided.partial,
            "everywhere": quote(decided.everywhere, room // 2, told) if decided.everywhere else "",
            "here": quote(decided.here, room // 2, told) if decided.here else "",
        },
    )


def _where(facts: BriefFacts, _room: int) -> Part:
    places, project = facts.places, facts.project
    return Part(
        "where",
        {
            "ref": str(facts.ref),
            "dev": code(places.dev),
            "code": code(places.code) if places.code else "",
            "live_url": code(project.live_url) if project.live else "",
            "live_folder": code(places.live) if places.live else "",
            "deploy": clean(project.deploy).text.strip(),
            "note": clean(project.note).text.strip(),
            "ports": places.ports,
            "branch": code(places.branch) if places.branch else "",
            "into": code(places.into) if places.into else "",
        },
    )


def _relations(facts: BriefFacts, room: int) -> Part | None:
    listed = rows.relations(facts, room) if facts.relations_served else ""
    if facts.relations_served and not listed:
        return None
    return Part("relations", {"served": facts.relations_served, "listed": listed})


def _tickets(facts: BriefFacts, room: int) -> Part | None:
    listed = rows.siblings(facts, room)
    return Part("tickets", {"project": facts.ref.project, "listed": listed}) if listed else None


def _depends(facts: BriefFacts, _room: int) -> Part | None:
    told = [
        (name, facts.texts.depends[name].strip())
        for name in facts.project.depends_on
        if facts.texts.depends.get(name, "").strip()
    ]
    return Part("depends", {"told": told}) if told else None


def _dependencies(facts: BriefFacts, room: int) -> Part | None:
    if not facts.dependencies:
        return None
    each = room // len(facts.dependencies)
    return Part("dependencies", {"lists": [rows.dependency(d, each) for d in facts.dependencies]})


def _budget(facts: BriefFacts, _room: int) -> Part:
    budget = facts.budget
    return Part(
        "budget",
        {
            "max_turns": budget.max_turns,
            "report_before": budget.report_before,
            "minutes": max(1, budget.timeout_s // 60),
            "money": "" if budget.max_usd is None else dollars(cents_of(nanos_of(budget.max_usd))),
        },
    )


def _rules(facts: BriefFacts, _room: int) -> Part:
    return Part("rules", {"text": facts.texts.rules.strip()})


def _report(facts: BriefFacts, _room: int) -> Part:
    return Part(
        "report",
        {
            "ref": str(facts.ref),
            "session": facts.session,
            "known_projects": [code(name) for name in facts.known_projects],
            "live_url": code(facts.project.live_url) if facts.project.live else "",
            "schema": fence(facts.report_schema.strip(), "json"),
        },
    )


_TABLE: Final[tuple[tuple[Callable[[BriefFacts, int], Part | None], int], ...]] = (
    (_rejected, 10),
    (_news, 8),
    (_header, 0),
    (_previous, 4),
    (_read_first, 17),
    (_conventions, 0),
    (_decisions, 10),
    (_where, 0),
    (_relations, 4),
    (_tickets, 10),
    (_depends, 0),
    (_dependencies, 8),
    (_budget, 0),
    (_rules, 0),
    (_report, 0),
)
"""A part's maker, and the hundredths of the whole brief that its quotes may take. What takes 0
quotes nothing of unknown length, or is the operator's own text and never cut."""
