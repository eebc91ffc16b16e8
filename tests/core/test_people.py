"""Who is a creator, who may order work, whose ticket waits for `/accept`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from histories import ANNA, BOB, EVE, PEOPLE, S1, Story, make_ticket

from colony.core.people import is_creator, may_order, needs_accept, people_of
from colony.core.ticket import Event, Member, ProjectInfo

INFO = ProjectInfo(
    "shop", (Member("anna", "u1", "admin"), Member("bob", "u2", "edit"), Member("eve", "u3", "use"))
)


def said_by(author: str, user_id: str, *, machine: bool = False) -> Event:
    return Event(1, "comment", author, user_id, machine, 0, "hello")


def test_people_of_a_project_with_members() -> None:
    assert people_of(INFO, ("creator",)) == PEOPLE


@pytest.mark.parametrize(
    ("event", "creator", "orders"),
    [
        (said_by(*ANNA), True, True),
        (said_by(*BOB), False, True),
        (said_by(*EVE), False, False),
        (said_by("anna", "u3"), False, False),  # a display name is no proof beside a user id
        (said_by("someone else now", "u1"), True, True),
        (said_by("anna", ""), True, True),  # an older server shows names only
        (said_by("bob", ""), False, True),
        (said_by("creator", ""), False, False),
        (said_by("", ""), False, False),
        (said_by("anna", "u1", machine=True), False, False),
    ],
)
def test_with_members(event: Event, creator: bool, orders: bool) -> None:
    people = people_of(INFO, ("creator",))
    assert (is_creator(event, people), may_order(event, people)) == (creator, orders)


@pytest.mark.parametrize(
    ("event", "creator"),
    [
        (said_by("Creator", "u9"), True),
        (said_by("Creator", ""), True),
        (said_by("creator", "u9"), False),
        (said_by("eve", "Creator"), False),
        (said_by("Creator", "", machine=True), False),
    ],
)
@pytest.mark.parametrize("info", [None, ProjectInfo("shop", ())])
def test_without_members_the_configured_names_count_exactly(info, event, creator: bool) -> None:
    people = people_of(info, ("Creator",))
    assert is_creator(event, people) is creator
    assert may_order(event, people) is creator


def test_whose_ticket_waits_for_accept() -> None:
    theirs = make_ticket(author="eve", user_id="u3")
    assert needs_accept(theirs, PEOPLE, "members")
    assert not needs_accept(theirs, PEOPLE, "all")
    assert not needs_accept(theirs, people_of(None, ("Creator",)), "members")
    assert not needs_accept(make_ticket(), PEOPLE, "members")
    assert not needs_accept(make_ticket(author="bob", user_id="u2"), PEOPLE, "members")


def test_what_colony_filed_is_work_unless_a_stranger_spoke_in_its_brief() -> None:
    filed = make_ticket(
        author="colony", user_id="u0", machine=True, source=f"colony-report:{S1}:issue:0"
    )
    assert not needs_accept(filed, PEOPLE, "members")
    tainted = replace(filed, source=f"{filed.source}:stranger")
    assert needs_accept(tainted, PEOPLE, "members")
    assert not needs_accept(tainted, PEOPLE, "all")


def test_the_opener_of_a_ticket_is_judged_like_an_author() -> None:
    assert is_creator(Story().history().ticket, PEOPLE)
