"""Which tickets need their history read."""

from __future__ import annotations

from typing import Any

import pytest
from histories import PEOPLE, S1, make_survey, make_ticket, question, related

from colony.core.budget import BUDGET_SOURCE
from colony.core.people import NOBODY
from colony.core.survey import needs_history
from colony.core.ticket import STATES, Ticket

MORE = related(7, "done", "Question (shop#1): more?", f"{BUDGET_SOURCE}{S1}:question")


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


@pytest.mark.parametrize(
    ("row", "capped", "needed"),
    [
        ({"created_ms": 1, "updated_ms": 1}, True, False),
        ({"created_ms": 1, "updated_ms": 2}, True, True),
        ({"created_ms": 1, "updated_ms": 2}, False, False),
        ({"created_ms": 1, "updated_ms": 2, "state": "review"}, True, False),
        ({"created_ms": 1, "updated_ms": 2, "state": "pending"}, True, False),
        ({"created_ms": 1, "updated_ms": 2, "subject": "Question: why?"}, True, False),
        ({"children": (MORE,)}, False, True),
        ({"children": (MORE,), "state": "done"}, False, False),
    ],
)
def test_what_a_ticket_costs_is_asked_where_something_happened(
    row: dict[str, Any], capped: bool, needed: bool
) -> None:
    assert needs_history(make_ticket(**row), PEOPLE, "members", capped=capped) is needed


def test_with_everybody_let_in_a_stranger_needs_none() -> None:
    assert not needs_history(make_ticket(author="eve", user_id="u3"), PEOPLE, "all")


def test_a_project_whose_people_are_not_known_has_nobody() -> None:
    survey = make_survey(make_ticket(), people={})
    assert survey.people_of(survey.tickets[0]) == NOBODY
