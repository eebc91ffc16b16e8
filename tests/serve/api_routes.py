"""Every route of the API with a body that it takes, and who may use it."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

import httpx

from colony.core.records import SessionRecord
from colony.core.ticket import Me, NewTicket, Ref
from colony.tracker.protocol import ANY
from colony.tracker.writes import Block, SetParent, TicketWrite
from tests.fakes.served import Store, in_memory, serving

ONE: Final = "/api/tickets/shop/1"
TICKET: Final = "/api/tickets/{project}/{number}"
NAME: Final = "s-20260101T0000-abcdef"
SESSION: Final[dict[str, Any]] = {"project": "shop", "number": 1, "host": "h1", "phase": "new"}
TWO: Final[dict[str, Any]] = {"project": "shop", "number": 2}

EVERYBODY: Final = frozenset({"owner", "admin", "edit", "use", "none", "machine"})
EDITORS: Final = frozenset({"owner", "admin", "edit", "machine"})
CREATORS: Final = frozenset({"owner", "admin"})
MACHINES: Final = frozenset({"machine"})


@dataclass(frozen=True)
class Route:
    method: str
    template: str
    """As the API's description names it."""
    path: str
    body: dict[str, Any] | None = None
    may: frozenset[str] = EVERYBODY
    """Which of those with a token are not answered 403."""
    public: bool = True
    """GET: whether `--public-read` opens it."""
    required: tuple[str, ...] = ()
    """Keys that the body cannot do without."""

    def __str__(self) -> str:
        return f"{self.method} {self.template}"


READS: Final = (
    Route("GET", "/api/tickets", "/api/tickets"),
    Route("GET", TICKET, ONE),
    Route("GET", "/api/events", "/api/events"),
    Route("GET", "/api/projects", "/api/projects"),
    Route("GET", "/api/projects/{project}", "/api/projects/shop"),
    Route("GET", "/api/sessions", "/api/sessions"),
    Route("GET", "/api/sessions/{session}", f"/api/sessions/{NAME}"),
    Route("GET", "/api/sessions/{session}/tail", f"/api/sessions/{NAME}/tail"),
    Route("GET", "/api/hosts", "/api/hosts"),
    Route("GET", "/metrics", "/metrics"),
    Route("GET", "/api/me", "/api/me", public=False),
)
WRITES: Final = (
    Route(
        "POST", "/api/tickets", "/api/tickets", {"project": "shop", "subject": "New"},
        required=("project", "subject"),
    ),
    Route("POST", f"{TICKET}/comments", f"{ONE}/comments", {"text": "x"}, required=("text",)),
    Route(
        "POST", f"{TICKET}/state", f"{ONE}/state", {"state": "progress"}, EDITORS,
        required=("state",),
    ),
    Route("PATCH", TICKET, ONE, {"subject": "Other"}, EDITORS),
    Route(
        "POST", f"{TICKET}/blocked-by", f"{ONE}/blocked-by", TWO, EDITORS,
        required=("project", "number"),
    ),
    Route(
        "DELETE", f"{TICKET}/blocked-by", "/api/tickets/shop/3/blocked-by", TWO, EDITORS,
        required=("project", "number"),
    ),
    Route(
        "POST", f"{TICKET}/parent", f"{ONE}/parent", TWO, EDITORS, required=("project", "number")
    ),
    Route("DELETE", f"{TICKET}/parent", "/api/tickets/shop/3/parent", None, EDITORS),
    Route("POST", "/api/projects", "/api/projects", {"name": "yard"}, required=("name",)),
    Route(
        "POST", "/api/projects/{project}/members", "/api/projects/shop/members",
        {"user": "mia", "role": "edit"}, CREATORS, required=("user", "role"),
    ),
    Route(
        "DELETE", "/api/projects/{project}/members/{user}", "/api/projects/shop/members/mia",
        None, CREATORS,
    ),
    Route(
        "PUT", "/api/sessions/{session}", f"/api/sessions/{NAME}", SESSION | {"phase": "working"},
        MACHINES, required=("project", "number", "host", "phase"),
    ),
    Route(
        "PUT", "/api/sessions/{session}/tail", f"/api/sessions/{NAME}/tail", {"text": "now"},
        MACHINES, required=("text",),
    ),
    Route(
        "PUT", "/api/hosts/{host}", "/api/hosts/h1", {"slots": 1, "running": 0}, MACHINES,
        required=("slots", "running"),
    ),
)  # fmt: skip
OPEN: Final = (Route("GET", "/api/health", "/api/health"),)
"""Without any token."""
WITH_BODY: Final = tuple(each for each in WRITES if each.body is not None)


