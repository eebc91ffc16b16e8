"""When to stop trying: what attempts leave behind decides what becomes of the next one."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from shop import FALSE, SHOP, Script, Shop, worker

from colony.core.attempts import attempts_of, cost_cents
from colony.core.markers import Report, Run, marker_of
from colony.core.relations import goes_on, is_question
from colony.core.session import Outcome
from colony.core.ticket import Me, Ref
from colony.flow.growth import has_progress

SILENT: list[Script] = [{"exit": 0}]
LEAVES: list[Script] = [{"run": "echo more >> made.txt"}, {"exit": 0}]
RUNS_SHORT: list[Script] = [{"run": "echo more >> made.txt"}] * 50


def runs(shop: Shop) -> list[Run]:
    found = [marker_of(each) for each in shop.history().events]
    return [each for each in found if isinstance(each, Run)]


def asked(shop: Shop) -> list[Ref]:
    return [ref for ref in shop.others if is_question(shop.history(ref).ticket)]


def answers(shop: Shop, question: Ref) -> None:
    """As `ticket answer` does it."""
    shop.says("Make the hinge first.", question)
    shop.moves("done", ref=question)
    assert goes_on(shop.history(), question)
    shop.moves("open", "answered")


def test_the_last_attempt_in_vain_asks_once_and_an_answer_begins_anew(shop: Shop) -> None:
    shop.play(work=SILENT)
    first = shop.work(max_attempts=2)
    assert (first.facts.outcome, shop.state, asked(shop)) == (Outcome.NO_REPORT, "open", [])
    second = shop.work(max_attempts=2)
    assert (second.facts.outcome, second.exit_code) == (Outcome.QUESTION, 1)
    assert shop.state == "pending"
    [question] = asked(shop)
    ticket = shop.history(question).ticket
    assert (ticket.state, ticket.parent and ticket.parent.ref) == ("pending", SHOP)
    assert "2 attempts brought nothing" in ticket.subject
    assert "without saying what it did" in ticket.summary
    assert str(question) in second.line.text
    assert [line.spent.progress for line in runs(shop)] == [False, False]
    answers(shop, question)
    third = shop.work(max_attempts=2)
    assert (third.facts.outcome, shop.state) == (Outcome.NO_REPORT, "open")
    assert asked(shop) == [question]
    assert shop.work(max_attempts=2).facts.outcome == Outcome.QUESTION
    assert len(asked(shop)) == 2


def test_posted_again_it_asks_nothing_twice(shop: Shop) -> None:
    shop.play(work=SILENT)
    session = shop.new(max_attempts=1).session
    ended = shop.go(session)
    assert ended.facts.outcome == Outcome.QUESTION
    before = shop.history().events
    # As if its process had died right after the writes, before it noted them.
    facts = shop.facts(session)
    fresh = tuple(
        replace(each, status="planned", made=None, url="", event=0) for each in facts.outbox
    )
    shop.put(replace(facts, outbox=fresh, outcome=None, ended_ms=None))
    assert shop.go(session).facts.outcome == Outcome.QUESTION
    assert (shop.history().events, len(asked(shop))) == (before, 1)


def test_a_session_that_left_work_is_no_attempt_in_vain(shop: Shop) -> None:
    shop.play(work=LEAVES)
    for _ in range(3):
        assert shop.work(max_attempts=2).facts.outcome == Outcome.NO_REPORT
    assert (shop.state, asked(shop)) == ("open", [])
    assert [line.spent.progress for line in runs(shop)] == [True] * 3
    shop.play(work=SILENT)
    shop.work(max_attempts=2)
    assert shop.state == "open", "the row had been broken: this is the first in vain"
    shop.work(max_attempts=2)
    assert shop.state == "pending"


@pytest.mark.parametrize("file", [".git/HEAD", ".git/logs/HEAD"])
def test_what_git_notes_by_itself_is_no_work_and_a_commit_is(shop: Shop, file: str) -> None:
    path = shop.dev / file
    path.parent.mkdir(parents=True)
    path.write_text("before")
    os.utime(path, (1, 1))
    shop.play(work=SILENT)
    assert not has_progress(shop.work().facts)
    shop.play(work=[{"run": f"echo after >> {file}"}, {"exit": 0}])
    assert has_progress(shop.work().facts) is (file == ".git/logs/HEAD")


def test_half_done_too_often_asks_and_keeps_the_report(shop: Shop) -> None:
    shop.play(work=worker(complete=False, open=["the lock"]))
    for _ in range(2):
        assert shop.work(max_half_done=3).facts.outcome == Outcome.HALF_DONE
    assert (shop.state, asked(shop)) == ("open", [])
    last = shop.work(max_half_done=3)
    assert (last.facts.outcome, last.exit_code) == (Outcome.HALF_DONE, 0)
    assert shop.state == "pending"
    [question] = asked(shop)
    ticket = shop.history(question).ticket
    assert "half done 3 times in a row" in ticket.subject
    assert "the lock" in ticket.summary
    answers(shop, question)
    shop.work(max_half_done=3)
    assert (shop.state, asked(shop)) == ("open", [question])


def test_a_failed_check_or_an_interruption_costs_no_attempt_in_vain(shop: Shop) -> None:
    shop.play(work=SILENT)
    shop.work(max_attempts=2)
    shop.play(work=worker(verified=FALSE))
    assert shop.work(max_attempts=2, max_fails=9).facts.outcome == Outcome.SENT_BACK
    shop.play(work=SILENT)
    shop.work(max_attempts=2)
    assert (shop.state, asked(shop)) == ("open", [])


def test_an_attempt_that_ran_short_gets_more_steps_next_time(shop: Shop) -> None:
    shop.play(work=RUNS_SHORT)
    steps = []
    for _ in range(4):
        facts = shop.work(worker=shop.runner(max_turns=4)).facts
        steps.append(facts.setup.worker.max_turns)
        budget = shop.folder_of(facts.session).read("brief.md", 10**6)
        assert budget is not None
        assert f"at most {steps[-1]}" in budget.decode()
    assert steps == [4, 6, 9, 9]
    assert attempts_of(shop.history().events).short == 4
    assert any("9 steps" in line.text for line in shop.lines if line.kind == "work.part")


def test_a_report_that_is_half_done_for_want_of_steps_counts_as_short(shop: Shop) -> None:
    shop.play(work=RUNS_SHORT, finalize=worker(complete=False, open=["the lock"]))
    facts = shop.work(worker=shop.runner(max_turns=4), finalize_max_turns=3).facts
    assert facts.outcome == Outcome.HALF_DONE
    [report] = [each for each in map(marker_of, shop.history().events) if isinstance(each, Report)]
    assert report.spent.out_of_steps
    assert shop.work(worker=shop.runner(max_turns=4)).facts.setup.worker.max_turns == 6


# --- what the ticket may cost ----------------------------------------------------------------

STOPPED: Script = {"result": {"subtype": "error_max_budget_usd", "is_error": True}, "exit": 1}


def test_a_cap_that_was_raised_meanwhile_holds_as_it_is_now(shop: Shop) -> None:
    """The worker was stopped at the old one: with the new one there is something left."""
    shop.play(work=[{"limit": "five_hour"}], resume=[STOPPED])
    session = shop.new(max_cost_cents=500).session
    shop.go(session)
    assert shop.facts(session).setup.left_cents == 500
    shop.says("/budget $20")
    shop.time.pass_by(7200)
    ended = shop.go(session)
    assert (ended.facts.outcome, shop.state, asked(shop)) == (Outcome.NO_REPORT, "open", [])
    shop.play(work=[{"say": "hm"}])
    cost = cost_cents(shop.history().events, "")
    facts = shop.work(max_cost_cents=500).facts
    assert facts.setup.left_cents == 2000 - cost


def test_a_cap_that_was_lowered_meanwhile_holds_as_it_is_now(shop: Shop) -> None:
    shop.play(work=[{"run": "true"}, {"limit": "five_hour"}], resume=[{"say": "hm"}])
    session = shop.new(max_cost_cents=500).session
    shop.go(session)
    shop.says("/budget $0.01")
    shop.time.pass_by(7200)
    assert shop.go(session).facts.outcome == Outcome.QUESTION
    [question] = asked(shop)
    assert "and may cost $0.01" in shop.history(question).ticket.subject


def test_a_strangers_budget_changes_nothing_at_the_end(shop: Shop) -> None:
    shop.play(work=[{"say": "hm"}], cost=0.5)
    stranger = shop.tracker(Me("eve", "", machine=False, owner=False))
    stranger.comment(SHOP, "/budget $0.10", key="eve")
    assert shop.work().facts.outcome == Outcome.NO_REPORT
    assert shop.work(max_cost_cents=50).facts.outcome == Outcome.QUESTION


def test_a_session_on_its_last_cent_asks_nobody_for_its_report(shop: Shop) -> None:
    """The worker ran out of steps, and of money: one more run would cost more than it may."""
    shop.play(work=RUNS_SHORT, cost=0.05)
    facts = shop.work(
        worker=shop.runner(max_turns=4), finalize_max_turns=3, max_cost_cents=20
    ).facts
    assert [part.kind for part in facts.parts] == ["work"]
    assert facts.outcome == Outcome.QUESTION
