"""An agent that dies before it answers: what is held, for how long, and whose fault it is."""

from __future__ import annotations

from typing import Any

import pytest

from colony.core.account import Told, Used, holds_of, in_force, told
from colony.core.allowance import Quota, Seat
from colony.core.deaths import deaths_of, died_elsewhere, resting_of
from colony.core.endings import Ending
from colony.core.ticket import Ref
from tests.core.test_account import CART, HOUR, LOGIN, MINUTE, T, part

LAMP = Ref("shop", 2)


def death(at: int, session: str = "s-1", **more: Any) -> Used:
    return part(at, at + 1, Ending.CRASHED, session=session, wordless=True, **more)


@pytest.mark.parametrize(("tries", "pause"), [(1, 1), (2, 5), (3, 15), (4, 60), (9, 60)])
def test_how_long_it_is_held(tries: int, pause: int) -> None:
    row = [death(n * 70, f"s-{n}", said="no such option") for n in range(tries)]
    [hold] = deaths_of(row[::-1])
    assert (hold.kind, hold.agent) == ("agent", "claude")
    assert hold.until_ms == hold.try_ms == T + ((tries - 1) * 70 + 1 + pause) * MINUTE
    assert holds_of(row, LOGIN) == (), "its account is not"
    [line] = told(Told(), [hold], T)[1]
    assert line.startswith(
        "the coding agent dies before it answers (no such option) — starts paused until "
    )
    assert line.endswith(f"hit it · how: colony sessions s-{tries - 1}")


def test_a_session_that_is_taken_up_at_once_is_one_try() -> None:
    [hold] = deaths_of([death(0), death(1), death(2)])
    assert hold.until_ms == T + 4 * MINUTE
    [hold] = deaths_of([death(0), death(10, "s-2")])
    assert hold.until_ms == T + 16 * MINUTE


def test_whoever_is_answered_ends_it() -> None:
    answered = part(2, None, session="s-2", answered=True)
    assert deaths_of([death(0), answered]) == ()
    other = part(2, None, session="s-2", answered=True, agent="stand-in")
    [hold] = deaths_of([death(0), other])
    assert hold.agent == "claude"
    assert deaths_of([part(0, 1, Ending.CRASHED)]) == (), "it had said something"


def test_it_holds_that_agent_whatever_it_runs_on() -> None:
    quota = Quota(agents=frozenset({"claude"}), holds=deaths_of([death(0, agent="stand-in")]))
    why = quota.against(Seat("stand-in", "sonnet"), T + MINUTE)
    assert why == ("held", "the coding agent dies before it answers until 2027-01-15 08:02 UTC")
    assert quota.against(Seat("claude", "sonnet"), T + MINUTE) is None
    assert quota.untried(Seat("stand-in")) == quota.holds
    assert in_force(quota.holds, T + MINUTE) == quota.holds[0]


def test_two_agents_are_told_of_apart() -> None:
    both = deaths_of([death(0), death(0, "s-2", agent="stand-in")])
    before, lines = told(Told(), both, T)
    assert len(lines) == 2
    assert len(told(before, both[:1], T)[1]) == 1


def test_its_ticket_is_passed_over_longer_than_the_agent_is_held() -> None:
    assert resting_of([death(0), death(1)]) == {CART: T + 7 * MINUTE}
    twice = [death(0), death(10, "s-2"), death(20, "s-3")]
    assert resting_of(twice) == {CART: T + 36 * MINUTE}
    assert resting_of([death(0, ref=LAMP), *twice, part(30, None, session="s-4")]) == {
        LAMP: T + 6 * MINUTE
    }
    quota = Quota(resting=resting_of([death(0)]))
    assert quota.rests(LAMP, T) is None
    assert quota.rests(CART, T + 6 * MINUTE) is None
    assert quota.rests(CART, T) == (
        "rests", "its last session died before it was answered; again after 2027-01-15 08:06 UTC",
    )  # fmt: skip
    assert quota.wake_ms(T) == T + 6 * MINUTE
    assert quota.wake_ms(T + HOUR) is None


def test_whose_fault_a_death_is() -> None:
    """One that died on another ticket, too, is broken; one that died on this alone may not be."""
    assert died_elsewhere([death(0)], "claude", LAMP)
    assert not died_elsewhere([death(0)], "claude", CART)
    assert not died_elsewhere([death(0)], "stand-in", LAMP)
    assert not died_elsewhere([death(0), part(2, 3, answered=True)], "claude", LAMP)
    assert died_elsewhere([death(0), death(2, ref=LAMP)], "claude", CART)
    assert died_elsewhere([death(0), death(2, ref=LAMP)], "claude", LAMP)
