"""Whether a tracker is other people's, too: what acts on it by itself must be told that it may."""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from colony.core.loopback import is_loopback


def is_live(url: str) -> bool:
    """True for a server, or a database server, that is not only on this machine; an address that
    cannot be read counts as one."""
    try:
        parts = urlsplit(url)
        if parts.scheme == "sqlite":
            return False
        if parts.scheme == "postgresql":
            return not all(_is_here(host) for host in _database_hosts(parts))
        return not is_loopback(parts.hostname or "")
    except ValueError:
        return True


def _database_hosts(parts: SplitResult) -> list[str]:
    """Every host that the address names: it may list several, and name others after its `?`."""
    asked = parse_qs(parts.query)
    named = [parts.hostname or "", *asked.get("host", []), *asked.get("hostaddr", [])]
    return [unquote(host) for each in named for host in each.split(",")]


def _is_here(host: str) -> bool:
    """PostgreSQL's own socket is a folder, or no host at all."""
    return not host or host.startswith("/") or is_loopback(host)
