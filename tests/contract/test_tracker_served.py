"""Reads that a server of the store needs beyond those of every edge."""

from __future__ import annotations

from pathlib import Path

import pytest
from edges import Cast, on_file

from colony.core.ticket import Me
from colony.errors import NotFound
from colony.tracker.pages import Selection
from colony.tracker.service import Service
from colony.tracker.tokens import Tokens

pytestmark = pytest.mark.over("file", "memory")

SECRET = "tkt_" + "s" * 43


def service_of(cast: Cast) -> Service:
    return cast.edge.service  # type: ignore[attr-defined, no-any-return]


def test_an_event_is_read_by_its_id_and_by_no_other(cast: Cast) -> None:
    ref = cast.ticket()
    service = service_of(cast)
    last = cast.comment(cast.alice, ref, "hello")
    assert service.event(last).event.text == "hello"
    for missing in (0, -1, last + 1, 10**40):
        with pytest.raises(NotFound):
            service.event(missing)


def test_a_page_that_is_known_is_not_read(cast: Cast) -> None:
    ref = cast.ticket()
    service = service_of(cast)
    page = service.page(Selection(), known=lambda _: False)
    assert [row.ref for row in page.rows] == [ref]
    assert page.version == service.version()
    known = service.page(Selection(), known=lambda version: version == page.version)
    assert (known.version, known.rows) == (page.version, ())
    cast.comment(cast.alice, ref, "x")
    assert service.page(Selection(), known=lambda version: version == page.version).rows


def test_roles_are_those_that_hold_whatever_gives_them(cast: Cast) -> None:
    cast.ticket()
    cast.ticket(project="bank")
    bob, service = cast.member("bob", "use"), service_of(cast)
    assert service.roles(bob.me()) == {"shop": "use"}
    assert service.roles(cast.alice.me()) == {"bank": "admin", "shop": "admin"}
    assert service.roles(cast.colony.me()) == {"bank": "edit", "shop": "edit"}
    assert service.roles(cast.person("eve").me()) == {}


def test_an_owner_may_come_while_a_token_of_one_is_good(cast: Cast) -> None:
    service = service_of(cast)
    tokens = Tokens(service._engine, cast.clock)

    def make(name: str, secret: str, *, owner: bool, until_ms: int | None = None) -> str:
        me = service.sign_in(Me(name, "", machine=False, owner=owner))
        return tokens.make(me, secret, until_ms)

    assert not tokens.owner_may_come()
    make("bob", SECRET, owner=False)
    assert not tokens.owner_may_come()
    first = make("alice", SECRET[:-1] + "1", owner=True)
    assert tokens.owner_may_come()
    tokens.revoke(first)
    assert not tokens.owner_may_come()
    make("alice", SECRET[:-1] + "2", owner=True, until_ms=cast.clock.ms + 10)
    assert tokens.owner_may_come()
    cast.clock.ms += 10
    assert not tokens.owner_may_come()


def test_a_watch_notices_the_writes_of_others(tmp_path: Path) -> None:
    edge = on_file(tmp_path)
    other = Cast(on_file(tmp_path))
    watch = edge.service.watch()
    before = watch.count()
    assert watch.count() == before
    other.ticket()
    after = watch.count()
    assert after != before
    assert watch.count() == after
    watch.close()
    edge.service.close()
    other.edge.service.close()  # type: ignore[attr-defined]
