"""The reads of a tracker over HTTP."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar
from urllib.parse import quote

from colony.core.lines import clip
from colony.core.records import HostRecord, SessionRecord
from colony.core.strict_json import SAFE
from colony.core.ticket import (
    History,
    Me,
    ProjectInfo,
    Ref,
    State,
    Ticket,
    is_state,
)
from colony.errors import NoAnswer, NotFound
from colony.tracker import limits
from colony.tracker.http.client import Http, Params
from colony.tracker.reads import PAGE_MAX, Changes
from colony.tracker.wire import read as wire
from colony.tracker.wire.read import Fields, Strange

T = TypeVar("T")

LISTS_MAX: Final = 100_000
"""Parts of one list, before a server that never ends it is given up."""


class HttpReads:
    """What the server holds. `own_ms` is this machine's time, for a server that tells none."""

    def __init__(self, http: Http, features: frozenset[str], own_ms: Callable[[], int]) -> None:
        self._http = http
        self._features = features
        self._own_ms = own_ms

    @property
    def features(self) -> frozenset[str]:
        return self._features

    def now_ms(self) -> int:
        told = self._http.now_ms()
        if told is None:
            self._http.get("/api/health")
            told = self._http.now_ms()
        return self._own_ms() if told is None else told

    def close(self) -> None:
        self._http.close()

    @functools.cached_property
    def _me(self) -> Me:
        return self._one("/api/me", wire.me)

    def me(self) -> Me:
        return self._me

    def tickets(
        self,
        project: str | None = None,
        states: Collection[State] | None = None,
        since_ms: int | None = None,
    ) -> tuple[Ticket, ...]:
        limits.states(states)
        if project is not None and not limits.is_project(project):
            raise limits.no_project(project)
        if states is not None and not states:
            # A query cannot say "in no state".
            if project is not None:
                self.project(project)
            return ()
        params: dict[str, str | list[str]] = {}
        if project is not None:
            params["project"] = project
        if states is not None:
            params["state"] = sorted(set(states))
        if since_ms is not None:
            params["since"] = str(_safe(since_ms))
        return self._rows(params)

    def _rows(self, params: Params) -> tuple[Ticket, ...]:
        """All parts of the list, where the server gives it in parts."""
        rows: dict[Ref, Ticket] = {}
        asked = dict(params)
        for _ in range(LISTS_MAX):
            answer = self._fields("/api/tickets", asked)
            with judged("/api/tickets"):
                for row in answer.list("tickets", wire.ticket):
                    rows[row.ref] = row
                cursor = answer.text("cursor")
            if not cursor or cursor == asked.get("cursor"):
                return tuple(sorted(rows.values(), key=_age))
            asked["cursor"] = cursor
        raise NoAnswer("GET /api/tickets: a list without an end")

    def ticket(self, ref: Ref) -> History:
        limits.need_possible(ref)
        return self._one(f"/api/tickets/{ref.project}/{ref.number}", wire.history)

    def changes(self, after: int, limit: int = 1000) -> Changes:
        asked = _safe(after)
        params = {"after": str(asked), "limit": str(max(1, min(limit, PAGE_MAX)))}
        answer = self._http.get("/api/events", params, etag=f'"{asked}"')
        if answer.status == 304:
            return Changes((), _number(answer.etag, asked))
        with judged("/api/events"):
            found = wire.fields(answer.value, "the answer")
            return Changes(found.list("events", wire.feed_event), found.number("last"))

    def projects(self) -> dict[str, dict[State, int]]:
        answer = self._fields("/api/projects")
        with judged("/api/projects"):
            return dict(answer.list("projects", _counted))

    def project(self, name: str) -> ProjectInfo:
        if not limits.is_project(name):
            raise limits.no_project(name)
        return self._one(f"/api/projects/{name}", wire.project)

    def sessions(
        self, project: str | None = None, number: int | None = None, *, running: bool = False
    ) -> tuple[SessionRecord, ...]:
        params = {}
        if project is not None:
            params["project"] = project
        if number is not None:
            params["number"] = str(_safe(number))
        if running:
            params["open"] = "1"
        answer = self._fields("/api/sessions", params)
        with judged("/api/sessions"):
            return answer.list("sessions", wire.session)

    def session(self, session: str) -> SessionRecord:
        return self._one(_session_path(session), wire.session)

    def tail(self, session: str) -> str:
        try:
            answer = self._fields(f"{_session_path(session)}/tail")
        except NotFound:
            return ""
        with judged("/api/sessions"):
            return answer.text("text")

    def hosts(self) -> tuple[HostRecord, ...]:
        answer = self._fields("/api/hosts")
        with judged("/api/hosts"):
            return answer.list("hosts", wire.host)

    def _fields(self, path: str, params: Params | None = None) -> Fields:
        answer = self._http.get(path, params)
        with judged(path):
            return wire.fields(answer.value, "the answer")

    def _one(self, path: str, read: Callable[[Fields], T]) -> T:
        answer = self._fields(path)
        with judged(path):
            return read(answer)


@contextmanager
def judged(path: str) -> Iterator[None]:
    """An answer that is not what was asked for is none: a write may have happened."""
    try:
        yield
    except Strange as why:
        raise NoAnswer(f"{clip(path, 120)}: not a tracker's answer: {why}") from None


def segment(name: str) -> str:
    """A name as one part of a path. NotFound: no path can hold it."""
    if not name.strip(".") or "\ud800" <= max(name) <= "\udfff":
        raise NotFound(f"nothing is called {name[:40]!a}")
    return quote(name, safe="")


def _session_path(session: str) -> str:
    return f"/api/sessions/{segment(session)}"


def _age(row: Ticket) -> tuple[int, str, int]:
    return row.created_ms, row.ref.project, row.ref.number


def _counted(row: Fields) -> tuple[str, dict[State, int]]:
    """A project with its number of tickets by state."""
    given = wire.fields(row.values.get("tickets") or {}, f"{row.path}.tickets")
    counts = {state: given.number(state) for state in given.values if is_state(state)}
    return row.text("name", None), counts


def _safe(value: int) -> int:
    """The nearest number that a server need take."""
    return max(-SAFE, min(value, SAFE))


def _number(etag: str, default: int) -> int:
    found = re.fullmatch(r'(?:W/)?"(-?[0-9]{1,19})"', etag.strip(), re.ASCII)
    return int(found[1]) if found else default
