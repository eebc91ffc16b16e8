"""A session of another host as the tracker was told of it: it runs, it rests, or it is silent."""

from __future__ import annotations

from dataclasses import replace

import pytest
from shop import Shop

from colony.core.going_on import SILENT_MS
from colony.core.session import RESTS
from colony.flow.session_view import Viewer, facts_line, told_in_full, word_of
from colony.flow.sightings import Elsewhere
from colony.flow.tailing import Watcher, follow_told


class TooLong(AssertionError):
    """It still follows, though nobody works on the session."""


def seen(shop: Shop, session: str) -> list[str]:
    """What `tail` on another host says; it may ask again a few times, not for ever."""
    asked = []

    def pause(seconds: float) -> None:
        asked.append(seconds)
        if len(asked) > 3:
            raise TooLong

    watcher = Watcher("far", shop.time, pause, shop.agent, None)
    return [line.text for line in follow_told(shop.colony, session, watcher)]


def stands(shop: Shop, session: str) -> str:
    row = shop.colony.session(session)
    return word_of(Elsewhere(row), Viewer("far", shop.time.wall_ms()))


def test_one_that_was_not_posted_is_told_to_rest_and_ends_its_followers(shop: Shop) -> None:
    session = shop.work(post=False).facts.session
    assert shop.colony.session(session).step == RESTS
    assert stands(shop, session) == "not posted"
    last = seen(shop, session)[-1]
    assert "its result is kept and not posted · $" in last
    assert last.endswith(f"— on box1: colony check runs/{session} --post")
    viewer = Viewer("far", shop.time.wall_ms())
    row = shop.colony.session(session)
    assert facts_line(Elsewhere(row), viewer).facts["running"] is False
    assert not [line for line in told_in_full(row, viewer) if "does: " in line.text]


def test_one_that_was_stopped_in_order_rests(shop: Shop) -> None:
    session = shop.new().session

    def saved(_: str) -> None:
        if shop.facts(session).lease is not None:
            shop.waits.count = 1

    assert shop.go(session, saved=saved).line.kind == "parked"
    assert stands(shop, session) == "parked"
    assert "parked" in seen(shop, session)[-1]


def test_one_that_posts_again_rests_no_more(shop: Shop) -> None:
    session = shop.work(post=False).facts.session
    shop.post_leave(session)
    shop.go(session)
    assert stands(shop, session) == "posted"
    assert shop.colony.session(session).step == ""


def test_one_whose_host_fell_silent_is_no_running_one(shop: Shop) -> None:
    session = shop.work(post=False).facts.session
    row = replace(shop.colony.session(session), phase="working", step="work")
    shop.colony.put_session(row)
    assert stands(shop, session) == "running"
    with pytest.raises(TooLong):
        seen(shop, session)
    shop.time.pass_by(SILENT_MS / 1000 + 1)
    assert stands(shop, session) == "silent"
    assert "silent: box1 told nothing of it for 10 min" in seen(shop, session)[-1]
