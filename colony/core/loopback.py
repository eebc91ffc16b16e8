"""Whether a name or an address can only be this machine."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """A name, or an address with or without its zone (`fe80::1%eth0`). Nothing is looked up."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
