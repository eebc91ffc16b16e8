"""Whether a tracker is a live one: on another machine, where others work with it too."""

from __future__ import annotations

import re
from typing import Final

from colony.core.loopback import is_loopback

_AUTHORITY: Final = re.compile(r"(https?|postgresql)://([^/?#]*)")


def is_live(url: str) -> bool:
    """False for a file, for a server on this machine, and for a database behind a socket."""
    found = _AUTHORITY.match(url)
    if found is None:
        return False
    host = found[2].rpartition("@")[2]
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    socket = found[1] == "postgresql" and (not name or name.lower().startswith("%2f"))
    return not (socket or is_loopback(name.lower()))
