"""Questions, blockers and parents."""

from __future__ import annotations

import pytest
from histories import S1, Story, make_ticket, question, related

from colony.core.markers import Handled
from colony.core.relations import blockers, goes_on, is_question, open_questions, parts_of
from colony.core.ticket import STATES, History, Ref, Related


@pytest.mark.parametrize(
    ("subject", "source", "expected"),
    [
        ("Which colour?", f"colony-report:{S1}:questions:0", True),
        ("Where should it go?", f"colony-report:{S1}:question:1", True),
        ("How should it go on?", f"colony-verdict:{S1}:question", True),
        ("Broken link", f"colony-report:{S1}:issue:0", False),
        ("Question: which colour?", "", True),
        ("Question (shop#1): which colour?", "", True),
        ("Questions about the basket", "", True),
        ("  Question", "", True),
        ("Questionnaire for customers", "", False),
        ("Answer the Question", "", False),
        ("question marks are missing", "", False),
        ("Add search", "importer:questions:7", False),
    ],
)
def test_what_is_a_question(subject: str, source: str, expected: bool) -> None:
    assert is_question(make_ticket(subject=subject, source=source)) is expected
    assert is_question(related(1, subject=subject, source=source)) is expected


def test_only_a_blocker_that_is_done_frees() -> None:
    each = tuple(related(number, state) for number, state in enumerate(STATES, 2))
    left = {one.state for one in blockers(make_ticket(blocked_by=each))}
    assert left == set(STATES) - {"done"}


def test_questions_and_helpers_make_nobody_a_parent() -> None:
    part = related(4)
    helper = related(5, source=f"colony-spawn:{S1}:tests")
    ticket = make_ticket(children=(question(2), related(3, subject="Question: why?"), part, helper))
    assert parts_of(ticket) == (part,)


def test_a_question_is_open_until_it_is_answered_or_refused() -> None:
    each = tuple(question(number, state) for number, state in enumerate(STATES, 2))
    ticket = make_ticket(children=(*each, related(20)))
    left = {one.state for one in open_questions(ticket)}
    assert left == {"open", "progress", "review", "pending"}


def waiting(by_machine: bool, *children: Related) -> History:
    story = Story().starts()
    if by_machine:
        story.turns("pending")
    else:
        story.moves("pending")
    return story.history(children=children)


def test_the_answer_to_the_last_question_lets_colonys_own_pending_go_on() -> None:
    answered = question(2, "done")
    assert goes_on(waiting(True, answered), answered.ref)
    assert goes_on(waiting(True, question(2)), answered.ref)
    assert not goes_on(waiting(True, answered, question(3)), answered.ref)


def test_a_pending_that_a_person_set_stays() -> None:
    assert not goes_on(waiting(False, question(2, "done")), Ref("shop", 2))


def test_a_pending_that_colony_set_for_a_person_stays() -> None:
    story = Story().starts().turns("pending", Handled(7, "hold"))
    assert not goes_on(story.history(children=(question(2, "done"),)), Ref("shop", 2))


def test_a_ticket_in_another_state_stays() -> None:
    assert not goes_on(Story().history(children=(question(2, "done"),)), Ref("shop", 2))
