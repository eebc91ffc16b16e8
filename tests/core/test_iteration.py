"""The line of an iteration, for a person and for a program."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from colony.core.account import Hold
from colony.core.allowance import Quota
from colony.core.iteration import NAMED_MAX, TOLD_MAX, Begun, Iteration, line, planned
from colony.core.plan import Probe, Wait
from colony.core.quota import Gauge, Level, Levels
from colony.core.spending import Spent
from colony.core.ticket import Ref

AT_MS = 1_000_000_000_000
SHOP = Ref("shop", 1)
S1 = "s-20260101T0900-00000a"
IDLE = Iteration(4, AT_MS, 0, 1)


def test_an_idle_one() -> None:
    told = line(IDLE)
    assert told.as_text() == "ITER 4 2001-09-09 01:46 UTC · running 0/1 · nothing to start"
    assert told.ms == AT_MS


def test_what_was_done_in_its_order() -> None:
    done = replace(
        IDLE,
        running=2,
        parallel=2,
        started=[Begun(SHOP, S1, (8700, 8709))],
        resumed=[Begun(Ref("till", 2), "s-2", None)],
        expired=["site#3 (session s-3) → open"],
        kept=["site#4 (session s-4): it is review now — nothing written"],
        waiting=[Wait(Ref("shop", 5), "slots", "2 at once"), Wait(SHOP, "paused", "by hand")],
        notes=["the loop is paused"],
    )
    assert line(done).text == (
        f"4 2001-09-09 01:46 UTC · running 2/2 · started shop#1 ({S1}, ports 8700-8709)"
        " · resumed till#2 (s-2) · expired site#3 (session s-3) → open"
        " · NOT expired site#4 (session s-4): it is review now — nothing written"
        " · waiting: shop#5 (2 at once); shop#1 (by hand) · the loop is paused"
    )
    assert json.loads(line(done).as_json_text()) == {
        "kind": "iter",
        "ms": AT_MS,
        "text": line(done).text,
        "iteration": 4,
        "running": 2,
        "parallel": 2,
        "started": [S1],
        "resumed": ["s-2"],
        "expired": ["site#3 (session s-3) → open"],
        "waiting": {"shop#5": "slots", "shop#1": "paused"},
    }


def test_who_waits_is_named_up_to_a_limit() -> None:
    waiting = [Wait(Ref("shop", number), "slots", "1 at once") for number in range(1, 12)]
    text = line(replace(IDLE, waiting=waiting)).text
    assert text.count("shop#") == NAMED_MAX
    assert text.endswith("shop#8 (1 at once); and 3 more")
    exact = line(replace(IDLE, waiting=waiting[:NAMED_MAX])).text
    assert exact.endswith("shop#8 (1 at once)")
    assert len(line(replace(IDLE, waiting=waiting)).facts["waiting"]) == 11  # type: ignore[arg-type]


def test_a_long_reason_leaves_room_for_the_others() -> None:
    waiting = [Wait(SHOP, "refused", "x" * 200), Wait(Ref("till", 2), "slots", "1 at once")]
    text = line(replace(IDLE, waiting=waiting)).text
    assert text.endswith("; till#2 (1 at once)")
    assert text.count("x") < 120


@given(words=st.text(max_size=200))
@example(words="x" * 5000)
def test_no_name_makes_it_two_lines_or_endless(words: str) -> None:
    done = replace(
        IDLE,
        started=[Begun(SHOP, words, (1, 2))],
        expired=[words],
        kept=[words],
        waiting=[Wait(SHOP, "refused", words)],
    )
    text = line(done).as_text()
    assert len(text.splitlines()) == 1
    assert len(text) < 5 * TOLD_MAX


# --- the account ---------------------------------------------------------------------------------

HELD: Final = Hold("limit", AT_MS + 1, AT_MS + 1, AT_MS - 1, S1, SHOP)
READ: Final = Gauge("asked", Levels(Level(5, AT_MS + 60_000, AT_MS), Level(41, None, AT_MS)))


def test_quota_and_the_days_money_come_first() -> None:
    quota = Quota(gauge=READ, spent=Spent(12.3, 20.0, AT_MS))
    said = line(replace(IDLE, quota=quota))
    assert said.text.startswith(
        "4 2001-09-09 01:46 UTC · quota 5% of 5 h (resets 2001-09-09 01:47 UTC), week 41%"
        " < reserve 70% · spent $12.30 of $20.00 today · running "
    )
    assert said.facts["quota"] == READ.facts
    assert said.facts["day"] == {"spentUsd": 12.3, "limitUsd": 20.0}


@pytest.mark.parametrize(
    ("facts", "silent"),
    [
        ({}, True),
        ({"waiting": [Wait(SHOP, "held", "usage limit reached")]}, True),
        ({"started": [Begun(SHOP, S1, None)]}, False),
        ({"resumed": [Begun(SHOP, S1, None)]}, False),
        ({"expired": ["shop#1"]}, False),
        ({"kept": ["shop#1"]}, False),
        ({"notes": ["the tracker does not answer"]}, False),
        ({"at_ms": AT_MS + 1}, False),
        ({"quota": Quota(holds=(replace(HELD, model="opus"),))}, False),
        ({"quota": Quota(gauge=READ)}, False),
        ({"quota": Quota(gauge=READ).without_login("claude has no login")}, True),
    ],
)
def test_while_the_account_is_held_only_what_happens_is_said(
    facts: dict[str, Any], silent: bool
) -> None:
    idle = replace(IDLE, quota=Quota(holds=(HELD,)))
    assert replace(idle, **facts).silent is silent


def test_a_look_at_the_quota_is_an_action_like_others() -> None:
    [told] = planned((Probe(),))
    assert (told.text, told.facts) == ("read the quota", {"action": "probe"})
