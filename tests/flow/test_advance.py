"""A whole session, each way it can end, and a person who acts in the middle of it.

Real parts, a real tracker. Whatever people decide meanwhile stays, and what was found is not lost.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest
from shop import ASKS, FALSE, ISSUE, SHOP, TTL_MS, Judged, Script, Shop, verdict, worker

from colony.core import last_line
from colony.core.endings import Ending
from colony.core.lease import Ended, Lease, lease_of
from colony.core.markers import NoVerdict, Report, Run, Verdict, marker_of
from colony.core.relations import is_question
from colony.core.session import CHECK_BACKOFF_MS, Outcome
from colony.core.texts import lease as lease_texts
from colony.core.ticket import State
from colony.errors import NoAnswer
from colony.flow import work
from colony.flow.work import Kept
from tests.fakes.meddled import Call, Moment, at, deleted

REFUSED = verdict(verdict="fail", findings=[], summary="It does not open.")
SILENT: list[Script] = [{"exit": 0}]


def markers(shop: Shop) -> list[object]:
    """What Colony's machine lines say, leases left out."""
    found = [marker_of(each) for each in shop.history().events]
    return [each for each in found if isinstance(each, Report | Verdict | NoVerdict | Run)]


# --- every outcome -----------------------------------------------------------------------------


def test_posted(shop: Shop) -> None:
    shop.play(work=worker(issues=[ISSUE], questions=[ASKS]), check=verdict(questions=[RULING]))
    ended = shop.work()
    assert (ended.facts.outcome, ended.exit_code, shop.state) == (Outcome.POSTED, 0, "review")
    [report] = markers(shop)
    assert isinstance(report, Report)
    assert report.passed
    assert ended.facts.report is not None
    assert ended.facts.report.sha256.startswith(report.sha256)
    issue, question = (shop.history(ref).ticket for ref in shop.others)
    assert (issue.subject, issue.state) == ("The hinge is loose", "open")
    assert (is_question(question), question.state) == (True, "pending")
    assert question.parent is not None
    assert question.parent.ref == SHOP
    assert [each.ref for each in shop.history().ticket.blocked_by] == [issue.ref]
    for ref in shop.others:
        assert str(ref) in shop.told()[-2], "its report names what it filed"
    assert shop.kinds() == [
        "work.leased", "work.part", "usage", "report.ok", "controller.part", "controller.usage",
        "verdict.pass", "verdict.finding", "verdict.finding",
        "posted", "posted", "posted", "posted", "posted",
    ]  # fmt: skip


RULING = {"index": 0, "ruling": "ask", "reason": "it matters", "answer": ""}


def test_half_done(shop: Shop) -> None:
    shop.play(work=worker(complete=False, open=["the lock"]))
    ended = shop.work()
    assert (ended.facts.outcome, ended.exit_code, shop.state) == (Outcome.HALF_DONE, 0, "open")
    [report] = markers(shop)
    assert isinstance(report, Report)
    assert report.half_done


def test_sent_back_then_at_the_nth_fail_a_question(shop: Shop) -> None:
    shop.play(check=REFUSED)
    first = shop.work()
    assert (first.facts.outcome, first.exit_code, shop.state) == (Outcome.SENT_BACK, 1, "open")
    assert shop.others == []
    second = shop.work()
    assert (second.facts.outcome, second.exit_code) == (Outcome.QUESTION, 1)
    assert shop.state == "pending"
    assert [(each.fail, each.limit) for each in markers(shop) if isinstance(each, Verdict)] == [
        (1, 2),
        (2, 2),
    ]
    [question] = shop.others
    asked = shop.history(question).ticket
    assert (is_question(asked), asked.state) == (True, "pending")
    assert asked.parent is not None
    assert str(question) in second.line.text


def test_code_overrules_a_controller_that_was_kind(shop: Shop) -> None:
    finding = {"claim": "a note", "about": "verified", "status": "no evidence", "check": "none"}
    shop.play(check=verdict(findings=[finding]))
    assert shop.work().facts.outcome == Outcome.SENT_BACK
    [said] = markers(shop)
    assert isinstance(said, Verdict)
    assert said.overruled


