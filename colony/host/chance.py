"""Chance: names that nobody else has. The one place of the program that rolls dice."""

from __future__ import annotations

import re
import secrets
import uuid
from datetime import UTC, datetime
from typing import Final, Protocol

from colony.core.markers.words import SESSION_PATTERN

SESSION: Final = re.compile(SESSION_PATTERN, re.ASCII)
"""What a session is called."""


def named_ms(session: str) -> int:
    """The minute in a session's name, milliseconds UTC; 0 where no calendar has it."""
    try:
        named = datetime.strptime(session[2:15], "%Y%m%dT%H%M").replace(tzinfo=UTC)
    except ValueError:
        return 0
    return int(named.timestamp()) * 1000


class Chance(Protocol):
    def session_id(self, now_ms: int) -> str:
        """`s-<UTC yyyymmddThhmm>-<6 hex>`."""
        ...

    def uuid4(self) -> str: ...

    def fraction(self) -> float:
        """A number from 0 up to, not including, 1: for spreading retries."""
        ...


class SystemChance:
    """The kernel's randomness."""

    def session_id(self, now_ms: int) -> str:
        minute = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y%m%dT%H%M")
        return f"s-{minute}-{secrets.token_hex(3)}"

    def uuid4(self) -> str:
        return str(uuid.uuid4())

    def fraction(self) -> float:
        return secrets.randbits(53) / (1 << 53)

    def token(self) -> str:
        """A secret that nobody guesses: `tkt_` and 256 bits as 43 characters."""
        return f"tkt_{secrets.token_urlsafe(32)}"
