"""Rejections against the sessions that were started."""

from __future__ import annotations

import pytest
from histories import BOB, EVE, HOST, PEOPLE, S1, S2, SHA, Story, line

from colony.core.markers import Handled, LeaseLine, Report, Run
from colony.core.rework import is_rework, last_start, news_of, rejection_of

DONE = Report(S1, SHA, passed=True)


def delivered(session: str = S1) -> Story:
    return Story().starts(session).notes(Report(session, SHA, passed=True)).turns("review")


def test_m022_a_rejection_newer_than_the_last_session_is_work() -> None:
    story = delivered()
    assert not is_rework(story.history())
    assert is_rework(story.moves("reopened", "the button is still grey").history())


def test_m022_a_session_started_since_makes_it_no_candidate() -> None:
    story = delivered().moves("reopened", "no")
    story.starts(S2)
    assert not is_rework(story.history())
    story.state = "reopened"
    assert not is_rework(story.history()), "the rejection was taken up already"


def test_a_rejected_ticket_that_was_moved_on_is_judged_by_its_new_state() -> None:
    story = delivered().moves("reopened", "no").moves("open")
    assert not is_rework(story.history())
    assert rejection_of(story.history(), PEOPLE) is not None


def test_a_reopened_ticket_that_no_session_ever_touched_is_work() -> None:
    assert is_rework(Story().moves("done").moves("reopened", "not done at all").history())


@pytest.mark.parametrize("kind", ["started", "salvage"])
def test_what_counts_as_a_start(kind) -> None:
    story = Story().turns("progress", LeaseLine(S1, HOST, kind, 5))
    assert last_start(story.events) == story.last


def test_the_oldest_form_and_orders_count_as_a_start() -> None:
    old = Story().moves("progress", f"session {S1} started on Oak", by=None)
    assert last_start(old.events) == old.last
    order = Story().turns("progress", LeaseLine(S1, "", "queued"))
    assert last_start(order.events) == order.last


def test_a_typed_start_is_none() -> None:
    typed = Story().moves("progress", line(LeaseLine(S1, HOST, "started", 5)), by=EVE)
    assert last_start(typed.events) is None


def test_m022_the_rejection_with_the_creators_comments_since_the_last_session() -> None:
    story = Story().says("old words").starts(S1).says("the header, too")
    story.says("me, too!", by=EVE).says("as an editor", by=BOB).says("/prio high")
    story.notes(DONE).turns("review").moves("reopened", " the button is still grey ")
    rejection = rejection_of(story.history(), PEOPLE)
    assert rejection is not None
    assert (rejection.event, rejection.reason) == (story.last.id, "the button is still grey")
    assert (rejection.author, rejection.at_ms) == ("anna", story.last.at_ms)
    assert [event.text for event in rejection.comments] == ["the header, too"]


def test_m022_a_second_rejection_has_only_the_comments_since() -> None:
    story = delivered().says("first").moves("reopened", "no").starts(S2).says("second")
    story.notes(Report(S2, SHA)).turns("review").moves("reopened", "again no")
    rejection = rejection_of(story.history(), PEOPLE)
    assert rejection is not None
    assert rejection.reason == "again no"
    assert [event.text for event in rejection.comments] == ["second"]


def test_m022_a_failed_rework_leaves_the_rejection_standing() -> None:
    story = delivered().moves("reopened", "no").starts(S2).turns("open", Run(S2, HOST, "no report"))
    assert story.state == "open"
    assert rejection_of(story.history(), PEOPLE) is not None


@pytest.mark.parametrize(
    ("report", "stands"),
    [
        (Report(S2, SHA), False),
        (Report(S2, SHA, ready=True), False),
        (Report(S2, SHA, unchecked=True), False),
        (Report(S2, SHA, half_done=True), True),
        (Report(S1, SHA, late=True), True),
    ],
)
def test_which_report_answers_a_rejection(report: Report, stands: bool) -> None:
    story = delivered().moves("reopened", "no").starts(S2).notes(report)
    assert (rejection_of(story.history(), PEOPLE) is not None) is stands


def test_a_person_who_types_a_report_line_answers_nothing() -> None:
    story = delivered().moves("reopened", "no").says(line(Report(S2, SHA)), by=EVE)
    assert rejection_of(story.history(), PEOPLE) is not None


def test_no_rejection() -> None:
    assert rejection_of(delivered().history(), PEOPLE) is None


def test_a_rejection_that_colony_wrote_for_the_creator_has_the_creators_words() -> None:
    story = delivered().says("/reject too slow\non the telephone")
    handled = story.last.id
    story.says("/prio high", by=("zoe", "u1"))
    story.moves("reopened", line(Handled(handled, "reject"), "Sent back."), by=None)
    rejection = rejection_of(story.history(), PEOPLE)
    assert rejection is not None
    assert (rejection.reason, rejection.author) == ("too slow\non the telephone", "anna")
    assert rejection.comments == ()


def test_a_rejection_by_colony_without_such_a_comment_keeps_its_text() -> None:
    story = delivered().says("/reject mine", by=EVE)
    story.moves("reopened", line(Handled(3, "reject"), "Sent back."), by=None)
    rejection = rejection_of(story.history(), PEOPLE)
    assert rejection is not None
    assert (rejection.reason, rejection.author) == ("Sent back.", "colony")


def test_news_are_what_people_wrote_since_the_last_session_had_its_brief() -> None:
    story = Story().says("before")
    assert news_of(story.history(), None) == ()
    story.starts().says("while it ran").says("/prio high", BOB).renews()
    assert [event.text for event in news_of(story.history(), None)] == ["while it ran"]


def test_news_do_not_repeat_what_stands_with_the_rejection() -> None:
    story = delivered().says("early").moves("reopened", "no").says("late", EVE)
    rejection = rejection_of(story.history(), PEOPLE)
    assert rejection is not None
    assert [event.text for event in rejection.comments] == ["early"]
    assert [event.text for event in news_of(story.history(), rejection)] == ["late"]
