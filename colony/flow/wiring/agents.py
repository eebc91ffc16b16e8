"""Wiring for coding agents: a runner's word becomes the agent that it names."""

from __future__ import annotations

from pathlib import Path

from colony.coding.claude import Claude
from colony.coding.protocol import CodingAgent
from colony.coding.stand_in.agent import StandIn
from colony.core.session import Runner
from colony.errors import UsageProblem


def agent_for(runner: Runner) -> CodingAgent:
    match runner.agent:
        case "claude":
            return Claude(runner.program)
        case "stand-in":
            return StandIn(Path(runner.program) if runner.program else None)
        case _:
            raise UsageProblem(f"no coding agent is called {runner.agent}")
