"""What a part of a session sees of Colony's own environment: an allowlist, never a filter."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from colony.core.ports import Range, show_range

ALLOWED: Final = frozenset(
    {"PATH", "HOME", "LANG", "LANGUAGE", "TERM", "TZ", "USER", "LOGNAME", "SHELL"}
    | {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"}
    | {"http_proxy", "https_proxy", "no_proxy", "all_proxy"}
    | {"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"}
    | {"CURL_CA_BUNDLE"}
)


def allowed(environ: Mapping[str, str], pass_env: Collection[str]) -> dict[str, str]:
    """The variables that every part gets: the list above, `LC_*`, and those named by the operator.

    Variables of Colony itself are never passed on, whatever the operator names.
    """
    return {
        name: value
        for name, value in environ.items()
        if (name in ALLOWED or name.startswith("LC_") or name in pass_env)
        and not name.startswith("COLONY_")
    }


def of_session(session: str, ports: Range, tmp: str) -> dict[str, str]:
    """What Colony adds: whose session it is, its ports, and scratch space of its own."""
    return {
        "COLONY_SESSION": session,
        "COLONY_PORTS": show_range(ports),
        "COLONY_PORT_FROM": str(ports[0]),
        "COLONY_PORT_TO": str(ports[1]),
        "TMPDIR": tmp,
    }


def masked(text: str, secrets: Mapping[str, str]) -> str:
    """`text` with the value of each test credential replaced by its name in brackets.

    Values under four characters are left: they would hit ordinary words.
    """
    for name, value in sorted(secrets.items(), key=lambda each: -len(each[1])):
        if len(value) >= 4:
            text = text.replace(value, f"[{name}]")
    return text
