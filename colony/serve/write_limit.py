"""How many writes a second one token may make: a token bucket for each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class _Bucket:
    left: float
    at_s: float


class WriteLimit:
    """`rate` writes a second, as many at once after a pause; 0: no limit.

    Only used on the event loop, so that it needs no lock.
    """

    def __init__(self, rate: int, boot_s: Callable[[], float]) -> None:
        self._rate = rate
        self._boot_s = boot_s
        self._buckets: dict[str, _Bucket] = {}

    def wait_s(self, token: str) -> int:
        """Count one write: 0 where it may be made, else the seconds after which one may be."""
        if self._rate == 0:
            return 0
        now_s = self._boot_s()
        bucket = self._buckets.setdefault(token, _Bucket(self._rate, now_s))
        refilled = bucket.left + (now_s - bucket.at_s) * self._rate
        bucket.left, bucket.at_s = min(float(self._rate), refilled), now_s
        if bucket.left < 1:
            return max(1, math.ceil((1 - bucket.left) / self._rate))
        bucket.left -= 1
        return 0
