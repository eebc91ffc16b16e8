"""Surveys of many tickets, for the rules alone."""

from __future__ import annotations

from bench.tickets import SHARES
from colony.core.people import People
from colony.core.project import Project
from colony.core.survey import Survey
from colony.core.ticket import Ref, Related, Ticket

PEOPLE = People(admins=frozenset({"u1"}))


def survey_of(count: int) -> Survey:
    """`count` tickets in the same mixture of states as `bench.tickets`."""
    project = Project("shop", concept="CONCEPT.md", dev_folder="/srv/shop")
    return Survey(
        tickets=tuple(_ticket(at) for at in range(count)),
        registry={"shop": project},
        host="here",
        now_ms=1_790_000_000_000,
        people={"shop": PEOPLE},
    )


def _ticket(at: int) -> Ticket:
    blocked = at % 7 == 6
    blocker = Related(Ref("shop", max(1, at - 2)), "open", "another")
    return Ticket(
        ref=Ref("shop", at + 1),
        subject=f"Ticket {at}",
        summary="",
        state=SHARES[at % len(SHARES)],
        author="owner",
        user_id="u1",
        machine=False,
        source="",
        created_ms=1_790_000_000_000 + at,
        updated_ms=1_790_000_000_000 + at,
        last_event=at + 1,
        version=1,
        blocked_by=(blocker,) if blocked else (),
    )
