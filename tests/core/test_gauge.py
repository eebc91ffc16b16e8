"""How full the quota is, which reading counts, and what it lets begin."""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.core.account import Used
from colony.core.endings import Ending
from colony.core.quota import (
    FRESH_MS,
    UNDATED_MS,
    Gauge,
    Level,
    Levels,
    Seen,
    Source,
    Thresholds,
    levels_of,
)
from colony.core.spending import DAY_MS, Spent, spent_today
from colony.core.ticket import Ref
from colony.core.turn import Reading

T: Final = 1_800_000_000_000
MINUTE: Final = 60_000
RESETS: Final = T + 120 * MINUTE
OFF: Final = Thresholds(100, 100)


def session(used: float | None, resets_ms: int | None = RESETS, **more: Any) -> Reading:
    return Reading("five_hour", used, resets_ms, **more)


def week(used: float | None, window: str = "seven_day", **more: Any) -> Reading:
    return Reading(window, used, RESETS, **more)


def levels(*readings: Reading, now_ms: int = T) -> Levels:
    return levels_of([Seen(readings, T)], now_ms)


def gauge(five: float | None, seven: float | None, source: Source = "asked", **more: Any) -> Gauge:
    """By percent."""
    found = [None if each is None else Level(each, RESETS, T) for each in (five, seven)]
    return Gauge(source, Levels(*found), **more)


# --- which reading counts ------------------------------------------------------------------------


def test_the_newest_reading_of_a_window_counts() -> None:
    seen = [Seen((session(0.9),), T - 1), Seen((session(0.2),), T), Seen((week(0.4),), T - 2)]
    for order in (seen, seen[::-1]):
        found = levels_of(order, T)
        assert found.session == Level(20, RESETS, T)
        assert found.week == Level(40, RESETS, T - 2)


def test_it_is_one_window_whoever_names_it() -> None:
    """Sessions are told `five_hour` and `seven_day`, who asks `session` and `weekly_all`."""
    older = Seen((session(0.9), week(0.9)), T - 1)
    newer = Seen((Reading("session", 0.2, RESETS), Reading("weekly_all", 0.3, RESETS)), T)
    assert levels_of([older, newer], T) == Levels(Level(20, RESETS, T), Level(30, RESETS, T))


def test_a_window_that_has_begun_anew_is_not_known() -> None:
    assert levels(session(1.0), now_ms=RESETS - 1).session is not None
    assert levels(session(1.0), now_ms=RESETS).session is None
    undated = session(1.0, None)
    assert levels(undated, now_ms=T + UNDATED_MS - 1).session is not None
    assert levels(undated, now_ms=T + UNDATED_MS).session is None


def test_a_newer_reading_hides_an_older_one_even_when_it_is_over() -> None:
    seen = [Seen((session(0.9, RESETS),), T - 1), Seen((session(0.1, T + 1),), T)]
    assert levels_of(seen, T + 1).session is None


@pytest.mark.parametrize(
    ("reading", "percent"),
    [
        (session(0.58), 58),
        (session(None, status="rejected"), 100),
        (session(None, status="allowed"), None),
        (Reading("seven_day_opus", 1.0, RESETS), None),
    ],
)
def test_what_a_reading_says(reading: Reading, percent: float | None) -> None:
    found = levels(reading)
    assert (found.session.percent if found.session else None) == percent
    assert found.week is None


def test_when_a_window_was_last_seen_to_be_full() -> None:
    assert levels(session(0.99), week(0.99)).reached_ms == 0
    assert levels(session(1.0), week(0.2)).reached_ms == T
    assert levels(session(0.1), week(1.0)).reached_ms == T


@pytest.mark.parametrize(("age_ms", "fresh"), [(0, True), (FRESH_MS, True), (FRESH_MS + 1, False)])
def test_how_long_a_reading_is_fresh(age_ms: int, fresh: bool) -> None:
    assert levels(session(0.1), week(0.1)).fresh(T + age_ms) is fresh
    assert not levels(session(0.1)).fresh(T), "half a reading is none"


