"""What a ticket says when its operator wants it tried anew."""

from __future__ import annotations

from colony.core.markers import Retry
from colony.core.texts.layout import lay


def retried(at_ms: int) -> str:
    """From here on starts, attempts, half-done rounds and failed checks count anew."""
    return lay("It may be tried anew: what was tried before counts no more.", machine=Retry(at_ms))
