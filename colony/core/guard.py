"""What is expected of a session, and what is kept free, as it was set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Guard:
    """Sizes are bytes; `core.admission` is the rule."""

    on: bool
    session_memory: int = 1024 * MIB
    memory_percent: int = 10
    warmup_ms: int = 600_000
    """How long what a session is expected to hold cannot be seen in a reading."""
    session_disk: int = 2048 * MIB
    disk_percent: int = 10
    memory_limit: int | None = None
    """A limit that a person states; it can only lower the line."""


OFF: Final = Guard(on=False)
