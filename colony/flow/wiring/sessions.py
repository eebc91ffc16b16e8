"""Wiring for sessions: settings and a project become the bench that a session is worked with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Final, Literal
from zoneinfo import ZoneInfo

from colony.coding.protocol import CodingAgent
from colony.config import Settings
from colony.core.allowlist import allowed
from colony.core.guard import MIB
from colony.core.ports import Range
from colony.core.project import Project
from colony.core.schema import compiled
from colony.core.session import Facts, Runner, Setup
from colony.core.strict_json import Problems, load_json
from colony.core.ticket import Ref
from colony.core.tree_facts import TreeSetup
from colony.core.trees import branch_of, tree_name
from colony.errors import Refused, UsageProblem
from colony.flow.bench import Bench, Emit, Schema, VersionProblem
from colony.flow.briefing import Sources
from colony.flow.following import ShowDoing
from colony.flow.machine import Machine
from colony.flow.observe import Viewpoint
from colony.flow.part import Place
from colony.flow.previous import Told, nothing_told, told_to
from colony.flow.reaping import Reaper
from colony.flow.render import Templates
from colony.flow.room import Admission
from colony.flow.wiring import agents
from colony.flow.wiring.credentials import secrets_of
from colony.flow.wiring.runners import runners_of
from colony.flow.wiring.walls import walls_of
from colony.flow.work import only_posts
from colony.host import gauge
from colony.host.box import Containment, detect, search_path
from colony.host.call import call
from colony.host.clock import SystemClock
from colony.host.control import Control
from colony.host.files import read_text
from colony.host.gauge import Gauge
from colony.host.journal import RunFolder
from colony.host.registry import TREES, Registry, folders_of, is_on
from colony.host.signals import StopSignals
from colony.host.trees import Trees
from colony.tracker.protocol import Tracker
from colony.tracker.reads import Reads

SCHEMA_MAX: Final = 1024 * 1024
VERSION_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Forms:
    """The folder of templates, read once."""

    templates: Templates
    report: Schema
    verdict: Schema


@dataclass(frozen=True, slots=True)
class Outfit:
    """What every session of one command shares."""

    settings: Settings
    environ: Mapping[str, str]
    tracker: Tracker
    view: Viewpoint
    emit: Emit
    doing: ShowDoing
    signals: StopSignals
    containment: Containment
    forms: Forms
    machine: Machine = field(default_factory=Machine)
    agent_for: Callable[[Runner], CodingAgent] = agents.agent_for
    version_problem: VersionProblem | None = None
    """None: the agent's program is asked."""

    def admission(self, emit: Emit) -> Admission:
        """Who is asked before a session begins here; `emit` is told what was read."""
        reap = Reaper(self.trees, self.settings.place.runs_dir, self.emit).reap
        asked = admission_of(self.settings, self.environ, emit, self.machine.gauge)
        return replace(asked, reap=reap)

    @property
    def trees(self) -> Trees:
        return trees_of(self.settings, self.environ, self.machine)


def admission_of(
    settings: Settings, environ: Mapping[str, str], emit: Emit, by: Gauge = gauge.SYSTEM
) -> Admission:
    # Where programs put what is temporary (POSIX): it is only asked how full that is.
    tmp = Path(environ.get("TMPDIR") or "/tmp")  # noqa: S108
    return Admission(by, settings.place.runs_dir, tmp, emit)


def forms_of(settings: Settings) -> Forms:
    """`UsageProblem`: a schema is missing or broken."""
    templates = Templates(settings.place.templates_dir)
    return Forms(templates, schema(settings, "report"), schema(settings, "verdict"))


def sources_of(
    settings: Settings, tracker: Reads, registry: Registry, forms: Forms, told: Told = nothing_told
) -> Sources:
    """What briefs are made of."""
    return Sources(
        tracker=tracker,
        templates=forms.templates,
        registry=registry,
        home=settings.place.home,
        creator_names=frozenset(settings.tracker.creator_names),
        report_schema=forms.report.value,
        ui_conventions=settings.work.ui_conventions,
        max_chars=settings.work.brief_max_chars,
        runs_dir=settings.place.runs_dir,
        told=told,
    )


def schema(settings: Settings, name: Literal["report", "verdict"]) -> Schema:
    """A schema of `templates/`. `UsageProblem`: it is missing or broken."""
    path = settings.place.templates_dir / f"{name}.schema.json"
    text = read_text(path, SCHEMA_MAX)
    if text is None:
        raise UsageProblem(f"{path} does not exist")
    value = load_json(text)
    if isinstance(value, Problems):
        raise UsageProblem(f"{path}: {value.lines[0]}")
    return Schema(value, compiled(value, str(path)))


def trees_of(
    settings: Settings, environ: Mapping[str, str], machine: Machine | None = None
) -> Trees:
    """The trees of this home."""
    machine = machine or Machine()
    return machine.trees(settings.place.home / TREES, machine.clock, search_path(environ))


