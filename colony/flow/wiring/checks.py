"""The checks that stand before a session's start, one by one: what each says, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from colony.config import Settings
from colony.core.explain import Reason
from colony.core.going_on import stand_of
from colony.core.opening import closed
from colony.core.project import Project
from colony.core.session import Facts
from colony.core.survey import Survey
from colony.core.ticket import History, Ref
from colony.errors import ColonyError
from colony.flow import runs
from colony.flow.briefing import Wanted, gather, project_of
from colony.flow.observe import Viewpoint
from colony.flow.room import Newcomer, NoRoom
from colony.flow.wiring.account import standing_of
from colony.flow.wiring.agents import agent_for
from colony.flow.wiring.credentials import secrets_of
from colony.flow.wiring.hours import opening_of
from colony.flow.wiring.runners import runner_of, runners_of
from colony.flow.wiring.sessions import (
    admission_of,
    containment_of,
    forms_of,
    setup_of,
    sources_of,
    tree_setup,
    trees_of,
    version_asker,
)
from colony.flow.wiring.walls import try_box
from colony.flow.work import check_agent
from colony.host.clock import SystemClock
from colony.host.pauses import pauses_of
from colony.host.registry import works_in
from colony.tracker.reads import Reads

TOLD: Final = frozenset({"no file", "no concept", "broken", "no workers", "host", "folder"})
"""Codes of the ticket's own rules after which its project's setup needs no second word."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A ticket as it was read, and from where it is looked at. Nothing of it is written."""

    settings: Settings
    environ: Mapping[str, str]
    tracker: Reads
    view: Viewpoint
    survey: Survey
    history: History
    codes: frozenset[str]
    """Of the ticket's own rules that speak against it."""

    @property
    def ref(self) -> Ref:
        return self.history.ticket.ref


def own_reasons(asked: Asked) -> Iterator[Reason]:
    """What this host says of starting the ticket, in the order in which a start asks."""
    yield from _paused(asked)
    yield from _hours(asked)
    yield from _left(asked)
    yield from _account(asked)
    yield _contained(asked)
    yield from _agents(asked)
    project = asked.view.registry.projects.get(asked.ref.project)
    if not isinstance(project, Project) or asked.codes & TOLD:
        return
    setup = _said("setup", "", lambda: _setup(asked))
    if setup.against:
        # That it passes, the ticket's own rules have said.
        yield setup
    if project.env:
        yield _said("env", "its test credentials are there", lambda: _secrets(asked, project))
    yield _said("brief", "its brief can be written", lambda: _brief(asked, project))
    yield _said("ports", "there is a free range of ports", lambda: _ports(asked))
    yield _room(asked)
    yield _folder(asked)


def _said(code: str, good: str, check: Callable[[], object]) -> Reason:
    """The check's refusal, or what it means that there is none."""
    try:
        check()
    except ColonyError as problem:
        return Reason(code, problem.line, True, _REMEDIES.get(code, ""))
    return Reason(code, good, against=False)


_REMEDIES: Final[Mapping[str, str]] = {
    "ports": "let sessions end, or widen COLONY_PORT_POOL",
    "room": "let sessions end, or make room; what is read: colony doctor",
}


def _paused(asked: Asked) -> Iterator[Reason]:
    """What the loop would not start; by hand it starts all the same."""
    pauses = pauses_of(asked.settings.place.home)
    project = asked.ref.project
    if project in pauses.projects:
        yield Reason("paused", f"{project} is paused", True, f"colony resume {project}")
    elif pauses.everything:
        yield Reason("paused", "everything is paused", True, "colony resume")


def _account(asked: Asked) -> Iterator[Reason]:
    """What the loop waits for; by hand it starts all the same."""
    try:
        standing = standing_of(asked.settings, asked.view.registry, asked.environ)
    except ColonyError as problem:
        yield Reason("runs", problem.line, True)
        return
    quota, seat = standing.quota, standing.quota.seat_of(asked.ref.project)
    why = standing.against(seat)
    if why is not None:
        yield Reason(*why, against=True, remedy=_by_hand(asked, why[0]))
    elif rests := quota.rests(asked.ref, standing.now_ms):
        yield Reason(*rests, against=True, remedy=_by_hand(asked, rests[0]))
    elif quota.needed_by(seat):
        yield Reason("account", "nothing holds its account", against=False)


