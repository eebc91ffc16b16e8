"""Which run folders may go: a table of what keeps each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from histories import make_ticket

from colony.core.outbox import Effect
from colony.core.prune import Bounds, closing, needed, spared
from colony.core.session import (
    Facts,
    LeaseFacts,
    Occasion,
    Outcome,
    ReportFacts,
    Runner,
    Setup,
    VerdictFacts,
)
from colony.core.ticket import STATES, LeaseView, Ref, Ticket

NOW = 1_800_000_000_000
DAY = 86_400_000
RUNNER = Runner("claude", "claude", "sonnet", 120, 3600, "auto")
SETUP = Setup(RUNNER, RUNNER, "/dev/folder", (8700, 8709), "", False, 2, 7_200_000, 3_600_000, "on")
NEW = Facts("s-20260101T0000-abcdef", Ref("shop", 1), "h", True, NOW - 50 * DAY, SETUP)
SAID = Effect("comment", "comment", text="x", status="done")
MOVED = Effect("move", "move", state="review", status="done")
REPORT = ReportFacts(1, "a", valid=True)
ENDED = replace(
    NEW,
    lease=LeaseFacts(7, NOW),
    report=REPORT,
    verdict=VerdictFacts(2, "v", valid=True, passed=True),
    occasion=Occasion.PASSED,
    outbox=(SAID, MOVED),
    outcome=Outcome.POSTED,
    ended_ms=NOW - 40 * DAY,
)
UNPOSTED = replace(ENDED, occasion=None, outbox=(), outcome=None, ended_ms=None)


def rows(**row: Any) -> dict[Ref, Ticket]:
    ticket = make_ticket(**row)
    return {ticket.ref: ticket}


def lease(kind: str) -> LeaseView:
    return LeaseView("s", "h", kind, 3, None)  # type: ignore[arg-type]


@pytest.mark.parametrize("state", ["done", "canceled"])
def test_a_session_of_a_closed_ticket_may_go(state: Any) -> None:
    assert needed(ENDED, rows(state=state)) == ""


@pytest.mark.parametrize("state", sorted(set(STATES) - {"done", "canceled"}))
def test_a_ticket_that_is_not_closed_keeps_all_of_its_sessions(state: Any) -> None:
    assert needed(ENDED, rows(state=state)) == f"its ticket shop#1 is not done: {state}"


@pytest.mark.parametrize(
    ("facts", "row", "why"),
    [
        (NEW, {}, "it has not ended (new)"),
        (replace(NEW, lease=LeaseFacts(7, NOW)), {}, "it has not ended (leased)"),
        (UNPOSTED, {}, "its result is not posted (judged)"),
        (replace(UNPOSTED, verdict=None), {}, "its result is not posted (reported)"),
        (replace(ENDED, outcome=None), {}, "its result is not posted (posting)"),
        (
            replace(ENDED, outbox=(SAID, replace(MOVED, status="planned"))),
            {},
            "not all of its outcome is posted",
        ),
        (
            replace(ENDED, outbox=(), outcome=Outcome.MOVED),
            {},
            "its report was never posted",
        ),
        (
            replace(ENDED, outbox=(replace(SAID, status="skipped"),), outcome=Outcome.GONE),
            {},
            "its report was never posted",
        ),
        (ENDED, {"number": 2}, "its ticket shop#1 is not in the tracker: nothing else tells of it"),
        (
            ENDED,
            {"state": "progress", "lease": lease("ready")},
            "its ticket shop#1 waits for the deploy",
        ),
        (ENDED, {"state": "progress", "lease": lease("parked")}, "its ticket shop#1 is parked"),
    ],
)
def test_what_keeps_a_folder(facts: Facts, row: dict[str, Any], why: str) -> None:
    assert needed(facts, rows(**({"state": "done"} | row))) == why


def test_a_session_without_a_usable_report_has_nothing_to_post() -> None:
    for report in (None, replace(REPORT, valid=False)):
        facts = replace(ENDED, report=report, outbox=(), outcome=Outcome.NO_REPORT)
        assert needed(facts, rows(state="done")) == ""


def test_the_bounds_that_were_asked_for() -> None:
    old, both = Bounds(older_than_ms=40 * DAY), Bounds(keep=2, older_than_ms=41 * DAY)
    assert spared(ENDED, 0, old, NOW) == ""
    assert spared(ENDED, 0, old, NOW - 1) == "it ended 39 d ago"
    assert spared(ENDED, 1, Bounds(keep=2), NOW) == "it is one of the newest 2"
    assert spared(ENDED, 2, Bounds(keep=2), NOW) == ""
    assert spared(ENDED, 2, both, NOW) == "it ended 40 d ago"
    assert spared(ENDED, 0, Bounds(keep=0), NOW) == ""


def test_one_without_an_end_is_as_old_as_its_start() -> None:
    facts = replace(ENDED, ended_ms=None)
    assert spared(facts, 0, Bounds(older_than_ms=50 * DAY), NOW) == ""
    assert spared(facts, 0, Bounds(older_than_ms=51 * DAY), NOW) == "it ended 50 d ago"


def test_what_stands_behind_a_removal() -> None:
    assert closing(ENDED, rows(state="done"), NOW) == "shop#1 is done, it ended 40 d ago (posted)"
