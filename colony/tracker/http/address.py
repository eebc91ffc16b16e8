"""A server's address: what may be one, and the connection pool that leads there."""

from __future__ import annotations

import ssl
from typing import Final

import httpx

from colony.core.lines import clip
from colony.core.loopback import is_loopback
from colony.errors import UsageProblem

PORT_MAX: Final = 65535


def checked(base: str) -> str:
    try:
        url = httpx.URL(base)
    except (httpx.InvalidURL, UnicodeError):
        raise UsageProblem("the tracker's address cannot be read") from None
    port = url.port or 0
    if url.scheme not in ("http", "https") or not url.host or port > PORT_MAX:
        raise UsageProblem("the tracker's address must begin with http:// or https:// and a host")
    if url.userinfo or url.query or url.fragment:
        raise UsageProblem(
            "the tracker's address must hold no name, no password, no ? and no #:"
            " a token has a file of its own"
        )
    return str(url).rstrip("/")


def client_of(base: str, user_agent: str) -> httpx.Client:
    """Proxies are those of the environment, as httpx reads it, but none to this machine itself:
    a forgotten NO_PROXY must not hand the token to somebody else's program."""
    url = httpx.URL(base)
    headers = {"user-agent": user_agent, "accept": "application/json", "accept-encoding": "gzip"}
    try:
        return httpx.Client(
            headers=headers,
            verify=_trust(url.scheme),
            trust_env=not is_loopback(url.host),
            follow_redirects=False,
        )
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        raise UsageProblem(
            f"the environment's proxy cannot be used: {clip(str(error), 200)}"
        ) from None


def _trust(scheme: str) -> ssl.SSLContext:
    """The machine's own authorities; none at all where nothing is encrypted, which is quicker."""
    if scheme == "https":
        return ssl.create_default_context()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def joined(url: httpx.URL, location: str) -> httpx.URL | None:
    try:
        return url.join(location)
    except (httpx.InvalidURL, UnicodeError, ValueError):
        return None


def same_origin(one: httpx.URL, other: httpx.URL) -> bool:
    return (one.scheme, one.host, _port(one)) == (other.scheme, other.host, _port(other))


def _port(url: httpx.URL) -> int | None:
    return url.port or {"http": 80, "https": 443}.get(url.scheme)


def place(url: httpx.URL) -> str:
    """The server, as a person names it."""
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace').rpartition('@')[2]}"
