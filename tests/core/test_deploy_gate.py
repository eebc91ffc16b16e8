"""The deploy gate, read from histories: who waits for a deploy, and what takes a ticket away."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from histories import ANNA, S1, S2, Story

from colony.core.deploy import Built, Live, filed_by, gate_of, shut
from colony.core.markers import Deployed, LeaseExpired, Report, Run
from colony.core.texts.details import Filed
from colony.core.ticket import Ref, Ticket

SHA = "0123456789ab"
READY = Report(S1, SHA, passed=True, ready=True)
DEPLOYED = Deployed(S1, SHA)


def built() -> Story:
    return Story().starts(S1).notes(READY)


def test_a_built_ticket_waits() -> None:
    assert gate_of(built().history()) == Built(S1, SHA)


VOID: list[Callable[[Story], Story]] = [
    *(lambda s, state=state: s.moves(state) for state in ("open", "pending", "review", "done")),
    lambda s: s.moves("open").starts(S2),
    lambda s: s.turns("open").starts(S2).notes(Run(S2, "elm", "no report")),
    lambda s: s.moves("pending").moves("progress"),
]


@pytest.mark.parametrize("happens", VOID)
def test_mission_027_a_move_or_another_lease_voids_it(happens: Callable[[Story], Story]) -> None:
    assert gate_of(happens(built()).history()) is None


def test_what_a_person_types_voids_nothing_and_makes_nothing() -> None:
    line = f"colony-deployed: {S1} · sha256 {SHA}"
    assert gate_of(built().says(line).history()) == Built(S1, SHA)
    assert (
        gate_of(Story().starts(S1).says(f"colony-report: {S1} · ready to deploy").history()) is None
    )


@pytest.mark.parametrize(
    "story",
    [
        Story(),
        Story().starts(S1),
        Story().starts(S1).notes(Report(S1, SHA, passed=True)),
        Story().starts(S1).notes(Report(S1, SHA, ready=True, late=True)),
        Story().starts(S1).notes(Report(S2, SHA, ready=True)),
        Story().starts(S1).turns("open", LeaseExpired(S1, "elm")),
    ],
)
def test_whatever_is_not_built_waits_for_no_deploy(story: Story) -> None:
    assert gate_of(story.history()) is None


def test_a_deployed_line_without_the_move_is_half_of_it() -> None:
    assert gate_of(built().notes(DEPLOYED).history()) == Live(S1, unmoved=True)
    assert gate_of(built().notes(DEPLOYED).says("Nice.").history()) == Live(S1, unmoved=True)


@pytest.mark.parametrize("state", ["review", "pending", "done", "reopened"])
def test_once_anybody_moved_it_it_stays(state: str) -> None:
    for by in (ANNA, None):
        story = built().notes(DEPLOYED).moves(state, by=by)  # type: ignore[arg-type]
        handed = by is None and state == "review"
        assert gate_of(story.history()) == Live(S1, unmoved=False, handed=handed)


def test_a_person_who_moved_it_back_into_progress_is_not_overruled() -> None:
    story = built().notes(DEPLOYED).turns("review").moves("progress")
    assert gate_of(story.history()) is None


def test_the_next_session_begins_anew() -> None:
    story = built().notes(DEPLOYED).turns("review").moves("reopened").starts(S2)
    assert gate_of(story.history()) is None
    again = story.notes(Report(S2, SHA, ready=True))
    assert gate_of(again.history()) == Built(S2, SHA)


def test_a_deployed_line_of_another_session_moves_nothing() -> None:
    assert gate_of(built().notes(Deployed(S2, SHA)).history()) is None


def test_why_a_ticket_is_not_at_the_gate() -> None:
    assert shut(Story().history()).endswith("waits for no deploy: it is open")
    assert shut(Story().starts(S1).history()).endswith(f"session {S1} holds it")


def row(number: int, source: str, state: str = "open") -> Ticket:
    return Ticket(
        Ref("shop", number), f"T{number}", "", state, "colony", "u1", True, source,  # type: ignore[arg-type]
        0, 0, 0, 0,
    )  # fmt: skip


def test_what_a_report_filed_is_found_by_its_source() -> None:
    of = f"colony-report:{S1}"
    rows = [
        row(2, f"{of}:issue:0"),
        row(3, f"{of}:question:1", "pending"),
        row(4, f"{of}:questions:0", "pending"),
        row(5, f"{of}:questions:1", "done"),
        row(6, f"colony-report:{S2}:issue:0"),
        row(7, ""),
    ]
    ticket = Story().history().ticket
    assert filed_by(S1, rows, ticket) == Filed(("shop#3", "shop#4"), ("shop#2",), ())
