"""A small tracker server of its own, as others have one: real HTTP, and nothing of Colony in it.

It speaks what a tracker must speak at least: projects, tickets with their histories, new tickets
(the same `source` again makes none), comments, states. No conditions, no idempotency keys, no
feed, no `me`, no sessions; rows know no lease, no priority, no last event. What it speaks beyond
that is chosen one by one (`Speaks`). Whoever stands at its door can lose its answers, and can do
something between a read and a write.
"""

from __future__ import annotations

import http.server
import json
import re
import threading
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any, Final

TODAY: Final = ("open", "progress", "review", "pending", "done", "reopened", "canceled")
OLDER: Final = (
    "open", "in progress", "awaiting creator", "answered", "on hold", "confirmed", "rejected",
)  # fmt: skip
BY_CREATORS: Final = frozenset({"done", "reopened", "canceled", "confirmed", "rejected"})

Raw = dict[str, Any]


@dataclass(frozen=True)
class Speaks:
    """What this server has."""

    older_words: bool = False
    members: bool = False
    """Projects tell their members, and events the ids of users."""
    relations: bool = False
    event_ids: bool = True
    same_state: bool = True
    """A ticket may be moved to the state that stands; else that is refused."""
    features: tuple[str, ...] | None = None
    """What `GET /api/projects` calls its features; None: it has no such list."""


