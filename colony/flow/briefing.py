"""Gather what a brief says: from the tracker, the registry and the project's own folder."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.core.brief.facts import (
    DOC_MAX,
    AgentDoc,
    BriefFacts,
    Budget,
    Dependency,
    Places,
    Sibling,
)
from colony.core.keywords import accepted
from colony.core.lines import Json
from colony.core.ports import Range, show_range
from colony.core.project import Project
from colony.core.relations import is_question
from colony.core.report import Expect, agent_schema
from colony.core.rework import last_start, news_of, rejection_of
from colony.core.session import Facts
from colony.core.survey import Survey
from colony.core.ticket import Event, History, Ref, State, Ticket
from colony.core.tree_facts import TreeSetup
from colony.errors import Refused
from colony.flow.observe import people_in
from colony.flow.previous import Place, Told, nothing_told, previous_of
from colony.flow.render import Templates
from colony.host.files import Unsafe, read_text
from colony.host.registry import Registry, folders_of, works_in
from colony.tracker.reads import Reads

SIBLINGS_MAX: Final = 40
ANSWERS_MAX: Final = 20
"""Answered questions whose answers are read for one brief."""
DOCS: Final = ("CLAUDE.md", "AGENTS.md")
UNDECIDED: Final[frozenset[State]] = frozenset(
    {"open", "progress", "review", "pending", "reopened"}
)
"""States of other projects' tickets that a worker who depends on them should know of."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What every brief is made with."""

    tracker: Reads
    templates: Templates
    registry: Registry
    home: Path
    creator_names: frozenset[str]
    report_schema: Json
    ui_conventions: str
    max_chars: int
    runs_dir: Path
    told: Told = nothing_told


@dataclass(frozen=True, slots=True)
class Wanted:
    """Whose brief."""

    session: str
    ports: Range
    max_turns: int
    timeout_s: int
    max_usd: float | None = None
    tree: TreeSetup | None = None
    """The tree of its own in which the session works."""


def wanted_by(facts: Facts) -> Wanted:
    """What the brief of this session says of it."""
    setup, worker = facts.setup, facts.setup.worker
    limit = setup.worker_limit_usd(facts.cost_usd)
    steps, seconds = worker.max_turns, worker.timeout_s
    return Wanted(facts.session, setup.ports, steps, seconds, limit, setup.tree)


def project_of(registry: Registry, name: str) -> Project:
    """A project that can be worked on; `Refused` says why it cannot."""
    project = registry.projects.get(name)
    if project is None:
        raise Refused(f"project {name} has no registry file")
    if not isinstance(project, Project):
        raise Refused(project.text)
    if not project.concept:
        raise Refused(f"project {name} has no written concept")
    return project


def gather(sources: Sources, survey: Survey, history: History, wanted: Wanted) -> BriefFacts:
    """Everything the brief of this ticket says, as it is now."""
    ticket = history.ticket
    project = project_of(sources.registry, ticket.ref.project)
    people = survey.people_of(ticket)
    folders = folders_of(project, sources.home)
    works = folders.dev if wanted.tree is None else works_in(project, sources.home, ticket.ref)
    dev = str(works or "")
    rejection = rejection_of(history, people)
    taken_on = survey.intake == "all" or accepted(history.events, people) is not None
    return BriefFacts(
        history=history,
        project=project,
        places=Places(
            dev=dev,
            concept=str(folders.concept or ""),
            code=str(folders.code or ""),
            live=str(folders.live or ""),
            ports=show_range(wanted.ports),
            branch=wanted.tree.branch if wanted.tree is not None else "",
            into=wanted.tree.into if wanted.tree is not None else "",
        ),
        session=wanted.session,
        now_ms=survey.now_ms,
        budget=Budget(wanted.max_turns, wanted.timeout_s, sources.max_chars, wanted.max_usd),
        texts=sources.templates.texts(project.depends_on),
        report_schema=_schema(sources.report_schema, ticket.ref, wanted.session, project),
        people=people,
        url=ticket.url,
        accepted=taken_on,
        relations_served=survey.has_relations,
        known_projects=tuple(sources.registry.projects),
        ui_conventions=sources.ui_conventions,
        docs=tuple(_docs(works)),
        siblings=tuple(_siblings(sources.tracker, ticket)),
        dependencies=tuple(_dependencies(sources, project)),
        rejection=rejection,
        news=(*news_of(history, rejection), *_answers(sources.tracker, history)),
        previous=previous_of(
            history, wanted.session, Place(survey.host, sources.runs_dir, dev), sources.told
        ),
    )


def _schema(schema: Json, ref: Ref, session: str, project: Project) -> str:
    """The report's schema as this worker gets it."""
    expect = Expect(ref, session, live=project.live)
    return json.dumps(agent_schema(schema, expect), indent=1, ensure_ascii=False)


def _answers(tracker: Reads, history: History) -> Iterable[Event]:
    """What people wrote on the ticket's own questions since its last session had its brief."""
    start = last_start(history.events)
    for child in history.ticket.children:
        if start is not None and is_question(child) and child.state in ("done", "reopened"):
            for event in tracker.ticket(child.ref).events:
                if event.id > start.id and event.kind == "comment" and not event.machine:
                    yield event


def _docs(dev: Path | None) -> Iterable[AgentDoc]:
    """What the project tells every coding agent. A link that leaves the folder is not followed."""
    for name in DOCS:
        try:
            if dev is not None and (text := read_text(dev / name, DOC_MAX, within=dev)) is not None:
                yield AgentDoc(name, text)
        except Unsafe:
            yield AgentDoc(name, None)


def _siblings(tracker: Reads, ticket: Ticket) -> Iterable[Sibling]:
    """The project's other tickets, newest first; of answered questions with their histories."""
    others = [each for each in tracker.tickets(ticket.ref.project) if each.ref != ticket.ref]
    answers = 0
    for other in reversed(others[-SIBLINGS_MAX:]):
        answered = is_question(other) and other.state == "done" and answers < ANSWERS_MAX
        answers += answered
        yield Sibling(other, tracker.ticket(other.ref).events if answered else ())


def _dependencies(sources: Sources, project: Project) -> Iterable[Dependency]:
    for name in project.depends_on:
        found = sources.registry.projects.get(name)
        folder = folders_of(found, sources.home).dev if isinstance(found, Project) else None
        here = folder is not None and folder.is_dir()
        tickets = sources.tracker.tickets(name, UNDECIDED)
        people = people_in(sources.tracker, sources.creator_names, name)
        yield Dependency(name, tickets, str(folder) if here else "", people)
