"""How long to wait after a try that failed: longer each time, up to a quarter of an hour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LONGEST_MS: Final = 15 * 60_000


@dataclass(frozen=True, slots=True)
class Failed:
    """Tries in a row that failed, until when no other is made, and why the last one did."""

    count: int
    until_ms: int
    why: str


def failed(before: Failed | None, now_ms: int, first_ms: int, why: str) -> Failed:
    """One more failure. The first pause is `first_ms`, each later one twice the one before."""
    count = before.count + 1 if before is not None else 1
    pause_ms = min(first_ms << min(count - 1, 30), max(first_ms, LONGEST_MS))
    return Failed(count, now_ms + pause_ms, why)
