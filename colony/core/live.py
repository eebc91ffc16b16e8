"""Whether a tracker is other people's, too: what acts on it by itself must be told that it may."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from colony.core.address import is_embedded
from colony.core.loopback import is_loopback

_ADDRESS: Final = re.compile(r"[a-z]+://(?:[^@/?#]*@)?([^/?#]*)[^?#]*(?:\?([^#]*))?", re.ASCII)
_PORT: Final = re.compile(r":[0-9]*$", re.ASCII)
_SLASH: Final = re.compile("%2f", re.ASCII | re.IGNORECASE)


def is_live(url: str) -> bool:
    """True for a server, or a database server, that is not only on this machine; an address whose
    host cannot be read counts as one."""
    if is_embedded(url):
        return False
    found = _ADDRESS.match(url)
    if found is None:
        return True
    if url.startswith("postgresql:"):
        return not all(_is_here(host) for host in _database_hosts(found[1], found[2] or ""))
    return not is_loopback(_without_port(found[1]).lower())


def _database_hosts(authority: str, query: str) -> Iterator[str]:
    """Every host that the address names: it may list several, and name others after its `?`."""
    yield from map(_without_port, authority.split(","))
    for asked in query.split("&"):
        key, _, value = asked.partition("=")
        if key in ("host", "hostaddr"):
            yield from value.split(",")
        elif key in ("service", "servicefile") or "%" in key:
            # Its host stands elsewhere, or cannot be seen: as good as any other machine.
            yield "?"


def _without_port(host: str) -> str:
    return _PORT.sub("", host).removeprefix("[").removesuffix("]")


def _is_here(host: str) -> bool:
    """PostgreSQL's own socket is a folder, or no host at all."""
    host = _SLASH.sub("/", host).lower()
    return not host or (host.startswith("/") and "%" not in host) or is_loopback(host)
