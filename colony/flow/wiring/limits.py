"""Wiring for limits: who holds the sessions of this machine to what they may take."""

from __future__ import annotations

from colony.config import Settings
from colony.flow.machine import Machine
from colony.host.boxes import SystemBoxes
from colony.host.cgroup import Grouped, Tier, tier_of, told

here = tier_of


def machine_with(tier: Tier) -> Machine:
    """This machine; its sessions are grouped so."""
    return Machine(boxes=SystemBoxes(tier))


def only_looked_at(settings: Settings, tier: Tier) -> str:
    """What a person must be told of a limit that no kernel holds; empty: nothing."""
    if isinstance(tier, Grouped) or not settings.work.session_memory_max_mb:
        return ""
    return f"COLONY_SESSION_MEMORY_MAX_MB: {told(tier)}"