class Answer(Exception):
    """A refusal: status and line."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status


class HangUp(Exception):
    """Nothing is done, and nothing answered."""


@dataclass
class BareTracker:
    """The server. `tokens`: token -> user. `creators` alone accept and send back."""

    clock: Callable[[], int]
    speaks: Speaks = Speaks()
    tokens: dict[str, str] = field(default_factory=dict)
    creators: frozenset[str] = frozenset({"alice"})
    editors: frozenset[str] = frozenset({"colony"})
    requests: list[tuple[str, str]] = field(default_factory=list)
    """Method and path with query, as they came."""
    before_write: Callable[[str], None] = lambda path: None
    """Called with the path when a write has come and nothing is done yet."""
    before_read: Callable[[str], None] = lambda path: None
    loses: Callable[[str, str], bool] = lambda method, path: False
    """Whether the answer to this request is lost, after it has been done."""

    def __post_init__(self) -> None:
        self.tickets: dict[tuple[str, int], Raw] = {}
        self.members: dict[str, str] = {}
        """Roles that were given later, in all projects alike."""
        self.last = 0
        self.lock = threading.RLock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.bare = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def token(self, user: str) -> str:
        """This user's token, made where there is none."""
        self.tokens[f"tkt_{user}"] = user
        return f"tkt_{user}"

    @property
    def states(self) -> tuple[str, ...]:
        return OLDER if self.speaks.older_words else TODAY

    # --- what can be done, also by a test that plays a person -----------------------------

    def create(self, user: str, body: Raw) -> tuple[int, Raw]:
        project, subject = body.get("project"), body.get("subject")
        if not isinstance(project, str) or not re.fullmatch("[a-z0-9][a-z0-9.-]*", project):
            raise Answer(422, "project: no such name")
        if not isinstance(subject, str) or not subject.strip():
            raise Answer(422, "subject: missing")
        with self.lock:
            source = body.get("source", "")
            for each in self.tickets.values():
                if source and (each["project"], each["source"]) == (project, source):
                    return 200, each
            number = 1 + sum(1 for each in self.tickets if each[0] == project)
            now = self.clock()
            ticket: Raw = {
                "project": project, "number": number, "subject": subject.strip(),
                "summary": body.get("summary", ""), "state": "open", "author": user,
                "source": source, "createdMs": now, "updatedMs": now, "events": [],
                "parent": None, "blockedBy": [],
            }  # fmt: skip
            self.tickets[project, number] = ticket
            self._event(ticket, user, "created", ticket["summary"], to="open")
            return 201, ticket

    def comment(self, user: str, project: str, number: int, text: object) -> Raw:
        if not isinstance(text, str) or not text.strip():
            raise Answer(422, "text: missing")
        with self.lock:
            ticket = self._ticket(project, number)
            event = self._event(ticket, user, "comment", text)
            if ticket["state"] == "awaiting creator" and user in self.creators:
                # As older trackers do by themselves: the creator has answered.
                self._move(ticket, user, "answered", "")
            return event

    def move(self, user: str, project: str, number: int, state: object, text: str = "") -> Raw:
        with self.lock:
            ticket = self._ticket(project, number)
            same = state == ticket["state"] and not self.speaks.same_state
            if state not in self.states or same:
                raise Answer(422, f"state: from {ticket['state']} to {state}")
            if state in BY_CREATORS and user not in self.creators:
                raise Answer(403, f"{user} may not move a ticket to {state}")
            self._move(ticket, user, str(state), text)
            return ticket

    def relate(self, user: str, project: str, number: int, what: str, body: Raw) -> Raw:
        if not self.speaks.relations:
            raise Answer(404, "no such page")
        with self.lock:
            ticket = self._ticket(project, number)
            other = (body.get("project"), body.get("number"))
            if body and other not in self.tickets:
                raise Answer(422, f"{what}: no such ticket")
            if what == "parent":
                ticket["parent"] = other if body else None
            elif other not in ticket["blockedBy"]:
                ticket["blockedBy"].append(other)
            ticket["updatedMs"] = self.clock()
            return ticket

    def unblock(self, project: str, number: int, body: Raw) -> Raw:
        with self.lock:
            ticket = self._ticket(project, number)
            other = (body.get("project"), body.get("number"))
            if not self.speaks.relations or other not in ticket["blockedBy"]:
                raise Answer(404, "no such page")
            ticket["blockedBy"].remove(other)
            ticket["updatedMs"] = self.clock()
            return ticket

    def _ticket(self, project: str, number: int) -> Raw:
        if (project, number) not in self.tickets:
            raise Answer(404, "no such ticket")
        return self.tickets[project, number]

    def _move(self, ticket: Raw, user: str, state: str, text: str) -> None:
        before, ticket["state"] = ticket["state"], state
        self._event(ticket, user, "state", text, before, state)

    def _event(
        self, ticket: Raw, user: str, kind: str, text: str, before: str = "", to: str = ""
    ) -> Raw:
        self.last += 1
        event: Raw = {
            "id": self.last, "kind": kind, "author": user, "atMs": self.clock(), "text": text,
        }  # fmt: skip
        if to:
            event |= {"from": before, "to": to}
        ticket["events"].append(event)
        ticket["updatedMs"] = max(self.clock(), ticket["updatedMs"])
        return event

    # --- what is shown --------------------------------------------------------------------

    def row(self, ticket: Raw, *, events: bool = False) -> Raw:
        shown = {
            key: value for key, value in ticket.items()
            if key not in ("events", "parent", "blockedBy")
        }  # fmt: skip
        if self.speaks.members:
            shown["userId"] = self.user_id(ticket["author"])
        if self.speaks.relations:
            shown |= self._relations(ticket)
        if events:
            shown["events"] = [self._shown(each) for each in ticket["events"]]
        return shown

    def user_id(self, user: str) -> str:
        return f"id-{user}"

    def _shown(self, event: Raw) -> Raw:
        shown = dict(event)
        if not self.speaks.event_ids:
            del shown["id"]
        if self.speaks.members:
            shown["userId"] = self.user_id(event["author"])
        return shown

    def _relations(self, ticket: Raw) -> Raw:
        me = (ticket["project"], ticket["number"])
        everybody = sorted(self.tickets.items())
        parent = ticket["parent"]
        return {
            "parent": parent and self._ref(parent),
            "children": [self._ref(key) for key, each in everybody if each["parent"] == me],
            "blockedBy": [self._ref(key) for key in ticket["blockedBy"]],
            "blocks": [self._ref(key) for key, each in everybody if me in each["blockedBy"]],
        }

    def _ref(self, key: tuple[str, int]) -> Raw:
        ticket = self.tickets[key]
        return {name: ticket[name] for name in ("project", "number", "state", "subject", "source")}

    def rows(self, query: dict[str, str]) -> Raw:
        with self.lock:
            found = [
                self.row(each, events=query.get("events") == "1")
                for each in sorted(
                    self.tickets.values(),
                    key=lambda each: (each["createdMs"], each["project"], each["number"]),
                )
                if query.get("project", each["project"]) == each["project"]
                and query.get("state", each["state"]) == each["state"]
                and each["updatedMs"] >= int(query.get("since", 0))
            ]
        return {"tickets": found}

    def projects(self) -> Raw:
        with self.lock:
            names = sorted({each[0] for each in self.tickets})
        shown: Raw = {"projects": [{"name": name} for name in names], "states": list(self.states)}
        if self.speaks.features is not None:
            shown["features"] = list(self.speaks.features)
        return shown

    def project(self, name: str) -> Raw:
        if not self.speaks.members or name not in {each[0] for each in self.tickets}:
            raise Answer(404, "no such page")
        people = dict.fromkeys(self.editors, "edit") | self.members
        people |= dict.fromkeys(self.creators, "admin")
        return {
            "name": name,
            "members": [
                {"user": user, "userId": self.user_id(user), "role": role}
                for user, role in sorted(people.items())
            ],
        }

    def set_member(self, name: str, body: Raw) -> Raw:
        self.project(name)
        self.members[body["user"]] = body["role"]
        return self.project(name)


