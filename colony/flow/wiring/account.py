"""Wiring for the account: which agents here need one, and what it may be used for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from colony.coding.protocol import CodingAgent
from colony.config import Settings
from colony.core.allowance import Quota, Reason, Seat
from colony.core.plan import Kept, tries_first
from colony.core.project import Project
from colony.core.quota import Thresholds
from colony.core.session import Runner
from colony.flow.kept import sessions_in
from colony.flow.meter import AccountSettings, quota_of
from colony.flow.recent import Recent
from colony.flow.wiring.agents import agent_for
from colony.flow.wiring.runners import runner_of
from colony.host.clock import SystemClock
from colony.host.registry import Registry


def account_settings(
    settings: Settings, registry: Registry, environ: Mapping[str, str]
) -> AccountSettings:
    """The account of the agent that is the default here, else of the first project's that needs
    one. Where agents use several accounts the others are not looked after: a limit there parks
    its sessions one by one."""
    default = runner_of(settings, Project(""))
    projects = {
        name: runner_of(settings, project)
        for name, project in sorted(registry.projects.items())
        if isinstance(project, Project)
    }
    names: dict[str, str] = {}
    chosen: CodingAgent | None = None
    for runner in (default, *projects.values()):
        if runner.agent in names:
            continue
        agent = _asked(settings, runner)
        names[runner.agent] = agent.account(environ)
        if chosen is None and names[runner.agent]:
            chosen = agent
    account = chosen.account(environ) if chosen is not None else ""
    return AccountSettings(
        agent=chosen,
        agents=frozenset(word for word, name in names.items() if name and name == account),
        seats={name: Seat(one.agent, one.model) for name, one in projects.items()},
        environ=environ,
        thresholds=Thresholds(settings.run.reserve, settings.run.week_limit),
        max_cost_usd=settings.work.max_cost_per_day,
    )


def _asked(settings: Settings, runner: Runner) -> CodingAgent:
    """The agent, with the program that tells of its quota."""
    asks = runner.agent == "claude"
    return agent_for(replace(runner, program=settings.run.quota_claude) if asks else runner)


@dataclass(frozen=True, slots=True)
class Standing:
    """The account at one moment, by the run folders of this home alone: nobody is asked."""

    quota: Quota
    sessions: tuple[Kept, ...]
    now_ms: int

    def against(self, seat: Seat) -> Reason | None:
        """Why no agent should begin on this seat now."""
        why = self.quota.against(seat, self.now_ms)
        return why or tries_first(self.quota, seat, self.sessions)


def standing_of(settings: Settings, registry: Registry, environ: Mapping[str, str]) -> Standing:
    """`Refused`: the run folders cannot be listed."""
    runs, now_ms = settings.place.runs_dir, SystemClock().wall_ms()
    parts = Recent(runs).parts(now_ms)
    quota = quota_of(account_settings(settings, registry, environ), parts, now_ms)
    return Standing(quota, sessions_in(runs, now_ms, {}, ()).kept, now_ms)
