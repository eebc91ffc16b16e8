"""What hosts tell the tracker beside tickets: their sessions, and themselves.

Records are news, not history: each `put` replaces the one before it, and none is an event. Times
are integer milliseconds UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from colony.core.lines import Json
from colony.core.ticket import Ref

TAIL_MAX: Final = 64 * 1024
"""Bytes of UTF-8 kept of what a session says right now."""


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A session as its host last told it. `id` is the session's name."""

    id: str
    ref: Ref
    host: str
    phase: str
    """`new leased working parked reported judged posting ended`."""
    account: str = ""
    """Which login of the coding agent it runs under."""
    token: int | None = None
    """The lease's fencing number."""
    step: str = ""
    """What it does within the phase."""
    started_ms: int | None = None
    ended_ms: int | None = None
    cost_usd: float = 0.0
    last_tool: str = ""
    outcome: str = ""
    report: Json = None
    """The worker's report as JSON; None: there is none yet."""
    verdict: Json = None
    updated_ms: int = 0
    """When the tracker was told; set by the tracker."""


@dataclass(frozen=True, slots=True)
class HostRecord:
    """A machine that runs sessions. `quota`, `memory`, `disk`, `iteration` are its own words."""

    name: str
    slots: int
    running: int
    quota: Json = None
    memory: Json = None
    disk: Json = None
    iteration: Json = None
    seen_ms: int = 0
    """When the tracker was told; set by the tracker."""


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token as it is listed: never the secret, which is shown once and kept as a hash."""

    id: str
    user: str
    machine: bool
    owner: bool
    created_ms: int
    expires_ms: int | None
    revoked_ms: int | None
