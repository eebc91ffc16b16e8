"""Tokens: what persons and machines show to a server, and who it takes them for.

A secret is `tkt_` and 43 characters of chance, made by the caller. It is shown once; the store
keeps its SHA-256, which is enough for a secret that nobody can guess.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Final

from colony.core.records import TokenRow
from colony.core.ticket import Me
from colony.errors import Invalid, NotFound
from colony.tracker import limits
from colony.tracker.sql import tokens
from colony.tracker.sql.engine import Engine

SECRET: Final = re.compile(r"tkt_[A-Za-z0-9_-]{43}", re.ASCII)


class Tokens:
    """The tokens of one store. `clock` gives milliseconds UTC."""

    def __init__(self, engine: Engine, clock: Callable[[], int]) -> None:
        self._engine = engine
        self._clock = clock

    def make(self, user: Me, secret: str, expires_ms: int | None = None) -> str:
        """The id of a new token for a user whom `Service.sign_in` gave."""
        if SECRET.fullmatch(secret) is None:
            raise Invalid("token: not a secret that can be given out")
        now_ms = self._clock()
        if expires_ms is not None and expires_ms <= now_ms:
            raise Invalid("expires: lies in the past")
        if expires_ms is not None and expires_ms != limits.integer(expires_ms):
            raise Invalid("expires: lies too far away")
        with self._engine.writing() as db:
            return tokens.add(db, user.user_id, _hashed(secret), now_ms, expires_ms)

    def every(self) -> tuple[TokenRow, ...]:
        with self._engine.reading() as db:
            return tokens.every(db)

    def owner_may_come(self) -> bool:
        """Whether some owner has a token that is still good."""
        now_ms = self._clock()
        return any(
            row.owner
            and row.revoked_ms is None
            and (row.expires_ms is None or now_ms < row.expires_ms)
            for row in self.every()
        )

    def revoke(self, token: str) -> None:
        """NotFound: no token of this id is still good."""
        with self._engine.writing() as db:
            if not tokens.revoke(db, token, self._clock()):
                raise NotFound(f"there is no token {token[:20]!a} that is still good")

    def holder(self, secret: str) -> Me | None:
        """Whose secret it is; None where it is nobody's, expired or revoked."""
        if SECRET.fullmatch(secret) is None:
            return None
        with self._engine.reading() as db:
            return tokens.holder(db, _hashed(secret), self._clock())


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