def _by_hand(asked: Asked, code: str) -> str:
    start = f"colony work {asked.ref.project} {asked.ref.number} --post"
    up = "raise COLONY_MAX_COST_PER_DAY, or " if code == "day" else ""
    return f"{up}start it all the same: {start}"


def _hours(asked: Asked) -> Iterator[Reason]:
    """When the loop starts nothing; by hand it starts all the same."""
    if asked.settings.run.hours is None:
        return
    until_ms = opening_of(asked.settings).closed_until_ms(SystemClock().wall_ms())
    if until_ms is None:
        yield Reason("hours", "it is within COLONY_HOURS", against=False)
        return
    by_hand = f"start it now by hand: colony work {asked.ref.project} {asked.ref.number} --post"
    yield Reason("hours", closed(until_ms), True, by_hand)


def _left(asked: Asked) -> Iterator[Reason]:
    """A session of this host that was left on the ticket, which a start goes on with."""
    place = asked.settings.place
    folder = runs.unfinished(place.runs_dir, asked.ref, place.host)
    facts = runs.facts_of(folder) if folder is not None else None
    if isinstance(facts, Facts):
        now_ms = SystemClock().wall_ms()
        stand = stand_of(facts, place.host, now_ms, running=False)
        yield Reason("left", f"session {facts.session} has it: {stand.text}", True, stand.remedy)


def _contained(asked: Asked) -> Reason:
    if not asked.settings.work.sandbox:
        return Reason(
            "box", "COLONY_SANDBOX=off: its agent sees this machine's files", against=False
        )
    return _said("box", "agents can be contained here", lambda: _box(asked))


def _box(asked: Asked) -> None:
    """Tried out as before a start, where there is a project to try it for."""
    containment_of(asked.settings, asked.environ)
    registry = asked.view.registry
    found = registry.projects.get(asked.ref.project)
    if isinstance(found, Project):
        try_box(asked.settings, registry, found, asked.environ, None)


def _agents(asked: Asked) -> Iterator[Reason]:
    found = asked.view.registry.projects.get(asked.ref.project)
    project = found if isinstance(found, Project) else Project(asked.ref.project)
    told = set()
    for runner in dict.fromkeys(runners_of(asked.settings, project)):
        agent = agent_for(runner)
        ask = partial(check_agent, agent, version_asker(asked.environ), asked.environ)
        reason = _said("agent", f"{agent.name} can run", ask)
        if reason.text not in told:
            told.add(reason.text)
            yield reason


def _setup(asked: Asked) -> None:
    project = project_of(asked.view.registry, asked.ref.project)
    settings = asked.settings
    tree = tree_setup(trees_of(settings, asked.environ), settings, project, asked.ref)
    setup_of(settings, project, settings.work.ports, tree)


def _secrets(asked: Asked, project: Project) -> None:
    secrets_of(project, asked.settings.place.home)


def _brief(asked: Asked, project: Project) -> None:
    """Rendered as it would be, and thrown away."""
    settings = asked.settings
    runner = runner_of(settings, project)
    sources = sources_of(settings, asked.tracker, asked.view.registry, forms_of(settings))
    limit = runner.max_budget_usd
    wanted = Wanted("", settings.work.ports, runner.max_turns, runner.timeout_s, limit)
    sources.templates.brief(gather(sources, asked.survey, asked.history, wanted))


def _ports(asked: Asked) -> None:
    work = asked.settings.work
    runs.a_range(asked.settings.place.runs_dir, work.port_pool, work.ports_per_session)


def _room(asked: Asked) -> Reason:
    guard = asked.settings.guard
    if not guard.on:
        return Reason("room", "COLONY_GUARD=off: nothing asks whether it fits", against=False)
    return _said("room", "there is memory and disk for one more session", lambda: _fits(asked))


def _fits(asked: Asked) -> None:
    settings, project = asked.settings, project_of(asked.view.registry, asked.ref.project)
    folder = works_in(project, settings.place.home, asked.ref)
    one = Newcomer(str(folder) if folder is not None else "", settings.guard.session_memory)
    admission = admission_of(settings, asked.environ, lambda _: None)
    full = admission.room_for(settings.guard, one, SystemClock().wall_ms())
    if full is not None:
        raise NoRoom(full.text)


def _folder(asked: Asked) -> Reason:
    place = asked.settings.place
    taken = runs.folder_taken(asked.view.registry, place.home, place.runs_dir, asked.ref)
    if taken is not None:
        return Reason("busy", taken.text, True, taken.remedy)
    return Reason("busy", "no session works in its dev folder", against=False)