def test_a_claim_that_does_not_hold_is_found_by_running_it_again(shop: Shop) -> None:
    shop.play(work=worker(verified=FALSE))
    assert shop.work().facts.outcome == Outcome.SENT_BACK


def test_no_verdict_after_three_tries_with_pauses(shop: Shop) -> None:
    shop.play(check=SILENT)
    began = shop.time.ahead_s
    ended = shop.work()
    assert (ended.facts.outcome, ended.exit_code) == (Outcome.NO_VERDICT, 1)
    assert [part.kind for part in ended.facts.parts] == ["work", "check", "check", "check"]
    assert shop.time.ahead_s - began >= sum(CHECK_BACKOFF_MS) / 1000 - 5
    checks = ended.facts.parts[1:]
    for earlier, later, pause in zip(checks, checks[1:], CHECK_BACKOFF_MS, strict=False):
        assert earlier.ended_ms is not None
        assert later.started_ms - earlier.ended_ms >= pause
    assert shop.state == "pending"
    [question] = shop.others
    assert shop.history(question).ticket.state == "pending"
    assert [type(each) for each in markers(shop)] == [NoVerdict]
    assert ended.facts.report is not None
    kept = shop.folder_of(ended.facts.session).read("report.json", 9_999, ended.facts.report.sha256)
    assert kept is not None


def test_a_verdict_that_cannot_be_used_is_asked_for_again(shop: Shop) -> None:
    shop.play(check=[{"exactly": {"verdict": "pass"}}])
    assert shop.work().facts.outcome == Outcome.NO_VERDICT
    assert shop.kinds().count("controller.refused") == 3


def test_ready_to_deploy_on_a_live_project(shop: Shop) -> None:
    shop.register(live={"url": "https://shop.example"})
    ended = shop.work(live="https://shop.example")
    assert (ended.facts.outcome, ended.exit_code, shop.state) == (Outcome.READY, 0, "progress")
    held = lease_of(shop.history().events)
    assert isinstance(held, Lease)
    assert (held.kind, held.until_ms) == ("ready", None)


ENDINGS: dict[Ending, list[Script]] = {
    Ending.NO_REPORT: [{"say": "That is all."}],
    Ending.BAD_REPORT: [{"exactly": {"result": "no more than this"}}],
    Ending.OUT_OF_STEPS: [{"repeat": 50, "actions": [{"say": "and again"}]}],
    Ending.OUT_OF_TIME: [{"hang": True}],
    Ending.OUT_OF_BUDGET: [{"result": {"subtype": "error_max_budget_usd", "is_error": True}}],
    Ending.TOO_LONG: [{"error": "Prompt is too long"}],
    Ending.REFUSED: [{"result": {"stop_reason": "refusal"}}],
}
OTHERS: dict[Ending, list[Script]] = {
    Ending.LIMIT: [{"limit": "five_hour"}],
    Ending.LOGIN: [{"error": "Please run /login", "status": 401, "word": "authentication_failed"}],
    Ending.PROVIDER: [{"error": "Overloaded", "status": 529, "word": "overloaded"}],
    Ending.MODEL: [{"error": "no such model", "status": 404, "word": "model_not_found"}],
    Ending.CRASHED: [{"exit": 1}],
}


@pytest.mark.parametrize("ending", ENDINGS, ids=str)
def test_an_attempt_without_a_usable_report_gives_the_ticket_back(
    shop: Shop, ending: Ending
) -> None:
    shop.play(work=ENDINGS[ending])
    ended = shop.work(worker=shop.runner(timeout_s=1)) if ending == "out of time" else shop.work()
    assert (ended.facts.outcome, ended.exit_code, shop.state) == (Outcome.NO_REPORT, 1, "open")
    [line] = markers(shop)
    assert isinstance(line, Run)
    assert (line.how, line.reason) == ("no report", ending)
    held = lease_of(shop.history().events)
    assert isinstance(held, Ended), "free for the next one"


