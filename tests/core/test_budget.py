"""What a ticket may cost: who says so, and what is left of it for a run."""

from __future__ import annotations

from typing import Any

import pytest
from histories import ANNA, BOB, EVE, PEOPLE, S1, Story, make_ticket, question, related
from hypothesis import given
from hypothesis import strategies as st

from colony.core.budget import (
    BUDGET_SOURCE,
    cap_of,
    is_used_up,
    limit_usd,
    may_be_capped,
    was_asked,
)
from colony.core.money import nanos_of
from colony.core.people import People

NAMES = People(admin_names=frozenset({"anna"}), has_members=False)


def said(*comments: tuple[Any, str]) -> Story:
    """Comments of people; of a machine where the author is None."""
    story = Story()
    for who, text in comments:
        story = story._add("comment", who, text)
    return story


@pytest.mark.parametrize(
    ("comments", "setting", "cap"),
    [
        ([], 0, 0),
        ([], 500, 500),
        ([(ANNA, "/budget $20")], 500, 2000),
        ([(ANNA, "/budget 2.50")], 500, 250),
        ([(ANNA, "/budget $5")], 0, 500),
        ([(BOB, "/Budget $20, it is worth it")], 500, 500),
        ([(BOB, "/Budget $20 it is worth it")], 500, 2000),
        ([(ANNA, "/budget $20"), (BOB, "/budget $3")], 500, 300),
        ([(ANNA, "/budget $20"), (EVE, "/budget $999")], 500, 2000),
        ([(EVE, "/budget $999")], 500, 500),
        ([(None, "/budget $999")], 500, 500),
        ([(ANNA, "/budget $20"), (ANNA, "/budget lots"), (ANNA, "/budget $0")], 500, 2000),
        ([(ANNA, "I give it a /budget of $20")], 500, 500),
        ([(ANNA, "/prio 9")], 500, 500),
    ],
)
def test_the_last_word_of_somebody_who_may_order_is_the_cap(
    comments: list[tuple[Any, str]], setting: int, cap: int
) -> None:
    events = said(*comments).history().events
    assert cap_of(events, PEOPLE, setting) == cap
    if cap:
        assert may_be_capped(events, setting)


def test_without_members_the_named_creators_decide() -> None:
    events = said((ANNA, "/budget $20"), (BOB, "/budget $3")).history().events
    assert cap_of(events, NAMES, 500) == 2000


def test_without_a_word_of_money_nobody_has_to_know_who_is_who() -> None:
    events = said((ANNA, "Good"), (None, "/budget $5"), (ANNA, "/prio 3")).history().events
    assert not may_be_capped(events, 0)
    assert may_be_capped(said((EVE, "/budget $5")).history().events, 0)


@pytest.mark.parametrize(
    ("cap", "cost", "used_up"),
    [(0, 0, False), (0, 900, False), (500, 499, False), (500, 500, True), (500, 501, True)],
)
def test_a_cap_is_reached_to_the_cent(cap: int, cost: int, used_up: bool) -> None:
    assert is_used_up(cap, cost) is used_up


@pytest.mark.parametrize(
    ("own", "left", "spent_usd", "limit"),
    [
        (None, None, 0.0, None),
        (2.5, None, 9.0, 2.5),
        (None, 500, 0.0, 5.0),
        (2.5, 500, 0.0, 2.5),
        (9.0, 500, 0.0, 5.0),
        (9.0, 500, 1.2, 3.8),
        (2.5, 500, 1.2, 2.5),
        (None, 500, 4.9951, 0.01),
        (None, 500, 5.0, 0.0),
        (9.0, 500, 7.0, 0.0),
        (9.0, 0, 0.0, 0.0),
    ],
)
def test_a_run_may_cost_what_is_left(
    own: float | None, left: int | None, spent_usd: float, limit: float | None
) -> None:
    assert limit_usd(own, left, nanos_of(spent_usd)) == limit


@given(st.integers(1, 10**6), st.integers(0, 10**6 * 10**7))
def test_who_is_stopped_at_the_limit_has_reached_the_cap(left: int, spent: int) -> None:
    limit = limit_usd(None, left, spent)
    assert limit is not None
    assert spent + nanos_of(limit) >= left * 10**7
    assert limit * 100 == pytest.approx(round(limit * 100))


def test_a_ticket_that_was_over_its_cap_is_known_by_its_question() -> None:
    asked = related(7, "done", "Question (shop#1): more?", f"{BUDGET_SOURCE}{S1}:question")
    assert was_asked(make_ticket(children=(related(2), asked)))
    assert not was_asked(make_ticket(children=(related(2), question(6))))
