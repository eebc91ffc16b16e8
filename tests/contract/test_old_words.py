"""The state words of older trackers, both ways."""

from __future__ import annotations

import pytest

from colony.core.ticket import STATES, State
from colony.errors import Invalid
from colony.tracker.http.words import are_old, old_word, old_words, read_state

OLD = ("open", "in progress", "awaiting creator", "answered", "on hold", "confirmed", "rejected")


@pytest.mark.parametrize(
    ("word", "ticket", "question"),
    [
        ("open", "open", "open"),
        ("in progress", "progress", "progress"),
        ("awaiting creator", "review", "pending"),
        ("answered", "review", "pending"),
        ("on hold", "pending", "pending"),
        ("confirmed", "done", "done"),
        ("rejected", "reopened", "reopened"),
        ("Open", None, None),
        ("", None, None),
        ("closed", None, None),
    ],
)
def test_words_are_read_by_word_and_question(
    word: str, ticket: State | None, question: State | None
) -> None:
    assert read_state(word, question=False) == ticket
    assert read_state(word, question=True) == question


@pytest.mark.parametrize(
    ("state", "ticket", "question"),
    [
        ("open", "open", "open"),
        ("progress", "in progress", "in progress"),
        ("review", "awaiting creator", "awaiting creator"),
        ("pending", "on hold", "awaiting creator"),
        ("done", "confirmed", "confirmed"),
        ("reopened", "rejected", "rejected"),
    ],
)
def test_states_are_written_by_state_and_question(state: State, ticket: str, question: str) -> None:
    assert old_word(state, question=False) == ticket
    assert old_word(state, question=True) == question


@pytest.mark.parametrize("question", [False, True])
def test_canceled_cannot_be_written(question: bool) -> None:
    with pytest.raises(Invalid, match="canceled"):
        old_word("canceled", question=question)


@pytest.mark.parametrize("question", [False, True])
@pytest.mark.parametrize("state", [each for each in STATES if each != "canceled"])
def test_what_is_written_comes_back(state: State, question: bool) -> None:
    back = read_state(old_word(state, question=question), question=question)
    assert back == ("pending" if question and state == "review" else state)


@pytest.mark.parametrize("question", [False, True])
def test_todays_words_are_left_as_they_are(question: bool) -> None:
    for state in STATES:
        assert read_state(state, question=question) == state


def test_a_server_without_the_word_review_is_an_older_one() -> None:
    assert are_old(OLD)
    assert are_old(())
    assert not are_old(STATES)


def test_each_word_is_asked_for_by_the_state_it_may_mean() -> None:
    assert old_words("pending") == {"awaiting creator", "answered", "on hold"}
    assert old_words("review") == {"awaiting creator", "answered"}
    assert old_words("progress") == {"in progress"}
    assert old_words("canceled") == set()
    for word in OLD:
        for question in (False, True):
            state = read_state(word, question=question)
            assert state is not None
            assert word in old_words(state)