@pytest.mark.parametrize("ending", [Ending.MODEL, Ending.CRASHED], ids=str)
def test_what_is_not_the_tickets_fault_costs_it_no_attempt(shop: Shop, ending: Ending) -> None:
    shop.play(work=OTHERS[ending])
    ended = shop.work()
    assert (ended.facts.outcome, shop.state) == (Outcome.GIVEN_BACK, "open")
    assert ended.exit_code == (4 if ending is Ending.MODEL else 1)
    [line] = markers(shop)
    assert isinstance(line, Run)
    assert (line.how, line.reason) == ("given back", ending)


def test_a_part_that_breaks_off_is_started_twice_more(shop: Shop) -> None:
    shop.play(work=OTHERS[Ending.CRASHED])
    parts = shop.work().facts.parts
    assert [(part.kind, part.ended) for part in parts] == [("work", Ending.CRASHED)] * 3
    assert len({part.agent_session for part in parts}) == 1, "one conversation goes on"
    assert [part.resumes for part in parts] == [False, True, True]


def test_a_resumed_start_goes_on_where_it_stood(shop: Shop) -> None:
    shop.play(work=[{"exit": 1}], resume=worker())
    assert shop.work().facts.outcome == Outcome.POSTED


# --- without leave to post ---------------------------------------------------------------------


def test_without_leave_nothing_is_written_and_it_can_be_given_later(shop: Shop) -> None:
    ended = shop.work(post=False)
    assert (ended.facts.outcome, ended.exit_code, shop.state) == (None, 0, "progress")
    assert markers(shop) == []
    session = ended.facts.session
    bench = shop.bench(shop.folder_of(session))
    done, step = work.check(bench, shop.facts(session), post=True, again=False)
    assert last_line.ended(done.facts, step, "check").facts.outcome == Outcome.POSTED
    assert len(done.facts.parts) == 2, "the verdict that is there is used"


def test_a_verdict_can_be_asked_for_again(shop: Shop) -> None:
    session = shop.work(post=False).facts.session
    bench = shop.bench(shop.folder_of(session))
    done, _ = work.check(bench, shop.facts(session), post=True, again=True)
    assert [part.kind for part in done.facts.parts] == ["work", "check", "check"]
    assert shop.state == "review"


# --- lost in the middle ------------------------------------------------------------------------


def expires(shop: Shop, session: str) -> None:
    shop.colony.move(SHOP, "open", text=lease_texts.expired(session, "box1"), key=shop.key())


def taken(shop: Shop, session: str = "s-20260131T1819-bbbbbb") -> None:
    text = lease_texts.started(session, "box2", shop.time.wall_ms() + TTL_MS)
    shop.colony.move(SHOP, "progress", text=text, key=shop.key())


def test_a_report_that_comes_too_late_is_filed_and_changes_nothing(shop: Shop) -> None:
    """F6, F25: the lease expired and another session took the ticket meanwhile."""
    session = shop.work(post=False).facts.session
    expires(shop, session)
    taken(shop)
    held = lease_of(shop.history().events)
    shop.post_leave(session)
    ended = shop.go(session)
    assert (ended.facts.outcome, ended.exit_code, shop.state) == (Outcome.LATE, 1, "progress")
    [line] = markers(shop)
    assert isinstance(line, Report)
    assert line.late
    assert lease_of(shop.history().events) == held
    assert shop.others == []


@pytest.mark.parametrize(
    ("again", "outcome"),
    [(False, Outcome.MOVED), (True, Outcome.LATE)],
    ids=["free", "taken again"],
)
def test_a_report_of_before_a_reopening_closes_nothing(
    shop: Shop, again: bool, outcome: Outcome
) -> None:
    """F46: accepted without it, and reopened; then the old session's report comes."""
    session = shop.work(post=False).facts.session
    shop.moves("done")
    shop.moves("reopened", "It squeaks.")
    if again:
        taken(shop)
    held, state = lease_of(shop.history().events), shop.state
    shop.post_leave(session)
    ended = shop.go(session)
    assert ended.facts.outcome == outcome
    assert (shop.state, lease_of(shop.history().events)) == (state, held)
    # It is filed all the same, as a comment.
    assert [each.late for each in markers(shop) if isinstance(each, Report)] == [again]
    assert shop.others == []