class _Server(http.server.ThreadingHTTPServer):
    bare: BareTracker
    daemon_threads = False
    block_on_close = True


class _Handler(http.server.BaseHTTPRequestHandler):
    """One connection: one request. Paths are taken apart by hand."""

    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(self._read)

    def do_POST(self) -> None:
        self._answer(self._write)

    do_DELETE = do_PATCH = do_PUT = do_POST

    def _answer(self, do: Callable[[BareTracker, str], tuple[int, Raw]]) -> None:
        bare = self.server.bare
        self.close_connection = True
        bare.requests.append((self.command, self.path))
        size = int(self.headers.get("Content-Length", 0))
        self.sent = self.rfile.read(size)
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        try:
            if token not in bare.tokens:
                raise Answer(401, "who are you?")
            status, body = do(bare, bare.tokens[token])
        except HangUp:
            return
        except Answer as refusal:
            status, body = refusal.status, {"error": str(refusal)}
        if bare.loses(self.command, self.path):
            return
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def date_time_string(self, timestamp: float | None = None) -> str:
        return formatdate(self.server.bare.clock() / 1000, usegmt=True)

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads a log."""

    def _read(self, bare: BareTracker, user: str) -> tuple[int, Raw]:
        bare.before_read(self.path)
        asked = urllib.parse.urlsplit(self.path)
        match asked.path.strip("/").split("/"):
            case ["api", "projects"]:
                return 200, bare.projects()
            case ["api", "projects", name]:
                return 200, bare.project(name)
            case ["api", "tickets"]:
                return 200, bare.rows(dict(urllib.parse.parse_qsl(asked.query)))
            case ["api", "tickets", project, number]:
                with bare.lock:
                    return 200, bare.row(bare._ticket(project, int(number)), events=True)
        raise Answer(404, "no such page")

    def _write(self, bare: BareTracker, user: str) -> tuple[int, Raw]:
        try:
            body = json.loads(self.sent or b"{}")
        except ValueError:
            raise Answer(400, "not JSON") from None
        bare.before_write(self.path)
        match [self.command, *self.path.strip("/").split("/")]:
            case ["POST", "api", "tickets"]:
                status, ticket = bare.create(user, body)
                return status, bare.row(ticket)
            case ["POST", "api", "tickets", project, number, "comments"]:
                return 201, bare.comment(user, project, int(number), body.get("text"))
            case ["POST", "api", "tickets", project, number, "state"]:
                text = body.get("text", "")
                ticket = bare.move(user, project, int(number), body.get("state"), text)
                return 200, bare.row(ticket)
            case ["POST", "api", "tickets", project, number, ("parent" | "blocked-by") as what]:
                ticket = bare.relate(user, project, int(number), what, body)
                return 200, bare.row(ticket)
            case ["POST", "api", "projects", name, "members"]:
                return 200, bare.set_member(name, body)
            case ["DELETE", "api", "tickets", project, number, "parent"]:
                return 200, bare.row(bare.relate(user, project, int(number), "parent", {}))
            case ["DELETE", "api", "tickets", project, number, "blocked-by"]:
                return 200, bare.row(bare.unblock(project, int(number), body))
        raise Answer(404, "no such page")