# --- what it lets begin --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "against"),
    [
        (gauge(5, 41), ""),
        (gauge(69.9, 41), ""),
        (gauge(70, 41), "5 h 70% ≥ reserve 70%"),
        (gauge(75, 41), "5 h 75% ≥ reserve 70%"),
        (gauge(75, 41, thresholds=Thresholds(reserve=76)), ""),
        (gauge(5, 84), ""),
        (gauge(5, 84.5), "week 84% > week limit 84%"),
        (gauge(5, 85, thresholds=Thresholds(week=85)), ""),
        (gauge(99, 99, thresholds=OFF), ""),
        (gauge(100, 5, thresholds=OFF), "the 5 h limit is reached (100%)"),
        (gauge(5, 100, thresholds=OFF), "the week's limit is reached (100%)"),
        (gauge(100, 100), "the 5 h limit is reached (100%)"),
        # What is not known.
        (gauge(None, None), "the quota is not known"),
        (gauge(None, None, problem="no rows"), "the quota is not known: no rows"),
        (gauge(5, None), "week UNKNOWN"),
        (gauge(5, None, thresholds=Thresholds(week=100)), ""),
        (gauge(None, 5, thresholds=Thresholds(reserve=100)), ""),
        (gauge(None, None, thresholds=OFF), ""),
        # A login from the environment is not held for what nobody tells.
        (gauge(None, None, "events"), ""),
        (gauge(5, None, "events"), ""),
        (gauge(75, None, "events"), "5 h 75% ≥ reserve 70%"),
        (gauge(None, 100, "events", thresholds=OFF), "the week's limit is reached (100%)"),
    ],
)
def test_what_lets_nothing_begin(one: Gauge, against: str) -> None:
    assert one.against.removesuffix(" until 2027-01-15 10:00 UTC") == against
    assert (" → no start" in one.text) is bool(against)
    if against and "UNKNOWN" not in against and "not known" not in against:
        assert "(resets 2027-01-15 10:00 UTC)" in one.text


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (gauge(5, 41),
         "quota 5% of 5 h (resets 2027-01-15 10:00 UTC), week 41% < reserve 70%"),
        (gauge(5, 41, thresholds=OFF),
         "quota 5% of 5 h (resets 2027-01-15 10:00 UTC), week 41%"
         ", 5 h reserve off (100%), week limit off (100%)"),
        (gauge(99.9, 41, thresholds=Thresholds(100, 84)),
         "quota 99% of 5 h (resets 2027-01-15 10:00 UTC), week 41%, 5 h reserve off (100%)"),
        (gauge(100, 41),
         "quota 100% of 5 h (resets 2027-01-15 10:00 UTC), week 41% → the 5 h limit is reached"
         " (100%) until 2027-01-15 10:00 UTC → no start"),
        (gauge(None, None, problem="it hung"),
         "quota: the quota is not known: it hung → no start"),
        (gauge(None, None, thresholds=OFF), "quota: not known"),
        (gauge(None, None, "events"), "quota: not known for this login"),
        (gauge(7, None, "events"),
         "quota 7% of 5 h (resets 2027-01-15 10:00 UTC) < reserve 70%"),
        (gauge(None, None, "none"), ""),
    ],
)  # fmt: skip
def test_what_is_said_of_it(one: Gauge, text: str) -> None:
    assert one.text == text


def test_the_same_for_programs() -> None:
    assert gauge(75, None, "events").facts == {
        "source": "events", "against": "5 h 75% ≥ reserve 70% until 2027-01-15 10:00 UTC",
        "session": 75, "sessionResetsMs": RESETS, "week": None, "weekResetsMs": None,
    }  # fmt: skip
    assert gauge(None, None, "none").facts == {}


PERCENTS: Final = st.none() | st.floats(0, 100)


@given(five=PERCENTS, seven=PERCENTS, reserve=st.integers(1, 100), most=st.integers(1, 100))
def test_what_is_reached_holds_whatever_is_switched_off(
    five: float | None, seven: float | None, reserve: int, most: int
) -> None:
    for source in ("events", "asked"):
        one = gauge(five, seven, source, thresholds=Thresholds(reserve, most))  # type: ignore[arg-type]
        if 100 in (five, seven):
            assert one.against
        if reserve == most == 100 and 100 not in (five, seven):
            assert not one.against


# --- the day's money -----------------------------------------------------------------------------

DAY: Final = T - T % DAY_MS


def cost(usd: float, ended_ms: int | None) -> Used:
    return Used(
        "s-1", Ref("shop", 1), 1, ("", 0), "claude", "sonnet", "", "", T, ended_ms,
        Ending.REPORT if ended_ms else None, True, None, (), usd,
    )  # fmt: skip


def test_what_a_day_cost_is_what_ended_on_it() -> None:
    parts = (cost(1, DAY - 1), cost(2, DAY), cost(4, T), cost(8, None), cost(16, DAY + DAY_MS))
    found = spent_today(parts, 20.0, T)
    assert (found.usd, found.until_ms) == (6, DAY + DAY_MS)
    assert found.text == "spent $6.00 of $20.00 today"
    assert found.facts == {"spentUsd": 6, "limitUsd": 20.0}


@pytest.mark.parametrize(
    ("usd", "limit", "reached"), [(19.99, 20.0, False), (20.0, 20.0, True), (99.0, None, False)]
)
def test_when_a_day_has_cost_enough(usd: float, limit: float | None, reached: bool) -> None:
    assert Spent(usd, limit).reached is reached
    assert bool(Spent(usd, limit).text) is (limit is not None)
