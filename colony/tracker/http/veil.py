"""What a server says, without the tokens that were sent to it: some repeat a request's head."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from colony.errors import ColonyError

TOKEN: Final = "[token]"  # noqa: S105 - what stands in its place


class Veil:
    """The tokens of one tracker's clients. Threads may share it."""

    def __init__(self) -> None:
        self._secrets: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    def know(self, secret: str) -> None:
        """From now on it is shown nowhere: as it is, percent-encoded, or as JSON writes it."""
        if secret and secret not in self._secrets:
            shown = {secret, quote(secret, safe=""), quote(secret), _in_json(secret)}
            with self._lock:
                self._secrets |= shown

    def over(self, text: str) -> str:
        secrets = self._secrets
        if not secrets:
            return text
        # The longest first: one may be the beginning of another.
        anyone = "|".join(re.escape(each) for each in sorted(secrets, key=len, reverse=True))
        # A host's name comes back in small letters.
        return re.sub(anyone, TOKEN, text, flags=re.IGNORECASE)

    def over_bytes(self, body: bytes) -> bytes:
        return self.over(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def over_headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        return {name: self.over(text) for name, text in headers.items()}

    def over_error(self, error: ColonyError) -> ColonyError:
        """The same kind of error, for its line."""
        line = self.over(error.line)
        return error if line == error.line else type(error)(line)


def _in_json(secret: str) -> str:
    return json.dumps(secret)[1:-1]
