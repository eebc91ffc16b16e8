"""Mission 031, checks B to E: somebody writes between what was seen and what is written.

| check | test |
|---|---|
| B moved on by a person or another program | test_mission_031_b_moved_meanwhile_is_not_expired |
| C renewed | test_mission_031_c_renewed_meanwhile_is_not_expired |
| another session's now | test_mission_031_c_taken_meanwhile_is_not_expired |
| D nothing happens: it is expired | test_mission_031_d_left_alone_it_is_expired |
| E a parked session whose time has come | test_mission_031_e_moved_meanwhile_is_not_resumed |

Each happens at both moments: right before the ticket is read again, where the reason names it, and
between that read and the write, where the write finds that the ticket has changed.
"""

from __future__ import annotations

import pytest
from shop import HOST, SHOP, TTL_MS, Shop
from test_parking import limited

from colony.core.lease import Lease, lease_of
from colony.core.session import Outcome
from colony.core.texts import lease as lease_texts
from colony.core.ticket import LeaseView
from colony.flow.leases import expire, view_of_lease
from tests.fakes.meddled import Meddled, Moment, at, tracker_of

THEIRS = "s-20260131T1819-bbbbbb"
OTHER = "s-20260131T1819-cccccc"
MOMENTS = pytest.mark.parametrize("moment", ["before", "after"])
IN_BETWEEN = "it changed in this very moment"


def dead(shop: Shop) -> LeaseView:
    """The ticket is leased by another host, and past its time."""
    text = lease_texts.started(THEIRS, "box2", shop.time.wall_ms() + TTL_MS)
    shop.colony.move(SHOP, "progress", text=text, key=shop.key())
    shop.time.pass_by(TTL_MS / 1000 + 1)
    held = lease_of(shop.history().events)
    assert isinstance(held, Lease)
    return view_of_lease(held)


def renewed(shop: Shop) -> None:
    text = lease_texts.renewed(THEIRS, "box2", shop.time.wall_ms() + TTL_MS)
    shop.colony.comment(SHOP, text, key=shop.key())


def taken(shop: Shop) -> None:
    shop.colony.move(SHOP, "open", text=lease_texts.expired(THEIRS, "box2"), key=shop.key())
    text = lease_texts.started(OTHER, "box3", shop.time.wall_ms() + TTL_MS)
    shop.colony.move(SHOP, "progress", text=text, key=shop.key())


@MOMENTS
def test_mission_031_b_moved_meanwhile_is_not_expired(shop: Shop, moment: Moment) -> None:
    lease = dead(shop)
    door = Meddled(shop.colony, at(moment, 1, lambda: shop.moves("review"), writes=False))
    reason = expire(tracker_of(door), SHOP, lease)
    assert reason == ("it is review now" if moment == "before" else IN_BETWEEN)
    last = shop.history().events[-1]
    assert (shop.state, last.after, last.machine) == ("review", "review", False)


@MOMENTS
def test_mission_031_c_renewed_meanwhile_is_not_expired(shop: Shop, moment: Moment) -> None:
    lease = dead(shop)
    door = Meddled(shop.colony, at(moment, 1, lambda: renewed(shop), writes=False))
    reason = expire(tracker_of(door), SHOP, lease)
    assert reason is not None
    changed = f"the lease of {THEIRS} changed (now until "
    assert reason.startswith(changed if moment == "before" else IN_BETWEEN)
    assert shop.state == "progress"
    assert "· renewed ·" in shop.told()[-1]


@MOMENTS
def test_mission_031_c_taken_meanwhile_is_not_expired(shop: Shop, moment: Moment) -> None:
    lease = dead(shop)
    door = Meddled(shop.colony, at(moment, 1, lambda: taken(shop), writes=False))
    reason = expire(tracker_of(door), SHOP, lease)
    there = f"another session holds it now ({OTHER})"
    assert reason == (there if moment == "before" else IN_BETWEEN)
    held = lease_of(shop.history().events)
    assert isinstance(held, Lease)
    assert held.session == OTHER


def test_mission_031_d_left_alone_it_is_expired(shop: Shop) -> None:
    lease = dead(shop)
    assert expire(shop.colony, SHOP, lease) is None
    assert shop.state == "open"
    assert shop.told()[-1].endswith(f"colony-lease-expired: {THEIRS} · host box2")
    before = len(shop.history().events)
    assert expire(shop.colony, SHOP, lease) == "it is open now"
    assert len(shop.history().events) == before


def test_a_lease_that_only_seemed_dead_is_not_expired(shop: Shop) -> None:
    """By the tracker's clock, right before the write, whatever the survey said."""
    lease = dead(shop)
    shop.time.pass_by(-10)
    reason = expire(shop.colony, SHOP, lease)
    assert reason == f"the lease of {THEIRS} lives"
    assert shop.state == "progress"


@MOMENTS
def test_mission_031_e_moved_meanwhile_is_not_resumed(shop: Shop, moment: Moment) -> None:
    session = limited(shop).session
    shop.time.pass_by(7201)
    parts, told = len(shop.facts(session).parts), shop.told()
    facts = shop.go(session, at(moment, 1, lambda: shop.moves("review"), writes=False)).facts
    assert (facts.outcome, len(facts.parts)) == (Outcome.MOVED, parts)
    assert shop.state == "review"
    assert not [text for text in shop.told()[len(told) :] if "· resumed" in text]
    assert facts.host == HOST
