"""Wiring for runners: how the parts of a project's sessions are run, by registry and settings."""

from __future__ import annotations

from colony.config import Settings
from colony.core.project import Project
from colony.core.session import Runner


def runners_of(settings: Settings, project: Project) -> tuple[Runner, Runner]:
    """Worker and controller."""
    worker = runner_of(settings, project)
    return worker, _controller(settings, worker)


def runner_of(settings: Settings, project: Project) -> Runner:
    """How a worker of this project runs: the registry's word, else the setting."""
    work = settings.work
    agent = project.agent or work.agent
    return Runner(
        agent=agent,
        program=_program(settings, agent),
        model=project.model or work.model,
        max_turns=project.max_turns or work.max_turns,
        timeout_s=project.timeout or work.timeout,
        permission_mode=project.permission_mode or work.permission_mode,
        allowed_tools=(*work.allowed_tools, *project.allowed_tools),
        max_budget_usd=work.max_budget_usd,
    )


def _controller(settings: Settings, worker: Runner) -> Runner:
    check = settings.check
    return Runner(
        agent=worker.agent,
        program=check.claude if worker.agent == "claude" else worker.program,
        model=check.model,
        max_turns=check.max_turns,
        timeout_s=check.timeout,
        permission_mode=worker.permission_mode,
        allowed_tools=worker.allowed_tools,
    )


def _program(settings: Settings, agent: str) -> str:
    if agent == "claude":
        return settings.work.claude
    return str(settings.work.stand_in_script or "")
