"""The brake on expiry: when many leases seem dead at once, the fault is likely ours, not theirs.

A loop that was paused, a tracker that was away and a clock that jumped all look like sessions that
fell silent. So nothing is given back for a while, and then one lease at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from colony.core.spans import show_span

QUIET: Final = 3
"""Iterations in which nothing is expired once the brake is on."""
MANY: Final = 3
"""Fewer dead leases than this brake nothing."""


@dataclass(frozen=True, slots=True)
class Brake:
    """What is known of the last iteration. `left` counts the quiet iterations that are still to
    come; `slow`: they are over, one lease an iteration."""

    boot_s: float | None = None
    tracker_ms: int = 0
    left: int = 0
    slow: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """One iteration. `boot_s` counts through suspend; `tracker_ms` is the tracker's time."""

    boot_s: float
    tracker_ms: int
    interval_s: float
    """How long the loop meant to wait."""
    ttl_ms: int
    leases: int
    """That can be expired from here at all (`plan.at_stake`)."""
    dead: int
    """Of these, past their time."""


@dataclass(frozen=True, slots=True)
class Braked:
    """How many leases may be expired now (None: all), and what is said, once."""

    state: Brake
    expiries: int | None
    said: str = ""


def brake(state: Brake, look: Look) -> Braked:
    """The next state, from the last one and this iteration. The first one of a loop is no pause."""
    why = _surprise(state, look)
    if not why and not (state.left or state.slow) and crowded(look.leases, look.dead):
        # Once is enough: those that are being worked off are still a crowd.
        why = f"{look.dead} of {look.leases} leases seem dead at once"
    seen = replace(state, boot_s=look.boot_s, tracker_ms=look.tracker_ms)
    if why:
        said = f"{why}: no lease is expired for {QUIET} iterations, then one an iteration"
        return Braked(replace(seen, left=QUIET - 1, slow=False), 0, said)
    if state.left:
        return Braked(replace(seen, left=state.left - 1, slow=state.left == 1), 0)
    if state.slow and look.dead:
        return Braked(seen, 1)
    return Braked(replace(seen, slow=False), None)


def crowded(leases: int, dead: int) -> bool:
    """More than a third of all leases, and at least three, seem dead at once."""
    return dead >= MANY and dead * 3 > leases


def _surprise(state: Brake, look: Look) -> str:
    """What has happened to the loop or to a clock since the last look; it counts each time."""
    half_s = look.ttl_ms / 2000
    if state.boot_s is None:
        return ""
    passed_s = look.boot_s - state.boot_s
    if passed_s - look.interval_s > half_s:
        return f"the loop saw nothing of the tracker for {show_span(int(passed_s * 1000))}"
    jumped_s = (look.tracker_ms - state.tracker_ms) / 1000 - passed_s
    if abs(jumped_s) > half_s:
        way = "on" if jumped_s > 0 else "back"
        return f"the tracker's clock jumped {way} by {show_span(int(abs(jumped_s) * 1000))}"
    return ""