@pytest.mark.parametrize("number", [2, 3, 4])
def test_taken_while_it_posts_the_comment_is_filed_as_late(shop: Shop, number: int) -> None:
    """Before the comment or in the middle of it; the state of the other's ticket stays."""
    session = shop.new().session

    def lose() -> None:
        expires(shop, session)
        taken(shop)

    shop.play(work=worker(questions=[ASKS]), check=verdict(questions=[RULING]))
    ended = shop.go(session, at("before", number, lose))
    assert shop.state == "progress"
    held = lease_of(shop.history().events)
    assert isinstance(held, Lease)
    assert held.session == "s-20260131T1819-bbbbbb"
    lines = [each for each in markers(shop) if isinstance(each, Report)]
    assert len(lines) == 1
    assert lines[0].late == (number < 4)
    assert ended.facts.outcome in (Outcome.LATE, Outcome.MOVED)


@pytest.mark.parametrize("leave", ["work", "posting"])
def test_a_ticket_that_is_deleted_ends_the_session_and_keeps_its_report(
    shop: Shop, leave: str
) -> None:
    """F43."""
    session = shop.new().session
    gone = deleted(SHOP)
    seen: list[str] = []

    def meddle(when: Moment, call: Call) -> None:
        seen.append(call.name)
        if (seen.count("move") if leave == "work" else seen.count("comment")) > 1:
            gone(when, call)

    ended = shop.go(session, meddle)
    assert (ended.facts.outcome, ended.exit_code) == (Outcome.GONE, 1)
    assert ended.facts.report is not None
    assert "report stays" in ended.line.text
    assert shop.folder_of(session).read("report.json", 9_999) is not None


def test_a_session_that_is_taken_up_and_whose_ticket_is_gone_ends(shop: Shop) -> None:
    session = shop.work(post=False).facts.session
    assert shop.go(session, deleted(SHOP)).facts.outcome == Outcome.GONE


def test_a_silent_tracker_keeps_the_session_and_it_goes_on(shop: Shop) -> None:
    """F37: the report waits on the disk for as long as it takes."""
    session = shop.new().session

    def silent(when: Moment, call: Call) -> None:
        if when == "before" and call.name == "comment":
            raise NoAnswer("no answer")

    with pytest.raises(Kept) as kept:
        shop.go(session, silent)
    assert kept.value.posting
    assert shop.state == "progress"
    shop.time.pass_by(3 * TTL_MS / 1000)
    ended = shop.go(session)
    assert (ended.facts.outcome, len(ended.facts.parts)) == (Outcome.POSTED, 2)


def test_a_silence_longer_than_the_trust_costs_the_report_no_verdict(shop: Shop) -> None:
    """The check is ended with the lease, and tried again when the lease is held again."""
    session = shop.new(post=True, heartbeat_ms=10).session
    again = shop.folder / "again"
    shop.play(check=[{"run": f"test -e {again} || exec sleep 600"}, {"recheck": True}])
    checking = threading.Event()

    def saved(moment: str) -> None:
        checks = [part for part in shop.facts(session).parts if part.kind == "check"]
        if checks and checks[0].ended is not None:
            checking.clear()
            again.touch()
        elif checks and checks[0].process is not None:
            checking.set()

    def silent(when: Moment, call: Call) -> None:
        if when == "before" and checking.is_set():
            shop.time.pass_by(TTL_MS / 1000)
            raise NoAnswer("no answer")

    facts = shop.go(session, silent, saved).facts
    checks = facts.parts[1:]
    assert [part.ended for part in checks] == [Ending.LEASE_LOST, Ending.REPORT]
    assert (facts.outcome, shop.state) == (Outcome.POSTED, "review")
    assert facts.lease is not None
    held_ms = facts.lease.until_ms - checks[1].started_ms
    assert held_ms > TTL_MS - 60_000, "held again before the second one began"


def test_a_ticket_taken_by_another_session_before_there_was_a_report_is_not_called_moved(
    shop: Shop,
) -> None:
    session = shop.new(heartbeat_ms=50).session
    shop.play(work=[{"hang": True}])

    def lose(when: Moment, call: Call) -> None:
        if when == "before" and call.writes and call.number == 3:
            expires(shop, session)
            taken(shop)

    ended = shop.go(session, lose)
    assert (ended.facts.outcome, ended.facts.lost, ended.exit_code) == (Outcome.LATE, "taken", 1)
    assert ended.line.text.endswith("was taken by another session; nothing was posted")
    assert markers(shop) == []


