"""How often a ticket was tried, read from its history."""

from __future__ import annotations

import pytest
from histories import SHA, Story

from colony.core.attempts import (
    DEAD,
    OUT_OF_MEMORY,
    OUT_OF_STEPS,
    Attempts,
    attempts_of,
    cost_cents,
    in_vain,
    is_cost_known,
    memory_for,
    starts_within_the_hour,
    steps_for,
)
from colony.core.endings import Ending
from colony.core.markers import Marker, Report, Retry, Run, Spent, Verdict

GOOD = Spent(10, 40, True)
SHORT = Spent(10, 40, True, out_of_steps=True)
BAD = Spent(10, 40, False)


def run(ending: Ending, spent: Spent = BAD, how: str = "no report") -> Marker:
    return Run("s", "h", how, ending, spent)  # type: ignore[arg-type]


def half(spent: Spent = GOOD) -> Marker:
    return Report("s", "0123456789ab", passed=True, half_done=True, spent=spent)


DONE = Report("s", "0123456789ab", passed=True, spent=GOOD)
LATE = Report("s", "0123456789ab", late=True, spent=GOOD)
FAIL = Verdict("s", 1, 2, spent=GOOD)
AGAIN = Retry(1)


def of(*lines: Marker) -> Attempts:
    story = Story()
    for line in lines:
        story = story.notes(line)
    return attempts_of(story.history().events)


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ([], 0),
        ([run(Ending.NO_REPORT)], 1),
        ([run(Ending.NO_REPORT), run(Ending.OUT_OF_TIME)], 2),
        ([run(Ending.NO_REPORT), run(Ending.OUT_OF_TIME, GOOD)], 0),
        ([run(Ending.NO_REPORT), run(Ending.LIMIT, BAD, "given back")], 1),
        ([run(Ending.NO_REPORT), run(Ending.STOPPED, BAD, "given back")], 1),
        ([run(Ending.CRASHED, BAD, "given back")], 1),
        ([run(Ending.KILLED, BAD, "given back")], 1),
        ([run(Ending.CRASHED, GOOD, "given back")], 0),
        ([run(Ending.NO_REPORT), half()], 0),
        ([run(Ending.NO_REPORT), FAIL], 0),
        ([run(Ending.NO_REPORT), DONE], 0),
        ([run(Ending.NO_REPORT), LATE], 1),
        ([run(Ending.NO_REPORT), AGAIN], 0),
        ([run(Ending.NO_REPORT, Spent())], 1),
    ],
)
def test_sessions_in_a_row_that_brought_nothing(lines: list[Marker], count: int) -> None:
    assert of(*lines).in_vain == count


def test_half_done_rounds_in_a_row() -> None:
    assert of(half(), half(), run(Ending.NO_REPORT)).half_done == 2
    assert of(half(), half(), DONE, half()).half_done == 1
    assert of(half(), AGAIN).half_done == 0


def test_who_lets_it_go_on_lets_counting_begin_anew() -> None:
    story = Story().notes(run(Ending.NO_REPORT)).notes(half())
    story = story.moves("pending").moves("open")
    found = attempts_of(story.history().events)
    assert (found.in_vain, found.half_done) == (0, 0)
    assert attempts_of(story.moves("pending").history().events) == found


@pytest.mark.parametrize(
    ("lines", "steps"),
    [
        ([], 40),
        ([run(Ending.OUT_OF_STEPS, GOOD)], 60),
        ([run(Ending.OUT_OF_STEPS, GOOD), half(SHORT)], 90),
        ([half(SHORT), half(SHORT), half(SHORT)], 90),
        ([run(Ending.OUT_OF_STEPS, BAD)], 40),
        ([run(Ending.OUT_OF_TIME, GOOD)], 40),
        ([half(SHORT), half()], 40),
        ([half(SHORT), DONE], 40),
        ([half(SHORT), AGAIN], 40),
    ],
)
def test_an_attempt_that_ran_short_gets_more_steps(lines: list[Marker], steps: int) -> None:
    assert steps_for(40, of(*lines)) == steps


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ([run(Ending.OUT_OF_MEMORY)], 1),
        ([run(Ending.OUT_OF_MEMORY, GOOD), run(Ending.OUT_OF_MEMORY, Spent())], 2),
        ([run(Ending.OUT_OF_MEMORY), run(Ending.NO_REPORT)], 1),
        ([run(Ending.OUT_OF_MEMORY), half(), DONE, FAIL], 1),
        ([run(Ending.OUT_OF_MEMORY), AGAIN], 0),
        ([run(Ending.OUT_OF_STEPS, GOOD)], 0),
    ],
)
def test_who_ran_out_of_memory_is_remembered(lines: list[Marker], count: int) -> None:
    """What the work needs does not become less because something else happened meanwhile."""
    assert of(*lines).starved == count


