"""A tracker's clock, as the `Date` of its answers tells it: seconds, cut off, somewhere on the way.

Each answer bounds the distance between two clocks from both sides. Bounds of several answers are
laid over each other; where they contradict, a clock has jumped, and the newest answer alone counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DATE_MS: Final = 1000
"""How much later than its `Date` an answer can have been given."""


@dataclass(frozen=True, slots=True)
class Offset:
    """Milliseconds from the own clock to the tracker's: at least `low_ms`, at most `high_ms`."""

    low_ms: int
    high_ms: int

    @property
    def ms(self) -> int:
        return (self.low_ms + self.high_ms) // 2


def heard(before: Offset | None, sent_ms: int, got_ms: int, date_ms: int) -> Offset | None:
    """The offset after an answer of `date_ms` to a request sent and answered by the own clock."""
    now = Offset(date_ms - got_ms, date_ms + DATE_MS - sent_ms)
    if now.low_ms > now.high_ms:
        # The own clock went back in between: nothing can be said.
        return before
    if before is None or before.high_ms < now.low_ms or now.high_ms < before.low_ms:
        return now
    return Offset(max(before.low_ms, now.low_ms), min(before.high_ms, now.high_ms))
