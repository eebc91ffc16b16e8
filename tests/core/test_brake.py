"""The brake on expiry: what puts it on, how long it holds, and when it lets go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.core.brake import QUIET, Brake, Braked, Look, brake, crowded

NOW: Final = 1_000_000_000_000
CALM: Final = Look(
    boot_s=100.0, tracker_ms=NOW, interval_s=60.0, ttl_ms=7_200_000, leases=9, dead=0
)
HALF_S: Final = 3600.0


def run(*looks: Look) -> list[Braked]:
    """One loop's iterations, in order."""
    state, answers = Brake(), []
    for look in looks:
        answers.append(brake(state, look))
        state = answers[-1].state
    return answers


def later(look: Look, seconds: float, **facts: Any) -> Look:
    """The next look; both clocks went on alike, if nothing else is said."""
    at_ms = look.tracker_ms + int(seconds * 1000)
    return replace(look, **{"boot_s": look.boot_s + seconds, "tracker_ms": at_ms, **facts})


def after(first: Look, *steps: dict[str, Any]) -> list[Look]:
    looks = [first]
    for step in steps:
        looks.append(later(looks[-1], **{"seconds": 60.0, **step}))
    return looks


@pytest.mark.parametrize(
    ("leases", "dead", "many"),
    [(2, 2, False), (3, 3, True), (8, 3, True), (9, 3, False), (100, 33, False), (100, 34, True)],
)
def test_more_than_a_third_and_at_least_three(leases: int, dead: int, many: bool) -> None:
    assert crowded(leases, dead) is many
    [answer] = run(replace(CALM, leases=leases, dead=dead))
    assert answer.expiries == (0 if many else None)


def test_the_first_look_of_a_loop_is_no_pause() -> None:
    assert run(replace(CALM, boot_s=10**7, dead=1))[0].expiries is None


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (60 + HALF_S, ""),
        (61 + HALF_S, "the loop saw nothing of the tracker for 1 h 1 min"),
    ],
)
def test_a_pause_is_what_is_longer_than_the_loop_meant_to_wait(seconds: float, said: str) -> None:
    answer = run(CALM, later(CALM, seconds, dead=1))[1]
    assert answer.said.partition(":")[0] == said
    assert answer.expiries == (0 if said else None)


def test_a_long_interval_is_no_pause() -> None:
    slow = replace(CALM, interval_s=10_000.0, dead=1)
    assert [each.expiries for each in run(slow, later(slow, 10_001))] == [None, None]


@pytest.mark.parametrize(
    ("jump_s", "said"),
    [
        (HALF_S, ""),
        (-HALF_S, ""),
        (HALF_S + 1, "the tracker's clock jumped on by 1 h"),
        (-HALF_S - 1, "the tracker's clock jumped back by 1 h"),
    ],
)
def test_a_jump_of_the_trackers_clock(jump_s: float, said: str) -> None:
    at_ms = NOW + 60_000 + int(jump_s * 1000)
    answer = run(CALM, later(CALM, 60, tracker_ms=at_ms, dead=1))[1]
    assert answer.said.partition(":")[0] == said
    assert answer.expiries == (0 if said else None)


def test_three_quiet_iterations_then_one_at_a_time_then_free() -> None:
    dead = [4, 4, 4, 4, 3, 2, 1, 0, 1]
    answers = run(*after(replace(CALM, dead=4), *({"dead": each} for each in dead[1:])))
    assert [each.expiries for each in answers] == [0, 0, 0, 1, 1, 1, 1, None, None]
    assert [bool(each.said) for each in answers] == [True] + [False] * 8
    assert answers[0].said == (
        "4 of 9 leases seem dead at once: no lease is expired for 3 iterations,"
        " then one an iteration"
    )


def test_where_they_all_come_back_nothing_is_expired() -> None:
    answers = run(*after(replace(CALM, dead=9), {}, {"dead": 0}, {"dead": 0}, {"dead": 0}))
    assert [each.expiries for each in answers] == [0, 0, 0, None, None]


@pytest.mark.parametrize("at", range(1, 6))
def test_another_pause_brakes_anew(at: int) -> None:
    """Also in the quiet time, and while the dead are worked off: it is another fault of ours."""
    looks = [{"dead": 4}] * 12
    looks[at] = {"dead": 4, "seconds": 60 + HALF_S + 1}
    answers = run(*after(replace(CALM, dead=4), *looks))
    said = [number for number, each in enumerate(answers) if each.said]
    assert said == [0, at + 1]
    assert [each.expiries for each in answers[at + 1 :]][: QUIET + 1] == [0, 0, 0, 1]


@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from([1.0, 60.0, 5000.0]),
            st.sampled_from([-5_000_000, 0, 0, 0, 5_000_000]),
            st.integers(0, 9),
        ),
        max_size=25,
    )
)
def test_whatever_happens(steps: list[tuple[float, int, int]]) -> None:
    """After anything that brakes nothing is expired for three looks, and in a crowd never more
    than one; once nothing is dead and nothing happens it lets go."""
    looks = [CALM]
    for seconds, jump_ms, dead in steps:
        at_ms = looks[-1].tracker_ms + int(seconds * 1000) + jump_ms
        looks.append(later(looks[-1], seconds, tracker_ms=at_ms, dead=dead))
    looks += after(later(looks[-1], 60.0, dead=0), *[{}] * QUIET)
    answers = run(*looks)
    for at, each in enumerate(answers):
        if each.said:
            assert [one.expiries for one in answers[at : at + QUIET]] == [0] * QUIET
        if crowded(looks[at].leases, looks[at].dead):
            assert each.expiries in (0, 1)
    assert answers[-1].expiries is None
