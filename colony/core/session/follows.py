"""What follows a part, by the one word for how it ended; and when a paused session may go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from colony.core.endings import Ending
from colony.core.session.facts import PartFacts
from colony.core.texts.lease import ParkReason

Follows = Literal["fix", "finalize", "again", "anew", "park", "back"]
"""*fix*: the report is asked for once more. *finalize*: the work stops, a report is asked for.
*again*: the same part goes on. *anew*: its conversation cannot be taken up, a fresh one begins.
*park*: the session waits. *back*: the ticket is given back."""

FOLLOWS: Final[dict[Ending, Follows]] = {
    Ending.REPORT: "fix",
    Ending.NO_REPORT: "fix",
    Ending.BAD_REPORT: "fix",
    Ending.OUT_OF_STEPS: "finalize",
    Ending.OUT_OF_TIME: "finalize",
    Ending.STALLED: "finalize",
    Ending.NEAR_LIMIT: "finalize",
    Ending.OUT_OF_BUDGET: "back",
    Ending.OUT_OF_MEMORY: "back",
    Ending.TOO_LONG: "back",
    Ending.REFUSED: "back",
    Ending.LIMIT: "park",
    Ending.PROVIDER: "park",
    Ending.LOGIN: "park",
    Ending.MODEL: "back",
    Ending.NO_BOX: "back",
    Ending.NO_ROOM: "back",
    Ending.NO_AGENT: "back",
    Ending.DISK: "back",
    Ending.STOPPED: "again",
    Ending.KILLED: "again",
    Ending.CRASHED: "again",
    Ending.LEASE_LOST: "again",
    Ending.POISONED: "anew",
}
"""After a part of the worker that left no report that holds. `report`: one that was refused."""

BROKEN: Final = frozenset({Ending.KILLED, Ending.CRASHED})
"""Ended by itself or from outside: so often and no more it is tried again."""
INTERRUPTED: Final = BROKEN | {Ending.STOPPED, Ending.LEASE_LOST}
"""Ended in the middle: such a check was no try."""

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 60 * MINUTE_MS
AGAIN_MS: Final[dict[Ending, tuple[int, ...]]] = {
    Ending.LIMIT: (MINUTE_MS, 15 * MINUTE_MS, HOUR_MS),
    Ending.PROVIDER: (MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS),
    Ending.LOGIN: (15 * MINUTE_MS, HOUR_MS),
    Ending.MODEL: (15 * MINUTE_MS, HOUR_MS),
}
"""Least pause after the first part in a row that ended so, after the second, and so on."""
UNKNOWN_RESET_MS: Final = 15 * MINUTE_MS
"""Pause for a limit that did not say until when it holds."""

_REASONS: Final[dict[Ending, ParkReason]] = {
    Ending.LIMIT: "limit",
    Ending.PROVIDER: "provider",
    Ending.LOGIN: "login",
}


def park_reason(ending: Ending | None) -> ParkReason | None:
    """Why a session is parked after a part that ended so; None: it is not."""
    return _REASONS.get(ending) if ending is not None else None


def resume_ms(parts: Sequence[PartFacts]) -> int:
    """When to go on after the last of these parts, whose ending parks. A limit may have told its
    end; the same end again and again is waited out longer (still limited after the reset)."""
    last = parts[-1]
    assert last.ended is not None
    row = 0
    for part in reversed(parts):
        if part.ended is not last.ended:
            break
        row += 1
    pauses = AGAIN_MS[last.ended]
    ended_ms = last.ended_ms or last.started_ms
    least_ms = ended_ms + pauses[min(row, len(pauses)) - 1]
    if last.ended is not Ending.LIMIT:
        return least_ms
    return max(least_ms, last.limit_until_ms or ended_ms + UNKNOWN_RESET_MS)
