"""Keywords at the start of a comment, and what a history says with them."""

from __future__ import annotations

import pytest
from histories import ANNA, BOB, EVE, PEOPLE, Story
from hypothesis import given
from hypothesis import strategies as st

from colony.core.keywords import (
    WORDS,
    Keyword,
    Unclear,
    Unknown,
    accepted,
    keyword_of,
    parse,
    priority_of,
)

ADMINS = frozenset({"u1"})


@pytest.mark.parametrize(
    ("text", "keyword"),
    [
        ("/hold", Keyword("hold")),
        ("  /Hold.\n", Keyword("hold")),
        ("/hold\u00a0now", Keyword("hold")),
        ("/hold until I am back", Keyword("hold")),
        ("/resume", Keyword("resume")),
        ("/prio high", Keyword("prio", number=5)),
        ("/prio Normal", Keyword("prio", number=0)),
        ("/prio low please", Keyword("prio", number=-5)),
        ("/prio -9", Keyword("prio", number=-9)),
        ("/prio +3", Keyword("prio", number=3)),
        ("/prio\n7", Keyword("prio", number=7)),
        ("/confirm", Keyword("confirm")),
        (
            "/reject the button is still grey\nand slow",
            Keyword("reject", "the button is still grey\nand slow"),
        ),
        ("/answer: blue", Keyword("answer", "blue")),
        ("/accept", Keyword("accept")),
        ("/budget $20", Keyword("budget", number=2000)),
        ("/budget 1.5", Keyword("budget", number=150)),
        ("/budget 0.05$", Keyword("budget", number=5)),
        ("/model sonnet", Keyword("model", "sonnet")),
        ("/model vendor/big-model:1m[x]", Keyword("model", "vendor/big-model:1m[x]")),
        ("/help", Unknown("help")),
        ("/holdfast", Unknown("holdfast")),
    ],
)
def test_a_keyword_is_the_first_word(text: str, keyword: object) -> None:
    assert parse(text) == keyword


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("/prio", "prio"),
        ("/prio urgent", "prio"),
        ("/prio 10", "prio"),
        ("/prio --1", "prio"),
        ("/prio ٣", "prio"),
        ("/reject", "reject"),
        ("/answer  ", "answer"),
        ("/budget", "budget"),
        ("/budget 0", "budget"),
        ("/budget -5", "budget"),
        ("/budget 12345678", "budget"),
        ("/budget nan", "budget"),
        ("/model", "model"),
        ("/model $(reboot)", "model"),
        ("/model --dangerous", "model"),
    ],
)
def test_a_keyword_that_is_not_understood_says_how_it_is_written(text: str, word: str) -> None:
    keyword = parse(text)
    assert isinstance(keyword, Unclear)
    assert keyword.word == word
    assert keyword.usage.startswith(f"/{word}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "please /hold",
        "hold",
        "/",
        "/ hold",
        "//hold",
        "/usr/bin is empty",
        "/hold-on",
        "> /hold",
    ],
)
def test_anything_else_is_text(text: str) -> None:
    assert parse(text) is None


@given(st.text() | st.builds("/{} {}".format, st.sampled_from([*WORDS, "x"]), st.text()))
def test_parse_takes_anything(text: str) -> None:
    parse(text)


def test_only_a_persons_comment_holds_a_keyword() -> None:
    story = Story().says("/hold")
    assert keyword_of(story.last) == Keyword("hold")
    assert keyword_of(story.moves("pending", "/hold").last) is None
    assert keyword_of(story.moves("open", by=None).last) is None
    machine = story._add("comment", None, "/hold").last
    assert keyword_of(machine) is None


def test_the_last_prio_of_an_admin_that_can_be_understood_decides() -> None:
    story = Story()
    assert priority_of(story.events, ADMINS) == 0
    assert priority_of(story.says("/prio high").events, ADMINS) == 5
    assert priority_of(story.says("/prio -2").events, ADMINS) == -2
    assert priority_of(story.says("/prio urgent").events, ADMINS) == -2
    assert priority_of(story.says("/prio 9", by=EVE).events, ADMINS) == -2
    assert priority_of(story.says("/prio 9", by=BOB).events, ADMINS) == -2
    assert priority_of(story.says("I think /prio 9").events, ADMINS) == -2
    assert priority_of(story.says("/hold").says("/budget $9").events, ADMINS) == -2
    assert priority_of(story.says("/prio normal").events, ADMINS) == 0


def test_a_display_name_is_no_proof_beside_a_user_id() -> None:
    story = Story().says("/prio 9", by=("u1", "u3"))
    assert priority_of(story.events, ADMINS) == 0
    older = Story().says("/prio 9", by=("Creator", ""))
    assert priority_of(older.events, frozenset({"Creator"})) == 9


def test_accepted_by_whoever_may_order() -> None:
    story = Story().says("/accept", by=EVE)
    assert accepted(story.events, PEOPLE) is None
    story.says("/accept", by=BOB).says("/accept", by=ANNA)
    first = accepted(story.events, PEOPLE)
    assert first is not None
    assert first.author == "bob"
