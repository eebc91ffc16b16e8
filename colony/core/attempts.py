"""How often a ticket was tried, and with what luck: read from its history alone.

Counting begins anew with `colony-retry`. Attempts and half-done rounds are also counted anew when
the ticket comes out of `pending`: somebody decided that it goes on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from colony.core.markers import (
    LeaseLine,
    Marker,
    NoVerdict,
    Report,
    Retry,
    Run,
    Verdict,
    marker_of,
)
from colony.core.ticket import Event

HOUR_MS: Final = 3_600_000
GROWTHS_MAX: Final = 2
"""Times that an attempt gets half as many steps more."""
MEMORY_TIMES_MAX: Final = 4
"""What an attempt gets of memory at most, of what is set."""

OUT_OF_STEPS: Final = "out of steps"
OUT_OF_MEMORY: Final = "out of memory"
DEAD: Final = frozenset({"killed", "crashed"})
"""Words of `core.endings`, as machine lines have them: `next` loads no table of endings."""


@dataclass(frozen=True, slots=True)
class Attempts:
    starts_ms: tuple[int, ...] = ()
    """When sessions were started."""
    in_vain: int = 0
    """Sessions in a row that brought nothing."""
    half_done: int = 0
    """Rounds in a row that ended half done."""
    short: int = 0
    """Sessions in a row that brought something and ran out of steps."""
    starved: int = 0
    """Sessions that ran out of memory, in a row or not: what the work needs stays what it is,
    whatever else happens to the ticket. Only `colony-retry` forgets them."""


NONE: Final = Attempts()


def attempts_of(events: Iterable[Event]) -> Attempts:
    """From a ticket's events, oldest first."""
    found = NONE
    for event in events:
        if event.kind == "state" and event.before == "pending" and event.after != "canceled":
            found = Attempts(found.starts_ms, starved=found.starved)
        marker = marker_of(event)
        if marker is None:
            continue
        if isinstance(marker, LeaseLine) and marker.kind == "started" and event.kind == "state":
            found = replace(found, starts_ms=(*found.starts_ms, event.at_ms))
        found = _after(found, marker)
    return found


def _after(found: Attempts, marker: Marker) -> Attempts:
    match marker:
        case Retry():
            return NONE
        case Run():
            return _run(found, marker)
        case Report(late=True):
            return found
        case Report(half_done=True, spent=spent):
            short = found.short + 1 if spent.out_of_steps else 0
            return replace(found, in_vain=0, half_done=found.half_done + 1, short=short)
        case Report():
            return Attempts(found.starts_ms, starved=found.starved)
        case Verdict() | NoVerdict():
            return replace(found, in_vain=0, short=0)
        case _:
            return found


def _run(found: Attempts, run: Run) -> Attempts:
    """A session without a result. What was not the ticket's fault costs it nothing, unless its
    processes died each time."""
    if run.how == "given back" and run.reason not in DEAD:
        return found
    if run.reason == OUT_OF_MEMORY:
        found = replace(found, starved=found.starved + 1)
    if run.spent.progress:
        short = found.short + 1 if run.reason == OUT_OF_STEPS else 0
        return replace(found, in_vain=0, short=short)
    return replace(found, in_vain=found.in_vain + 1, short=0)


def cost_cents(events: Iterable[Event], but: str) -> int:
    """What all sessions on the ticket but this one cost, as far as their lines note it."""
    costs: dict[str, int] = {}
    for event in events:
        marker = marker_of(event)
        if isinstance(marker, Run | Report | Verdict | NoVerdict) and marker.session != but:
            # Each line of a session notes the whole session.
            noted = marker.spent.cost_cents or 0
            costs[marker.session] = max(noted, costs.get(marker.session, 0))
    return sum(costs.values())


def is_cost_known(events: Iterable[Event], but: str) -> bool:
    """False where one of these sessions was cut off: `cost_cents` is then a lower bound."""
    markers = map(marker_of, events)
    noted = (each for each in markers if isinstance(each, Run | Report | Verdict | NoVerdict))
    return not any(each.spent.lower_bound for each in noted if each.session != but)


def in_vain(run: Run) -> bool:
    """True where a session that ends with this line is an attempt that brought nothing."""
    return _run(NONE, run).in_vain == 1


def starts_within_the_hour(found: Attempts, now_ms: int) -> tuple[int, ...]:
    """When sessions were started in the last hour, oldest first."""
    return tuple(at_ms for at_ms in found.starts_ms if at_ms > now_ms - HOUR_MS)


def steps_for(base: int, found: Attempts) -> int:
    """Half as many more for each attempt that brought something and ran out, at most twice."""
    for _ in range(min(found.short, GROWTHS_MAX)):
        base = base * 3 // 2
    return base


def memory_for(base_mb: int, starved: int) -> int:
    """Half as much more for each attempt that ran out of memory, at most four times; 0 stays 0."""
    return min(round(base_mb * 1.5 ** min(starved, 8)), base_mb * MEMORY_TIMES_MAX)
