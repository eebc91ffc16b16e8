from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bare_edges import BareEdge, PartEdge
from edges import Cast, EmbeddedEdge, in_memory, on_file, over_http

from tests.fakes.bare_tracker import Speaks

ALL = frozenset(
    {"relations", "expect", "idempotency", "feed", "roles", "members", "user ids", "edits",
     "projects", "circles", "link events", "event ids", "first state"}
)  # fmt: skip
"""What tests can need, and what a server that is not Colony's own may not be able to give:

*expect*: of writes at the same moment one wins. *idempotency*: a key holds over processes and for
seven days. *feed*: one sequence over all tickets, with pages that can be read again. *roles*: the
tracker's own table of who may do what. *members*: they can be seen and changed; *user ids*: known
by more than a name. *edits*: of subject and summary. *projects*: made without a ticket. *circles*
of relations are refused. *link events*: a relation is an event. *event ids*: no two events of the
tracker have the same. *first state*: a ticket is made in any state, in one event.
"""
EDGES = {
    "file": ALL,
    "memory": ALL,
    "http": ALL,
    "bare": frozenset({"event ids"}),
    "bare with relations": frozenset({"event ids", "relations"}),
    "bare with members": frozenset({"event ids", "members", "user ids"}),
    "bare without ids": frozenset(),
    "older words": frozenset({"event ids"}),
}
PARTS = {
    "http without keys": frozenset({"relations", "expect", "me", "onBehalf"}),
    "http without conditions": frozenset({"relations", "idempotency", "me", "onBehalf"}),
}
OWN = ALL - {"idempotency", "feed", "first state", "roles"}
EDGES |= {"http without keys": OWN, "http without conditions": OWN - {"expect"}}
SPEAKS = {
    "bare": Speaks(),
    "bare with relations": Speaks(relations=True),
    "bare with members": Speaks(members=True),
    "bare without ids": Speaks(event_ids=False),
    "older words": Speaks(older_words=True),
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Take away the pairs of a test and an edge that has not all that the test needs, and those of
    a test that is `over` some edges only with another one: rules are the same on every engine."""
    kept, gone = [], []
    for item in items:
        edge = getattr(item, "callspec", None) and item.callspec.params.get("cast")  # type: ignore[attr-defined]
        needs = {each for mark in item.iter_markers("needs") for each in mark.args}
        assert needs <= ALL, f"{item.nodeid} needs what nobody has: {needs - ALL}"
        mark = item.get_closest_marker("over")
        over = set(mark.args) if mark else set(EDGES)
        assert over <= set(EDGES), f"{item.nodeid} is over edges that are not there"
        fits = edge is None or (needs <= EDGES[edge] and edge in over)
        (kept if fits else gone).append(item)
    if gone:
        config.hook.pytest_deselected(items=gone)
        items[:] = kept


@pytest.fixture(params=list(EDGES))
def cast(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cast]:
    """An empty tracker behind each edge, with its users."""
    if request.param == "http":
        with over_http() as served:
            yield Cast(served)
        return
    if request.param in PARTS:
        with over_http() as served:
            yield Cast(PartEdge(served, PARTS[request.param]))
        return
    edge = edge_of(request.param, tmp_path)
    yield Cast(edge)
    if isinstance(edge, EmbeddedEdge):
        edge.service.close()
    else:
        edge.close()


def edge_of(name: str, folder: Path) -> EmbeddedEdge | BareEdge:
    if name == "file":
        return on_file(folder)
    return in_memory() if name == "memory" else BareEdge(SPEAKS[name])
