"""The nearest known word."""

from __future__ import annotations

import pytest

from colony.core.spelling import hint, nearest

KNOWN = ("maxTurns", "model", "permissionMode", "workers")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("modle", "model"),
        ("maxturns", "maxTurns"),
        ("MAX_TURNS", "maxTurns"),
        ("permisionMode", "permissionMode"),
        ("worker", "workers"),
        ("colour", None),
        ("", None),
        ("model" * 1000, None),
    ],
)
def test_the_nearest_word(word: str, meant: str | None) -> None:
    assert nearest(word, KNOWN) == meant


def test_a_hint_is_empty_where_nothing_is_near() -> None:
    assert hint("modle", KNOWN) == " (did you mean model?)"
    assert hint("xyz", KNOWN) == ""
    assert hint("model", ()) == ""


def test_no_time_is_spent_on_words_that_nobody_mistyped() -> None:
    assert nearest("m" * 64, ["m" * 65]) == "m" * 65
    assert nearest("m" * 65, ["m" * 64]) is None
