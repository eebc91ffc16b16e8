"""What this home's sessions cost today, and what may be spent on a day."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from colony.core.account import Used
from colony.core.lines import Json

DAY_MS: Final = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Spent:
    """US dollars since 00:00 UTC, and how many a day may cost; None: as many as it does."""

    usd: float = 0.0
    limit_usd: float | None = None
    until_ms: int = 0
    """When the next day begins."""

    @property
    def reached(self) -> bool:
        return self.limit_usd is not None and self.usd >= self.limit_usd

    @property
    def text(self) -> str:
        """`spent $12.30 of $20.00 today`; empty where nothing limits it."""
        if self.limit_usd is None:
            return ""
        return f"spent ${self.usd:.2f} of ${self.limit_usd:.2f} today"

    @property
    def facts(self) -> dict[str, Json]:
        if self.limit_usd is None:
            return {}
        return {"spentUsd": round(self.usd, 4), "limitUsd": self.limit_usd}


def spent_today(parts: Iterable[Used], limit_usd: float | None, now_ms: int) -> Spent:
    """By when a part ended: what it costs is known then."""
    today_ms = now_ms - now_ms % DAY_MS
    usd = sum(
        part.cost_usd
        for part in parts
        if part.ended_ms is not None and today_ms <= part.ended_ms < today_ms + DAY_MS
    )
    return Spent(usd, limit_usd, today_ms + DAY_MS)
