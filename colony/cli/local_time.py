"""A moment as a person reads it, on the clock of a place."""

from __future__ import annotations

from datetime import datetime, tzinfo


def when(at_ms: int, there: tzinfo) -> str:
    """`2026-01-31 20:42 CET`; of a moment that no calendar has, the milliseconds."""
    try:
        return datetime.fromtimestamp(at_ms / 1000, there).strftime("%Y-%m-%d %H:%M %Z")
    except (OverflowError, ValueError, OSError):
        return f"{at_ms} ms"