def tree_setup(trees: Trees, settings: Settings, project: Project, ref: Ref) -> TreeSetup | None:
    """The tree that a session on this ticket gets; nothing is made. `Refused`: it cannot be had."""
    dev = folders_of(project, settings.place.home).dev
    if not project.worktrees or dev is None or not is_on(project, settings.place.host):
        return None
    start = trees.start(dev, branch_of(ref), project.base)
    return TreeSetup(
        name=tree_name(ref),
        repository=str(dev),
        branch=start.branch,
        into=start.into,
        base=start.base,
        merge=project.merge,
        commands=project.setup,
    )


def setup_of(
    settings: Settings, project: Project, ports: Range, tree: TreeSetup | None = None
) -> Setup:
    """How a session of this project runs. `Refused`: not here."""
    folders = folders_of(project, settings.place.home)
    if folders.dev is None:
        raise Refused(f"project {project.name} names no dev folder")
    if not is_on(project, settings.place.host):
        raise Refused(f"the dev folder of {project.name} is on {project.dev_host}")
    if not folders.dev.is_dir():
        raise Refused(f"the dev folder {folders.dev} is missing")
    worker, controller = runners_of(settings, project)
    return Setup(
        worker=worker,
        controller=controller,
        folder=str(settings.place.home / TREES / tree.name if tree else folders.dev),
        tree=tree,
        ports=ports,
        live=project.live_url,
        project_settings=project.project_settings,
        max_fails=settings.check.max_fails,
        ttl_ms=settings.lease.ttl * 1000,
        heartbeat_ms=settings.lease.heartbeat * 1000,
        sandbox="on" if settings.work.sandbox else "off",
        finalize_max_turns=settings.work.finalize_max_turns,
        finalize_timeout_s=settings.work.finalize_timeout,
        stall_s=settings.work.stall_seconds,
        crash_resumes=settings.work.crash_resumes,
        max_attempts=settings.work.max_attempts,
        max_half_done=settings.work.max_half_done,
        max_cost_cents=settings.work.max_cost_per_ticket or 0,
        memory_mb=settings.guard.session_memory // MIB,
        memory_max_mb=settings.work.session_memory_max_mb,
        pids_max=settings.work.session_pids_max,
    )


def version_asker(environ: Mapping[str, str]) -> VersionProblem:
    """Asks an agent's program for its version, with nothing of Colony's own environment."""

    def version_problem(agent: CodingAgent) -> str | None:
        asked = agent.version_call()
        if asked is None:
            return None
        env = {**allowed(environ, ()), **asked.env}
        result = call(asked.argv, env, Path("/"), SystemClock(), timeout_s=VERSION_S)
        return agent.version_problem(result.stdout.decode("utf-8", "replace"))

    return version_problem


def containment_of(settings: Settings, environ: Mapping[str, str]) -> Containment:
    """The box that sessions get here. `NoBox`: none can be built."""
    mode: Literal["on", "off"] = "on" if settings.work.sandbox else "off"
    return detect(mode, SystemClock(), search_path(environ))


def offset_in(zone: str) -> Callable[[int], int]:
    """Minutes east of UTC at a moment, in a zone of the time zone database."""
    there = ZoneInfo(zone)

    def offset_minutes(at_ms: int) -> int:
        try:
            offset = datetime.fromtimestamp(at_ms / 1000, there).utcoffset()
        except (OverflowError, ValueError, OSError):
            return 0
        return round(offset.total_seconds() / 60) if offset else 0

    return offset_minutes


def bench_of(outfit: Outfit, facts: Facts, folder: RunFolder) -> Bench:
    """The bench of one session."""
    settings, machine, forms = outfit.settings, outfit.machine, outfit.forms
    registry = outfit.view.registry
    found = registry.projects.get(facts.ticket.project)
    project = found if isinstance(found, Project) else Project(facts.ticket.project)
    return Bench(
        tracker=outfit.tracker,
        view=outfit.view,
        sources=sources_of(settings, outfit.tracker, registry, forms, told_to(outfit.tracker)),
        place=Place(
            folder=folder,
            containment=outfit.containment,
            clock=machine.clock,
            signals=outfit.signals,
            environ=outfit.environ,
            boxes=machine.boxes,
            threads=machine.threads,
        ),
        chance=machine.chance,
        agent_for=outfit.agent_for,
        version_problem=outfit.version_problem or version_asker(outfit.environ),
        report=forms.report,
        verdict=forms.verdict,
        pass_env=frozenset(settings.work.pass_env),
        secrets={} if only_posts(facts) else secrets_of(project, settings.place.home),
        emit=outfit.emit,
        doing=outfit.doing,
        walls=walls_of(settings, registry, project, outfit.environ),
        orders=Control(settings.place.home),
        trees=trees_of(settings, outfit.environ, machine),
        offset_minutes=offset_in(settings.tracker.tz),
    )
