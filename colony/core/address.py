"""Addresses of trackers: a database file on this machine, or a server."""

from __future__ import annotations

from typing import Final

EMBEDDED: Final = "sqlite:///"
MEMORY: Final = f"{EMBEDDED}:memory:"

_SERVED: Final = ("http://", "https://")


def is_served(url: str) -> bool:
    """The tracker is behind a server: it has no file here, and tokens say who is who."""
    return url.startswith(_SERVED)


def is_embedded(url: str) -> bool:
    return url.startswith(EMBEDDED)


def file_in(url: str) -> str | None:
    """The path of an embedded tracker's file, as the address has it; None where it has none."""
    return url.removeprefix(EMBEDDED) if is_embedded(url) and url != MEMORY else None