def test_it_is_remembered_when_somebody_lets_it_go_on() -> None:
    story = Story().notes(run(Ending.OUT_OF_MEMORY)).moves("pending").moves("open")
    assert attempts_of(story.history().events).starved == 1


@pytest.mark.parametrize(
    ("base", "starved", "mb"),
    [(1000, 0, 1000), (1000, 1, 1500), (1000, 2, 2250), (1000, 3, 3375), (1000, 4, 4000),
     (1000, 10**6, 4000), (5, 1, 8), (1, 3, 3), (0, 2, 0), (10**6, 9, 4 * 10**6)],
)  # fmt: skip
def test_who_ran_out_of_memory_gets_more(base: int, starved: int, mb: int) -> None:
    assert memory_for(base, starved) == mb


def test_starts_of_the_last_hour() -> None:
    story = Story()
    for _ in range(3):
        story = story.starts().turns("open")
    events = story.history().events
    found = attempts_of(events)
    assert len(found.starts_ms) == 3
    last_ms = found.starts_ms[-1]
    assert starts_within_the_hour(found, last_ms) == found.starts_ms
    assert starts_within_the_hour(found, last_ms + 3_600_000) == ()
    again = story.notes(AGAIN).history().events
    assert attempts_of(again).starts_ms == ()


def test_what_counts_is_what_is_counted() -> None:
    """The last session is judged by the same rule as those before it."""
    for ending in Ending:
        for spent in (GOOD, BAD):
            for how in ("no report", "given back"):
                line = Run("s", "h", how, ending, spent)  # type: ignore[arg-type]
                assert in_vain(line) == (of(line).in_vain == 1)


def test_what_the_sessions_before_cost() -> None:
    story = Story().notes(Report("a", SHA, passed=True, spent=Spent(150)))
    story = story.notes(Verdict("a", 1, 2, spent=Spent(180))).notes(AGAIN)
    story = story.notes(Run("b", "h", "given back", Ending.LIMIT, Spent(20)))
    story = story.notes(Run("b2", "h", "no report")).notes(Report("c", SHA, spent=Spent(7)))
    events = story.history().events
    assert cost_cents(events, "c") == 200
    assert cost_cents(events, "") == 207


def test_what_was_cut_off_leaves_a_lower_bound() -> None:
    cut = Spent(20, 4, True, lower_bound=True)
    events = Story().notes(Run("a", "h", "given back", Ending.KILLED, cut)).history().events
    assert not is_cost_known(events, "b")
    assert is_cost_known(events, "a")
    assert cost_cents(events, "b") == 20
    events = Story().notes(Run("a", "h", "no report")).says("lower bound").history().events
    assert is_cost_known(events, "b")


def test_the_words_are_those_of_the_endings() -> None:
    assert OUT_OF_STEPS == Ending.OUT_OF_STEPS
    assert OUT_OF_MEMORY == Ending.OUT_OF_MEMORY
    assert {Ending.KILLED, Ending.CRASHED} == DEAD


def test_counting_begins_anew_from_the_last_retry_line_of_a_machine() -> None:
    story = Story().notes(run(Ending.NO_REPORT)).says("colony-retry: 2026-01-31T18:19:00.500Z")
    assert attempts_of(story.events).in_vain == 1, "a person's line is text"
    story.notes(Retry(5)).notes(run(Ending.NO_REPORT)).notes(Retry(7))
    assert attempts_of(story.events).in_vain == 0
