"""Reads of a tracker that lacks some of what Colony's own has: what rows do not say is derived."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

from colony.core.keywords import priority_of
from colony.core.lease import view_of
from colony.core.lines import Json
from colony.core.people import People, is_creator, people_of
from colony.core.relations import is_question
from colony.core.ticket import History, ProjectInfo, Ref, State, Ticket
from colony.errors import NoAnswer, NotFound
from colony.tracker import limits
from colony.tracker.http.client import Http
from colony.tracker.http.dialect import Dialect, Heard, hear
from colony.tracker.http.phrasing import path_to
from colony.tracker.http.polling import BACK_MS, Polling
from colony.tracker.http.reads import judged
from colony.tracker.http.unrecorded import Unrecorded
from colony.tracker.http.words import old_words
from colony.tracker.reads import Changes
from colony.tracker.wire import read

AT_ONCE: Final = 8
"""Histories that are asked for at the same time."""
PEOPLE_MS: Final = 300_000
"""How long the members of a project are taken to be the same, for priorities."""
LAST_MS: Final = 10**15
"""A time that nothing comes after, in few enough digits for every server."""
READ_FOR_ROWS: Final[frozenset[State]] = frozenset({"open", "progress", "reopened"})
"""States of tickets whose history is read for their row; questions are in every state."""

Params = dict[str, str]


class ForeignReads(Unrecorded):
    """`creator_names`: who may accept, where projects tell no members. `wall_ms`: for a server that
    does not tell its time."""

    def __init__(
        self,
        http: Http,
        dialect: Dialect,
        creator_names: frozenset[str],
        wall_ms: Callable[[], int],
    ) -> None:
        self._http = http
        self._dialect = dialect
        self._creator_names = creator_names
        self._wall_ms = wall_ms
        self._polling = Polling(self._since)
        self._people: dict[str, tuple[int, People]] = {}
        self._read: dict[Ref, History] = {}
        """Histories that were read long enough after their last change."""
        self._related: bool | None = None
        """Whether rows tell of relatives; None: none was seen yet."""

    @property
    def features(self) -> frozenset[str]:
        known = self._dialect.features
        if known is None:
            if self._related is None:
                self._rows({})
                # No row, no relatives: the first row that comes may tell of some.
                self._related = bool(self._related)
            return frozenset({"relations"}) if self._related else frozenset()
        return frozenset(each for each in known if self._dialect.has(each))

    def now_ms(self) -> int:
        told = self._http.now_ms()
        return self._wall_ms() if told is None else told

    def close(self) -> None:
        self._http.close()

    def tickets(
        self,
        project: str | None = None,
        states: Collection[State] | None = None,
        since_ms: int | None = None,
    ) -> tuple[Ticket, ...]:
        """NotFound: no such project."""
        limits.states(states)
        params = self._filters(project, states, since_ms)
        rows = [
            each
            for each in ([] if params is None else self._rows(params))
            if project in (None, each.ticket.ref.project)
            and (states is None or each.ticket.state in states)
            and (since_ms is None or each.ticket.updated_ms >= since_ms)
        ]
        if project is not None and not rows:
            self._need_project(project)
        found = self._whole(rows)
        return tuple(sorted(found, key=lambda each: (each.created_ms, each.ref)))

    def ticket(self, ref: Ref) -> History:
        limits.need_possible(ref)
        path = path_to(ref)
        heard = self._hear(self._ask(path), path)
        if heard.history is None:
            raise NoAnswer(f"GET {path}: a ticket without its events")
        ticket = heard.ticket if heard.derived else self._derived(heard.history)
        return replace(heard.history, ticket=ticket)

    def changes(self, after: int, limit: int = 1000) -> Changes:
        return self._polling.after(min(after, LAST_MS), limit)

    def projects(self) -> dict[str, dict[State, int]]:
        counts: dict[str, dict[State, int]] = {name: {} for name in sorted(self._names())}
        for each in self._rows({}):
            of = counts.setdefault(each.ticket.ref.project, {})
            of[each.ticket.state] = of.get(each.ticket.state, 0) + 1
        return counts

    def project(self, name: str) -> ProjectInfo:
        """Without members where the server tells none."""
        if not limits.is_project(name):
            raise NotFound("no such project")
        try:
            path = f"/api/projects/{name}"
            value = self._ask(path)
            with judged(path):
                return read.project(read.fields(value, path))
        except NotFound:
            self._need_project(name)
            return ProjectInfo(name, ())

    # --- asking ---------------------------------------------------------------------------

    def _filters(
        self, project: str | None, states: Collection[State] | None, since_ms: int | None
    ) -> Params | None:
        """What the server can leave out by itself; None: nothing can be found."""
        params = {} if project is None else {"project": project}
        if project is not None and not limits.is_project(project):
            return None
        if since_ms is not None:
            params["since"] = str(max(0, min(since_ms, LAST_MS)))
        if states is not None:
            words = {word for each in states for word in self._words(each)}
            if not words:
                return None
            if len(words) == 1:
                params["state"] = words.pop()
        return params

    def _words(self, state: State) -> frozenset[str]:
        return old_words(state) if self._dialect.old_words else frozenset({state})

    def _rows(self, params: Params) -> tuple[Heard, ...]:
        found: list[Heard] = []
        cursor = ""
        while True:
            page = self._ask("/api/tickets", params | ({"cursor": cursor} if cursor else {}))
            rows = page.get("tickets") if isinstance(page, dict) else None
            if not isinstance(page, dict) or not isinstance(rows, list):
                raise NoAnswer("GET /api/tickets: no list of tickets")
            found += [self._hear(row, f"tickets[{at}]") for at, row in enumerate(rows)]
            following = page.get("cursor")
            if not isinstance(following, str) or not following or following == cursor:
                return tuple(found)
            cursor = following

    def _hear(self, value: Json, path: str) -> Heard:
        with judged(path):
            heard = hear(self._dialect, value, path)
        self._related = bool(self._related) or heard.related
        return heard

    def _ask(self, path: str, params: Params | None = None) -> Json:
        return self._http.get(path, params).value

    def _names(self) -> frozenset[str]:
        value = self._ask("/api/projects")
        with judged("/api/projects"):
            told = read.fields(value, "projects")
            return frozenset(told.list("projects", lambda each: each.text("name", None)))

    def _need_project(self, name: str) -> None:
        if not limits.is_project(name) or name not in self._names():
            raise limits.no_project(name)

    # --- what rows do not say -------------------------------------------------------------

    def _whole(self, rows: Iterable[Heard]) -> list[Ticket]:
        """Rows with lease and priority."""
        found, wanted = [], []
        for each in rows:
            if each.derived:
                found.append(each.ticket)
            elif each.history is not None:
                found.append(self._derived(each.history))
            elif each.ticket.state in READ_FOR_ROWS or is_question(each.ticket):
                wanted.append(each.ticket)
            else:
                found.append(each.ticket)
        histories = self._histories(wanted)
        return found + [
            each if each.ref not in histories else self._derived(histories[each.ref])
            for each in wanted
        ]

    def _histories(self, rows: Iterable[Ticket]) -> dict[Ref, History]:
        """Of these tickets; of one that is gone by now, none."""
        kept, wanted = {}, []
        for row in rows:
            known = self._read.get(row.ref)
            if known is not None and known.ticket.updated_ms == row.updated_ms:
                kept[row.ref] = replace(known, ticket=_as_now(known.ticket, row))
            else:
                wanted.append(row.ref)
        if wanted:
            with ThreadPoolExecutor(AT_ONCE) as pool:
                for read_now in pool.map(self._history_if_there, wanted):
                    if read_now is not None:
                        kept[read_now.ticket.ref] = read_now
        return kept

    def _history_if_there(self, ref: Ref) -> History | None:
        try:
            history = self.ticket(ref)
        except NotFound:
            return None
        if self.now_ms() - history.ticket.updated_ms > BACK_MS:
            self._read[ref] = history
        return history

    def _since(self, since_ms: int) -> tuple[History, ...]:
        rows = self._rows({"since": str(since_ms), "events": "1"})
        unread = [each.ticket for each in rows if each.history is None]
        told = [each.history for each in rows if each.history is not None]
        return (*told, *self._histories(unread).values())

    def _derived(self, history: History) -> Ticket:
        people = self._people_of(history.ticket.ref.project)
        admins = frozenset(
            each.user_id or each.author for each in history.events if is_creator(each, people)
        )
        return replace(
            history.ticket,
            priority=priority_of(history.events, admins),
            lease=view_of(history.events),
        )

    def _people_of(self, project: str) -> People:
        now_ms = self.now_ms()
        known = self._people.get(project)
        if known is not None and 0 <= now_ms - known[0] < PEOPLE_MS:
            return known[1]
        try:
            people = people_of(self.project(project), self._creator_names)
        except NotFound:
            people = people_of(None, self._creator_names)
        self._people[project] = (now_ms, people)
        return people


def _as_now(known: Ticket, row: Ticket) -> Ticket:
    """The row with what its history told: relatives may stand otherwise by now."""
    return replace(row, last_event=known.last_event, version=known.version)