def furnish(store: Store) -> None:
    """What the routes above are about: `shop` with three tickets, a member mia, a session."""
    service = store.service
    anna = store.user("anna", owner=True)
    machine = store.user("colony", machine=True)
    for at in range(3):
        service.create(anna, NewTicket("shop", f"Ticket {at}"), key=f"ticket {at}")
    _write(store, anna, 3, Block(Ref("shop", 2)))
    _write(store, anna, 3, SetParent(Ref("shop", 2)))
    service.set_member(anna, "shop", "mia", "use", key="mia")
    service.put_session(machine, SessionRecord(NAME, Ref("shop", 1), "h1", "new"))


def _write(store: Store, me: Me, number: int, what: TicketWrite) -> None:
    store.service.write(me, Ref("shop", number), what, key=f"{number} {what}", guard=ANY)


def held(store: Store) -> object:
    """All that the store holds and anybody can see, tokens apart."""
    service = store.service
    sessions = service.sessions()
    return (
        service.version(),
        service.tickets(),
        service.changes(0, 10_000),
        [service.project(name) for name in service.projects()],
        [(each, service.tail(each.id)) for each in sessions],
        service.hosts(),
    )


@dataclass
class Site:
    """A served tracker that several tests may share. `anna` owns it, `colony` is a machine."""

    url: str
    store: Store
    tokens: dict[str, str] = field(default_factory=dict)
    clients: dict[str | None, httpx.Client] = field(default_factory=dict)
    described: dict[str, Any] = field(default_factory=dict)

    def token(self, name: str) -> str:
        if name not in self.tokens:
            kind = {"anna": {"owner": True}, "colony": {"machine": True}}.get(name, {})
            self.tokens[name] = self.store.token(name, **kind)
        return self.tokens[name]

    def client(self, name: str | None = "anna") -> httpx.Client:
        """With this user's token; None: without any."""
        if name not in self.clients:
            headers = {} if name is None else {"authorization": f"Bearer {self.token(name)}"}
            self.clients[name] = httpx.Client(
                base_url=self.url, headers=headers, timeout=60, trust_env=False
            )
        return self.clients[name]

    def description(self) -> dict[str, Any]:
        if not self.described:
            self.described.update(self.client(None).get("/openapi.json").json())
        return self.described

    def documented(self, route: Route) -> set[int]:
        """The statuses that the API's description names for a route."""
        operation = self.description()["paths"][route.template][route.method.lower()]
        return {int(status) for status in operation["responses"]}


@contextmanager
def site(store: Store | None = None, **settings: Any) -> Iterator[Site]:
    own = store or in_memory()
    try:
        with serving(own, **{"public_url": "https://tracker.example"} | settings) as url:
            served = Site(url, own)
            try:
                yield served
            finally:
                for client in served.clients.values():
                    client.close()
    finally:
        if store is None:
            own.close()


# --- requests that no client library would send -------------------------------------------


@dataclass(frozen=True)
class Raw:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def raw(url: str, request: bytes, *, finish: bool = True) -> Raw | None:
    """Send exactly these bytes; None where the server closes without an answer.

    `finish=False`: go away at once, without waiting for one.
    """
    place = urlsplit(url)
    assert place.hostname is not None
    with socket.create_connection((place.hostname, place.port or 80), timeout=30) as connection:
        try:
            connection.sendall(request)
            if not finish:
                return None
            answer = b""
            while part := connection.recv(65536):
                answer += part
        except (ConnectionResetError, BrokenPipeError):
            return None
    return _parsed(answer) if answer else None


def _parsed(answer: bytes) -> Raw:
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return Raw(int(first.split(" ")[1]), headers, body)


def head(method: str, path: str, token: str | None, *more: str) -> bytes:
    """A request's head; the connection ends with the answer."""
    lines = [f"{method} {path} HTTP/1.1", "Host: tracker.example", "Connection: close", *more]
    if token is not None:
        lines.append(f"Authorization: Bearer {token}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
