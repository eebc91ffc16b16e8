"""Ports of this machine: which of a range are in use, found out by binding them."""

from __future__ import annotations

import errno
import socket

from colony.core.ports import Range


def busy_ports(ports: Range) -> tuple[int, ...]:
    """Those of the range, both ends included, that cannot be bound on every address now."""
    return tuple(port for port in range(ports[0], ports[1] + 1) if not _can_bind(port))


def _can_bind(port: int) -> bool:
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):  # noqa: S104
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                # Connections of an ended server that are still closing do not count as use.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                probe.bind((address, port))
        except OSError as problem:
            without_ipv6 = problem.errno in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)
            if not (family == socket.AF_INET6 and without_ipv6):
                return False
    return True
