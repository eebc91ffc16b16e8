"""Whether a tracker is other people's, too: what acts on it by itself must be told that it may."""

from __future__ import annotations

import re
from typing import Final

from colony.core.address import is_embedded
from colony.core.loopback import is_loopback

_HOST: Final = re.compile(r"[a-z]+://(?:[^@/?#]*@)?(?:\[([^\]]*)\]|([^:/?#]*))", re.ASCII)
_QUERY: Final = re.compile(r"[?&]host=([^&#]*)", re.ASCII)


def is_live(url: str) -> bool:
    """True for a server, or a database server, that is not only on this machine; an address whose
    host cannot be read counts as one."""
    if is_embedded(url):
        return False
    found = _HOST.match(url)
    named = _QUERY.search(url)
    host = (found[1] or found[2]) if found else ""
    if url.startswith("postgresql:"):
        host = host or (named[1] if named else "")
        # PostgreSQL's own socket: a folder, or no host at all.
        if not host or host.lower().startswith(("/", "%2f")):
            return False
    return not is_loopback(host)
