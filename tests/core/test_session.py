"""The next step of a session, from its facts alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from colony.core.codec import from_json, to_json
from colony.core.endings import Ending, Exit
from colony.core.outbox import Closing, Effect, no_report
from colony.core.session import (
    CHECK_BACKOFF_MS,
    Compose,
    End,
    Ended,
    Facts,
    LeaseFacts,
    Occasion,
    Outcome,
    Park,
    Parked,
    ParkFacts,
    PartFacts,
    ProcessFacts,
    ReportFacts,
    Rest,
    Runner,
    RunPart,
    Send,
    Settle,
    Setup,
    Step,
    Take,
    Validate,
    VerdictFacts,
    Wait,
    effect_done,
    next_step,
    part_ended,
    part_started,
    phase_of,
    why_no_report,
)
from colony.core.session.changes import READINGS_MAX, answered, go_on_now, on_account
from colony.core.ticket import Ref
from colony.core.turn import Reading, Turn

NOW = 1_800_000_000_000
RUNNER = Runner("claude", "claude", "sonnet", 120, 3600, "auto")
SETUP = Setup(RUNNER, RUNNER, "/dev/folder", (8700, 8709), "", False, 2, 7_200_000, 3_600_000, "on")
NEW = Facts("s-20260101T0000-abcdef", Ref("shop", 3), "h", True, NOW, SETUP)
LEASED = replace(NEW, lease=LeaseFacts(7, NOW + 7_200_000))


def part(number: int, kind: str, ended: Ending | None, answer: str = "") -> PartFacts:
    return PartFacts(
        number, kind, f"u{number}", False, NOW, ended=ended, answer_sha256=answer,  # type: ignore[arg-type]
        ended_ms=NOW if ended else None,
    )  # fmt: skip


WORKED = replace(LEASED, parts=(part(1, "work", Ending.REPORT, "a"),))
REPORTED = replace(WORKED, report=ReportFacts(1, "a", valid=True))


def checked(facts: Facts, *endings: Ending) -> Facts:
    parts = tuple(part(2 + at, "check", ending) for at, ending in enumerate(endings))
    return replace(facts, parts=(*facts.parts, *parts))


PASSED = replace(
    checked(REPORTED, Ending.REPORT), verdict=VerdictFacts(2, "v", valid=True, passed=True)
)
FAILED = replace(PASSED, verdict=VerdictFacts(2, "v", valid=True, passed=False))
COMMENT = Effect("comment", "comment", text="x")
MOVE = Effect("move", "move", state="review")
POSTING = replace(PASSED, occasion=Occasion.PASSED, outbox=(COMMENT, MOVE))

TABLE: list[tuple[str, Facts, Step]] = [
    ("nothing yet", NEW, Take()),
    ("leased", LEASED, RunPart("work")),
    ("a part nobody waits for", replace(LEASED, parts=(part(1, "work", None),)), Settle(1)),
    ("an answer", WORKED, Validate(1)),
    (
        "a refused report",
        replace(WORKED, report=ReportFacts(1, "a", valid=False)),
        Compose(Occasion.NO_REPORT),
    ),
    (
        "no answer",
        replace(LEASED, parts=(part(1, "work", Ending.NO_REPORT),)),
        Compose(Occasion.NO_REPORT),
    ),
    ("crashed once", replace(LEASED, parts=(part(1, "work", Ending.CRASHED),)), RunPart("work")),
    (
        "crashed three times",
        replace(LEASED, parts=tuple(part(n, "work", Ending.CRASHED) for n in (1, 2, 3))),
        Compose(Occasion.NO_REPORT),
    ),
    ("a valid report", REPORTED, RunPart("check")),
    (
        "the first controller said nothing",
        checked(REPORTED, Ending.NO_REPORT),
        Wait(NOW + CHECK_BACKOFF_MS[0]),
    ),
    (
        "the second controller said nothing",
        checked(REPORTED, Ending.NO_REPORT, Ending.OUT_OF_TIME),
        Wait(NOW + CHECK_BACKOFF_MS[1]),
    ),
    (
        "three controllers said nothing",
        checked(REPORTED, Ending.NO_REPORT, Ending.OUT_OF_TIME, Ending.OUT_OF_STEPS),
        Compose(Occasion.NO_VERDICT),
    ),
    (
        "no verdict and no leave to post",
        replace(checked(REPORTED, *[Ending.NO_REPORT] * 3), post=False),
        Rest(judged=False),
    ),
    (
        "an interrupted controller is no try",
        checked(REPORTED, Ending.CRASHED, Ending.CRASHED),
        RunPart("check"),
    ),
    ("passed", PASSED, Compose(Occasion.PASSED)),
    ("failed", FAILED, Compose(Occasion.FAILED)),
    ("passed, no leave to post", replace(PASSED, post=False), Rest(judged=True)),
    ("the outbox begins", POSTING, Send(COMMENT)),
    ("the outbox goes on", effect_done(POSTING, replace(COMMENT, status="done")), Send(MOVE)),
]


@pytest.mark.parametrize(("facts", "step"), [row[1:] for row in TABLE], ids=[r[0] for r in TABLE])
def test_the_next_step(facts: Facts, step: Step) -> None:
    assert next_step(facts, NOW) == step


@pytest.mark.parametrize("facts", [row[1] for row in TABLE], ids=[row[0] for row in TABLE])
def test_facts_read_back_from_disk_give_the_same_step(facts: Facts) -> None:
    again = from_json(Facts, to_json(facts))
    assert again == facts
    assert next_step(again, NOW) == next_step(facts, NOW)


def test_a_wait_ends() -> None:
    facts = checked(REPORTED, Ending.NO_REPORT)
    assert next_step(facts, NOW + CHECK_BACKOFF_MS[0]) == RunPart("check")


def ended(facts: Facts, **last: object) -> Outcome:
    outbox = tuple(
        replace(each, **({"status": "done"} | (last if at == len(facts.outbox) - 1 else {})))
        for at, each in enumerate(facts.outbox)
    )
    step = next_step(replace(facts, outbox=outbox), NOW)
    assert isinstance(step, End)
    return step.outcome


def test_the_words_of_an_ending() -> None:
    half = replace(POSTING, report=ReportFacts(1, "a", valid=True, complete=False))
    back = replace(POSTING, occasion=Occasion.FAILED)
    create = Effect("question", "create")
    assert ended(POSTING) is Outcome.POSTED
    assert ended(half) is Outcome.HALF_DONE
    assert ended(replace(POSTING, outbox=(COMMENT,))) is Outcome.READY
    assert ended(back) is Outcome.SENT_BACK
    moved = replace(COMMENT, why="moved")
    assert ended(replace(POSTING, outbox=(moved,))) is Outcome.MOVED
    assert ended(replace(back, outbox=(create, *back.outbox))) is Outcome.QUESTION
    assert ended(replace(POSTING, occasion=Occasion.NO_VERDICT)) is Outcome.NO_VERDICT
    assert ended(replace(POSTING, occasion=Occasion.NO_REPORT)) is Outcome.NO_REPORT
    assert ended(POSTING, status="skipped", why="moved") is Outcome.MOVED
    assert ended(POSTING, status="skipped", why="gone") is Outcome.GONE
    assert ended(POSTING, status="skipped", why="late") is Outcome.LATE


def test_a_session_that_crashed_to_its_end_is_given_back() -> None:
    parts = tuple(part(n, "work", Ending.CRASHED) for n in (1, 2, 3))
    facts = replace(LEASED, parts=parts, occasion=Occasion.NO_REPORT, outbox=(MOVE,))
    assert ended(facts) is Outcome.GIVEN_BACK


@pytest.mark.parametrize(
    ("facts", "phase"),
    [
        (NEW, "new"),
        (LEASED, "leased"),
        (WORKED, "working"),
        (REPORTED, "reported"),
        (PASSED, "judged"),
        (POSTING, "posting"),
        (replace(POSTING, outcome=Outcome.POSTED), "ended"),
    ],
)
def test_the_phase_comes_from_the_same_facts(facts: Facts, phase: str) -> None:
    assert phase_of(facts) == phase


# --- what the ticket may cost ----------------------------------------------------------------


def on_a_budget(*costs: float, left: int | None = 500, own: float | None = None) -> Facts:
    """Parts of the worker that cost so much; the last one ran out of steps."""
    setup = replace(SETUP, worker=replace(RUNNER, max_budget_usd=own), left_cents=left)
    parts = [
        replace(part(at, "work", Ending.OUT_OF_STEPS), cost_usd=cost, met=True)
        for at, cost in enumerate(costs, 1)
    ]
    return replace(LEASED, setup=setup, parts=tuple(parts))


@pytest.mark.parametrize(
    ("facts", "limit"),
    [
        (on_a_budget(), 5.0),
        (on_a_budget(1.2), 3.8),
        (on_a_budget(1.2, own=2.0), 2.0),
        (on_a_budget(4.0, own=2.0), 1.0),
        (on_a_budget(4.0, left=None), None),
        (on_a_budget(4.0, left=None, own=2.0), 2.0),
        (replace(on_a_budget(5.5), salvaged_after=1), None),
    ],
)
def test_each_part_of_the_worker_may_cost_what_is_left(facts: Facts, limit: float | None) -> None:
    number = len(facts.parts) + 1
    for kind in ("work", "finalize", "fix"):
        assert facts.limit_usd(part(number, kind, None)) == limit
    assert facts.limit_usd(part(number, "check", None)) is None


@pytest.mark.parametrize(
    ("facts", "step"),
    [
        (on_a_budget(), RunPart("work")),
        (on_a_budget(left=0), Compose(Occasion.NO_REPORT)),
        (on_a_budget(4.999), RunPart("finalize", "u1")),
        (on_a_budget(5.0), Compose(Occasion.NO_REPORT)),
        (on_a_budget(5.0, left=None), RunPart("finalize", "u1")),
        (replace(on_a_budget(5.0), salvaged_after=1), RunPart("finalize", "u1")),
    ],
)
def test_where_nothing_is_left_the_worker_does_not_go_on(facts: Facts, step: Step) -> None:
    assert next_step(facts, NOW) == step


def test_who_salvages_has_a_refused_report_put_right_whatever_it_has_cost() -> None:
    asked = replace(part(2, "finalize", Ending.REPORT, "b"), met=True)
    facts = replace(on_a_budget(5.0), salvaged_after=1, report=ReportFacts(2, "b", valid=False))
    facts = replace(facts, parts=(*facts.parts, asked))
    assert next_step(facts, NOW) == RunPart("fix", "u2")
    assert next_step(replace(facts, salvaged_after=None), NOW) == Compose(Occasion.NO_REPORT)


def test_a_report_that_came_with_the_last_cent_is_checked() -> None:
    facts = replace(on_a_budget(5.0), report=ReportFacts(1, "a", valid=True))
    assert next_step(facts, NOW) == RunPart("check")


def test_a_session_that_had_nothing_to_begin_with_says_so() -> None:
    assert why_no_report(on_a_budget(left=0)) is Ending.OUT_OF_BUDGET
    assert why_no_report(on_a_budget()) is Ending.CRASHED


def died(*, elsewhere: bool, **more: Any) -> Facts:
    """Its worker died before it answered; `more` of its last part."""
    dead = replace(part(1, "work", Ending.CRASHED), process=ProcessFacts(7, 8, "boot"))
    parts = (dead, replace(dead, number=2, **more))
    return replace(LEASED, parts=parts, agent_died=elsewhere)


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (died(elsewhere=True), Ending.NO_AGENT),
        (died(elsewhere=False), Ending.CRASHED),
        (died(elsewhere=True, answered=True), Ending.CRASHED),
        (died(elsewhere=True, models=("sonnet",)), Ending.CRASHED),
        (died(elsewhere=True, cost_known=True), Ending.CRASHED),
        (died(elsewhere=True, process=None), Ending.CRASHED),
        (died(elsewhere=True, ended=Ending.OUT_OF_STEPS), Ending.OUT_OF_STEPS),
    ],
)
def test_an_agent_that_died_elsewhere_too_is_no_fault_of_the_ticket(
    facts: Facts, why: Ending
) -> None:
    assert why_no_report(facts) is why
    closing = Closing(facts.ticket, "", "progress", "s-1", "here", progress=False, in_vain=9)
    asked = any(each.kind == "create" for each in no_report(closing, why))
    assert asked is (why is not Ending.NO_AGENT)


@pytest.mark.parametrize(
    ("facts", "ended", "cut"),
    [
        (on_a_budget(4.0), Ending.OUT_OF_BUDGET, True),
        (on_a_budget(4.0), Ending.OUT_OF_STEPS, False),
        (on_a_budget(4.0, left=None), Ending.OUT_OF_BUDGET, False),
        (on_a_budget(1.0, own=2.0), Ending.OUT_OF_BUDGET, False),
        (on_a_budget(1.0, own=9.0), Ending.OUT_OF_BUDGET, True),
        (on_a_budget(4.0, 0.5, own=2.0), Ending.OUT_OF_BUDGET, True),
    ],
)
def test_whose_limit_stopped_the_worker(facts: Facts, ended: Ending, cut: bool) -> None:
    *before, last = facts.parts
    assert replace(facts, parts=(*before, replace(last, ended=ended))).cut_by_cap is cut


def test_a_resumed_part_is_charged_only_its_own_share() -> None:
    facts = part_started(LEASED, "work", "same", NOW)
    facts = part_ended(facts, 1, end(total=0.5))
    facts = part_started(facts, "work", "same", NOW)
    facts = part_ended(facts, 2, end(total=0.75))
    facts = part_started(facts, "check", "other", NOW)
    facts = part_ended(facts, 3, end(total=0.1))
    assert [part.cost_usd for part in facts.parts] == pytest.approx([0.5, 0.25, 0.1])
    assert facts.cost_usd == pytest.approx(0.85)
    assert facts.cost_of("check") == pytest.approx(0.1)


def test_a_killed_part_has_no_known_cost() -> None:
    facts = part_ended(part_started(LEASED, "work", "u", NOW), 1, end(total=None))
    assert not facts.parts[0].cost_known
    assert facts.cost_usd == 0


def test_cleanup_without_end_fills_no_record() -> None:
    said = replace(end(total=None), cleanup=tuple(f"{at} {'x' * 999}" for at in range(250)))
    cleanup = part_ended(part_started(LEASED, "work", "u", NOW), 1, said).parts[0].cleanup
    assert len(cleanup) == 201
    assert (cleanup[-1], max(map(len, cleanup))) == ("and 50 more", 300)


def end(total: float | None) -> Ended:
    return Ended(Turn(total_cost_usd=total, turns=3), Exit(code=0), Ending.REPORT, None, NOW)


def test_what_a_part_shows_of_its_account_is_kept() -> None:
    begun = on_account(part_started(LEASED, "work", "u", NOW), "claude anna", "f" * 64)
    assert begun.parts[0].account == "claude anna"
    assert begun.parts[0].login_mark == "f" * 64
    reading = Reading("five_hour", 0.5, NOW)
    silent = replace(end(0.1), turn=Turn(quota=(reading,) * 30))
    over = part_ended(begun, 1, silent).parts[0]
    assert (over.readings, over.answered) == ((reading,) * READINGS_MAX, False)
    spoke = replace(silent, turn=Turn(models=("sonnet",)))
    assert part_ended(begun, 1, spoke).parts[0].answered
    # A part that was killed may have lost the end of its stream.
    assert part_ended(answered(begun), 1, silent).parts[0].answered


def test_a_check_of_a_lost_ticket_waits_out_its_limit() -> None:
    """Nobody is told of its pause, and it holds: the same limit would be met again at once."""
    limited = replace(part(2, "check", Ending.LIMIT), limit_until_ms=NOW + 3_600_000)
    facts = replace(REPORTED, parts=(*REPORTED.parts, limited), lost="moved")
    step = next_step(facts, NOW)
    assert isinstance(step, Park)
    park = ParkFacts(1, step.reason, 2, step.resume_ms, NOW + 7_200_000, "told to nobody")
    parked = replace(facts, parks=(park,))
    assert next_step(parked, NOW + 60_000) == Parked(park)
    assert next_step(parked, park.resume_ms) == RunPart("check")


def test_an_answer_is_read_once_more_whatever_died_before() -> None:
    """A report that was paid for is not thrown away because processes died; one that kills whoever
    reads it is."""
    allowed = WORKED.setup.crash_resumes
    assert next_step(replace(WORKED, deaths=allowed + 1), NOW) == Validate(1)
    assert next_step(replace(WORKED, deaths=allowed + 2), NOW) == Compose(Occasion.NO_REPORT)
    silent = replace(LEASED, parts=(part(1, "work", Ending.NO_REPORT),), deaths=allowed + 1)
    assert next_step(silent, NOW) == Compose(Occasion.NO_REPORT)


def test_who_takes_it_up_for_a_try_leaves_no_wish_behind() -> None:
    """Where it then dies, its account is asked again; what a person wanted stays wanted."""
    park = ParkFacts(1, "limit", 2, NOW + 3_600_000, NOW + 7_200_000, "text", told=True)
    parked = replace(REPORTED, parks=(park,))
    tried = go_on_now(parked, NOW, wanted=False)
    assert tried.parks == (replace(park, resume_ms=NOW),)
    wanted = go_on_now(tried, NOW + 1)
    assert wanted.parks == (replace(park, resume_ms=NOW, wanted=True),)
    assert go_on_now(wanted, NOW + 2, wanted=False) == wanted
