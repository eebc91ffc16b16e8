"""The edges that the contract is held against: each gives trackers of any user on one store."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from colony.core.ticket import Me, NewTicket, Ref
from colony.flow.wiring.trackers import DERIVE
from colony.host.token_file import NoToken
from colony.tracker.embedded import Embedded, open_service
from colony.tracker.http.client import Http, Surroundings, Token
from colony.tracker.http.edge import HttpTracker
from colony.tracker.http.opening import dialect_at
from colony.tracker.protocol import Tracker, Written
from colony.tracker.service import Service
from tests.fakes import served
from tests.fakes.pretended import HandClock
from tests.fakes.served import Clock

FAR_MS: Final = 90 * 60_000


class Edge(Protocol):
    clock: Clock
    inexact_ms: int
    """How far its `now_ms` may be from the store's."""

    def tracker(self, me: Me) -> Tracker: ...


@dataclass
class EmbeddedEdge:
    service: Service
    clock: Clock
    inexact_ms: int = 0

    def tracker(self, me: Me) -> Tracker:
        return Embedded(self.service, me)


@dataclass
class ShownToken:
    """The token of a user, who is made when it is first sent."""

    store: served.Store
    me: Me
    name: str = "the token"
    made: str = ""

    def secret(self, *, again: bool = False) -> str:
        me = self.me
        self.made = self.made or self.store.token(me.user, owner=me.owner, machine=me.machine)
        return self.made


@dataclass
class HttpEdge:
    """A real server on a real socket. Users and tokens are made by the store itself."""

    store: served.Store
    url: str
    clock: Clock
    clients: ExitStack
    inexact_ms: int = 1000
    trackers: dict[Me, HttpTracker] = field(default_factory=dict)

    def tracker(self, me: Me) -> Tracker:
        if me not in self.trackers:
            dialect = dialect_at(self._http(NoToken("none")), frozenset())
            assert dialect.features is not None
            http = self._http(ShownToken(self.store, me))
            self.trackers[me] = HttpTracker(http, dialect.features, self.own_ms)
        return self.trackers[me]

    def own_ms(self) -> int:
        """The client's wall clock: far from the tracker's, by which alone everything goes."""
        return self.clock() + FAR_MS

    def _http(self, token: Token) -> Http:
        clock = HandClock()
        around = Surroundings(clock, lambda: 0.5, clock.pause)
        http = Http(self.url, token=token, user_agent="colony/test", around=around)
        return self.clients.enter_context(closing(http))


@dataclass
class Cast:
    """The users of a story. `alice` owns the tracker, `colony` is a machine."""

    edge: Edge
    keys: itertools.count[int] = field(default_factory=itertools.count)

    @property
    def clock(self) -> Clock:
        return self.edge.clock

    def person(self, name: str, *, owner: bool = False) -> Tracker:
        return self.edge.tracker(Me(name, "", machine=False, owner=owner))

    @property
    def alice(self) -> Tracker:
        return self.person("alice", owner=True)

    @property
    def colony(self) -> Tracker:
        return self.edge.tracker(Me("colony", "", machine=True, owner=False))

    def key(self) -> str:
        return f"key-{next(self.keys)}"

    def ticket(self, subject: str = "Mend the gate", project: str = "shop", **more: object) -> Ref:
        """A ticket that alice opened."""
        new = NewTicket(project, subject, **more)  # type: ignore[arg-type]
        return self.alice.create(new, key=self.key()).ticket.ref

    def comment(self, who: Tracker, ref: Ref, text: str) -> int:
        return event_of(who.comment(ref, text, key=self.key()))

    def member(self, name: str, role: str | None) -> Tracker:
        """A person with this role in shop."""
        if role is not None:
            self.alice.set_member("shop", name, role, key=self.key())  # type: ignore[arg-type]
        return self.person(name)


def event_of(answer: object) -> int:
    assert isinstance(answer, Written), answer
    return answer.event


def in_memory() -> EmbeddedEdge:
    clock = Clock()
    return EmbeddedEdge(
        open_service("sqlite:///:memory:", clock=clock, derive=DERIVE, create=True), clock
    )


def on_file(folder: Path) -> EmbeddedEdge:
    clock = Clock()
    url = f"sqlite:///{folder / 'colony.db'}"
    return EmbeddedEdge(open_service(url, clock=clock, derive=DERIVE, create=True), clock)


@contextmanager
def over_http() -> Iterator[HttpEdge]:
    clock = Clock()
    store = served.in_memory(clock)
    with closing(store), served.serving(store, public_read=True) as url, ExitStack() as clients:
        yield HttpEdge(store, url, clock, clients)
        assert store.bugs == []


def everything(tracker: Tracker) -> tuple[object, ...]:
    """All that a tracker shows."""
    projects = tracker.projects()
    return (
        tracker.tickets(),
        tracker.changes(0, 10_000),
        projects,
        [tracker.project(name) for name in projects],
        tracker.sessions(),
        tracker.hosts(),
    )


def refuses(error: type[Exception], call: Callable[[], object], tracker: Tracker) -> str:
    """The refusal's line; the call wrote nothing."""
    before = everything(tracker)
    try:
        call()
    except error as refusal:
        assert everything(tracker) == before
        return str(refusal)
    raise AssertionError(f"not refused with {error.__name__}")
