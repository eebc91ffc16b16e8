"""A provider's account endpoint on loopback, for the real Claude Code; it lets nothing out.

The program asks `api.anthropic.com` for an account's quota, whatever its base URL is. Through
`HTTPS_PROXY` it asks this server, which answers in the provider's name with a certificate that
was made up for it (self-signed, with its key, in `account_stub.pem`) and that the program is told
to trust by `NODE_EXTRA_CA_CERTS`.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PEM = Path(__file__).with_suffix(".pem")


@dataclass
class Account:
    """`usage` is the body of the quota's answer, with this `status`; everything else is 404."""

    port: int
    usage: Any
    status: int = 200
    asked: list[str] = field(default_factory=list)
    """Method and path of each request."""

    @property
    def env(self) -> dict[str, str]:
        proxy = f"http://127.0.0.1:{self.port}"
        return {"HTTPS_PROXY": proxy, "HTTP_PROXY": proxy, "NODE_EXTRA_CA_CERTS": str(PEM)}


@contextmanager
def serve_account(usage: Any, status: int = 200) -> Iterator[Account]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(PEM)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        account = Account(listener.getsockname()[1], usage, status)
        thread = threading.Thread(target=_accept, args=(listener, context, account), daemon=True)
        thread.start()
        yield account
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def _accept(listener: socket.socket, context: ssl.SSLContext, account: Account) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return
        client.settimeout(20)
        threading.Thread(target=_serve, args=(client, context, account), daemon=True).start()


def _serve(client: socket.socket, context: ssl.SSLContext, account: Account) -> None:
    with suppress(OSError), client:
        if not _head(client).startswith("CONNECT api.anthropic.com:443 "):
            client.sendall(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
            return
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        with context.wrap_socket(client, server_side=True) as inside:
            request = " ".join(_head(inside).split(" ")[:2])
            account.asked.append(request)
            found = request.split("?")[0] == "GET /api/oauth/usage"
            body = json.dumps(account.usage if found else {}).encode()
            head = (
                f"HTTP/1.1 {account.status if found else 404} -\r\n"
                f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
                "connection: close\r\n\r\n"
            )
            inside.sendall(head.encode() + body)


def _head(connection: socket.socket) -> str:
    got = b""
    while b"\r\n\r\n" not in got:
        piece = connection.recv(65_536)
        if not piece:
            break
        got += piece
    return got.decode("latin-1")
