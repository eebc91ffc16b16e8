"""A client that notes what it asks and how many bytes come back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from colony.tracker.http.answer import Raw, Trouble
from colony.tracker.http.client import Http


@dataclass(frozen=True)
class Exchange:
    asked: str
    """Method and path with query."""
    status: int
    """0: no whole answer came."""
    size: int
    """Bytes of the answer's body, unpacked."""


class CountedHttp(Http):
    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.exchanges: list[Exchange] = []

    def _exchange(self, request: Any, url: Any, *rest: Any) -> Raw | Trouble:
        raw = super()._exchange(request, url, *rest)
        told = (raw.status, len(raw.body)) if isinstance(raw, Raw) else (0, 0)
        self.exchanges.append(
            Exchange(f"{request.method} {url.raw_path.decode().removeprefix('/api')}", *told)
        )
        return raw
