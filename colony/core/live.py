"""Whether a tracker is other people's, too: what acts on it by itself must be told that it may."""

from __future__ import annotations

from urllib.parse import parse_qs, unquote, urlsplit

from colony.core.loopback import is_loopback


def is_live(url: str) -> bool:
    """True for a server, or a database server, that is not only on this machine; an address that
    cannot be read counts as one."""
    try:
        parts = urlsplit(url)
        if parts.scheme == "sqlite":
            return False
        host = parts.hostname or parse_qs(parts.query).get("host", [""])[0]
    except ValueError:
        return True
    host = unquote(host)
    # PostgreSQL's own socket: a folder, or no host at all.
    socket = parts.scheme == "postgresql" and (not host or host.startswith("/"))
    return not (socket or is_loopback(host))