def test_a_link_that_the_tracker_refuses_does_not_hold_up_the_report(shop: Shop) -> None:
    """Its creator turned it round in this very moment."""
    shop.play(work=worker(issues=[ISSUE]))

    def turns_round(when: Moment, call: Call) -> None:
        if when == "before" and call.name == "block":
            shop.anna.block(shop.others[0], SHOP, key=shop.key())

    ended = shop.go(shop.new().session, turns_round)
    assert (ended.facts.outcome, shop.state) == (Outcome.POSTED, "review")
    [block] = [each for each in ended.facts.outbox if each.kind == "block"]
    assert (block.status, "post.refused" in shop.kinds()) == ("skipped", True)


def test_a_comment_after_the_closing_line_and_a_crash_write_no_renewal(shop: Shop) -> None:
    """What is left is the move, however long it took."""
    session = shop.new().session

    def silent(when: Moment, call: Call) -> None:
        if when == "before" and call.name == "move" and call.args[1] == "review":
            raise NoAnswer("no answer")

    with pytest.raises(Kept):
        shop.go(session, silent)
    shop.time.pass_by(3 * TTL_MS / 1000)
    assert shop.go(session).facts.outcome == Outcome.POSTED
    assert not any("· renewed ·" in text for text in shop.told())


# --- a person acts at each step ----------------------------------------------------------------

ACTIONS: tuple[State | None, ...] = (None, "pending", "done", "canceled", "open", "review")
"""The state into which anna moves the ticket; None: she comments."""
SAVES = 11
"""Commits of a session before its outcome is rendered, the take among them."""


def acts(shop: Shop, action: State | None) -> None:
    if action is None:
        shop.says("And paint it.")
    else:
        shop.moves(action, "I say so.")


def check_the_person_won(shop: Shop, ended: last_line.Ended, action: State | None) -> None:
    texts = [each.text for each in shop.history().events]
    said = "And paint it." if action is None else "I say so."
    assert texts.count(said) == 1
    if action is None:
        assert (ended.facts.outcome, shop.state) == (Outcome.POSTED, "review")
    else:
        assert shop.state == action
        after = shop.history().events[texts.index(said) + 1 :]
        assert [each for each in after if each.kind == "state"] == []
    reports = [each for each in markers(shop) if isinstance(each, Report)]
    assert len(reports) == 1, "the result is in a comment, once"
    assert not reports[0].late


@pytest.mark.parametrize("number", range(2, SAVES + 1))
def test_whatever_a_person_does_between_two_steps_holds(shop: Shop, number: int) -> None:
    """At each commit of the work and the check; what she does goes round."""
    action = ACTIONS[number % len(ACTIONS)]
    session, saves = shop.new().session, []

    def saved(moment: str) -> None:
        if moment == "after":
            saves.append(moment)
            if len(saves) == number:
                acts(shop, action)

    ended = shop.go(session, saved=saved)
    assert len(saves) > SAVES
    check_the_person_won(shop, ended, action)


@pytest.mark.parametrize("action", ACTIONS)
def test_whatever_a_person_does_while_it_is_posted_holds(judged: Judged, action: Any) -> None:
    """At each call of the tracker, from the first read to the last write."""
    number, acted = 0, True
    while acted:
        number += 1
        shop = judged.again()
        acted = False
        calls = 0

        def meddle(when: Moment, call: Call) -> None:
            nonlocal acted, calls
            if when == "before":
                calls += 1
                if calls == number:  # noqa: B023 - called within this very round
                    acted = True
                    acts(shop, action)  # noqa: B023

        ended = shop.go(judged.session, meddle)
        if acted:
            check_the_person_won(shop, ended, action)
    assert number > 5


def test_a_comment_that_came_after_the_brief_is_answered_for(shop: Shop) -> None:
    shop.play(check=[{"recheck": True}])
    session = shop.new().session
    shop.go(session, at("after", 1, lambda: shop.says("And paint it.")))
    assert "And paint it." in shop.told()[-2]
