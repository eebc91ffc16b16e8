"""The last line of a session's command, and its exit status."""

from __future__ import annotations

from dataclasses import replace

import pytest

from colony.core.endings import Ending
from colony.core.last_line import ended
from colony.core.outbox import Effect
from colony.core.session import (
    End,
    Facts,
    LeaseFacts,
    Outcome,
    PartFacts,
    Rest,
    Runner,
    Setup,
    VerdictFacts,
)
from colony.core.ticket import Ref

RUNNER = Runner("claude", "claude", "sonnet", 120, 3600, "auto")
SETUP = Setup(RUNNER, RUNNER, "/dev/folder", (8700, 8709), "", False, 2, 7_200_000, 3_600_000, "on")
PART = PartFacts(1, "work", "u1", False, 0, ended=Ending.NO_REPORT)
FACTS = replace(
    Facts("s-20260101T0000-abcdef", Ref("shop", 3), "h", True, 0, SETUP),
    lease=LeaseFacts(7, 1),
    parts=(PART,),
)
SAID = Effect("comment", "comment", status="done")

TABLE = [
    (Outcome.POSTED, "work.done", 0),
    (Outcome.READY, "work.done", 0),
    (Outcome.HALF_DONE, "work.half_done", 0),
    (Outcome.SENT_BACK, "work.failed", 1),
    (Outcome.QUESTION, "work.failed", 1),
    (Outcome.NO_VERDICT, "work.controller_failed", 1),
    (Outcome.NO_REPORT, "work.failed", 1),
    (Outcome.GIVEN_BACK, "work.failed", 1),
    (Outcome.MOVED, "work.failed", 1),
    (Outcome.LATE, "work.failed", 1),
    (Outcome.GONE, "work.failed", 1),
]


def test_every_outcome_has_its_line() -> None:
    assert {row[0] for row in TABLE} == set(Outcome)


@pytest.mark.parametrize(("outcome", "kind", "code"), TABLE)
def test_the_line_of_an_outcome(outcome: Outcome, kind: str, code: int) -> None:
    told = ended(FACTS, End(outcome), "work")
    assert (told.line.kind, told.exit_code) == (kind, code)
    assert told.line.text.startswith("— shop#3 ")
    assert ended(FACTS, End(outcome), "check").line.kind == kind.replace("work", "check")


def test_a_held_account_is_no_failure_of_the_work() -> None:
    facts = replace(FACTS, parts=(replace(PART, ended=Ending.LIMIT),))
    assert ended(facts, End(Outcome.GIVEN_BACK), "work").exit_code == 4


def test_what_a_person_moved_has_its_outcome_in_a_comment() -> None:
    told = ended(replace(FACTS, outbox=(SAID,)), End(Outcome.MOVED), "work")
    assert (told.line.kind, told.exit_code) == ("work.done", 0)


@pytest.mark.parametrize(("passed", "code"), [(True, 0), (False, 1)])
def test_a_result_that_is_kept_says_how_to_post_it(passed: bool, code: int) -> None:
    facts = replace(FACTS, verdict=VerdictFacts(2, "v", valid=True, passed=passed))
    told = ended(facts, Rest(judged=True), "work")
    assert (told.line.kind, told.exit_code) == ("work.ok", code)
    assert "colony check runs/s-20260101T0000-abcdef --post" in told.line.text
    unjudged = ended(FACTS, Rest(judged=False), "work")
    assert (unjudged.line.kind, unjudged.exit_code) == ("work.controller_failed", 1)
