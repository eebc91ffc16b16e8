"""Which tickets need their history read."""

from __future__ import annotations

import pytest
from histories import PEOPLE, make_survey, make_ticket, question

from colony.core.people import NOBODY
from colony.core.survey import needs_history
from colony.core.ticket import STATES, Ticket


@pytest.mark.parametrize(
    ("ticket", "needed"),
    [
        *((make_ticket(state=state), state == "reopened") for state in STATES),
        (make_ticket(author="eve", user_id="u3"), True),
        (make_ticket(author="eve", user_id="u3", state="done"), False),
        (make_ticket(children=(question(2),)), True),
        (make_ticket(children=(question(2, "done"),)), False),
        (make_ticket(state="reopened", subject="Question: why?"), False),
    ],
)
def test_only_where_the_row_cannot_decide(ticket: Ticket, needed: bool) -> None:
    assert needs_history(ticket, PEOPLE, "members") is needed


@pytest.mark.parametrize(
    ("created_ms", "updated_ms", "needed"),
    [(1, 5, False), (1, 100, False), (1, 101, True), (150, 150, False), (150, 151, True)],
)
def test_starts_are_counted_only_where_something_happened(
    created_ms: int, updated_ms: int, needed: bool
) -> None:
    ticket = make_ticket(created_ms=created_ms, updated_ms=updated_ms)
    assert needs_history(ticket, PEOPLE, "members", 100) is needed
    assert not needs_history(ticket, PEOPLE, "members", None)


def test_with_everybody_let_in_a_stranger_needs_none() -> None:
    assert not needs_history(make_ticket(author="eve", user_id="u3"), PEOPLE, "all")


def test_a_project_whose_people_are_not_known_has_nobody() -> None:
    survey = make_survey(make_ticket(), people={})
    assert survey.people_of(survey.tickets[0]) == NOBODY
