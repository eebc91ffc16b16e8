"""Every rule that keeps a ticket from being started: given ticket, answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import pytest
from histories import (
    EVE,
    HOST,
    PEOPLE,
    S1,
    S2,
    SHA,
    SHOP,
    Story,
    make_survey,
    make_ticket,
    question,
    related,
    survey_of,
    with_children,
)

from colony.core.eligible import (
    COUNTED,
    RULES,
    Code,
    For,
    Ready,
    Waits,
    judge,
    no_work_ever,
    priority_word,
    reasons,
)
from colony.core.markers import Deployed, LeaseLine, Parked, Report, Retry, Run, Spent, utc
from colony.core.people import People
from colony.core.survey import ProjectTrouble, Survey, in_review
from colony.core.ticket import STATES, LeaseView, Ref, Ticket

NOW = 1_000_000_000_000


def waits(ticket: Ticket, **facts: Any) -> Waits:
    said = judge(ticket, make_survey(ticket, **facts))
    assert isinstance(said, Waits)
    return said


def first(survey: Survey) -> Ready | Waits:
    return judge(survey.tickets[0], survey)


def leased(kind: str, until_ms: int | None = NOW + 60_000, host: str = HOST) -> Ticket:
    view = LeaseView(S1, host, kind, 3, until_ms)  # type: ignore[arg-type]
    return make_ticket(state="progress", lease=view)


def test_an_open_ticket_of_a_project_on_this_host_is_work() -> None:
    assert first(make_survey(make_ticket())) == Ready()


TABLE: list[tuple[Ticket, dict[str, Any], Code, str]] = [
    (make_ticket(state="done"), {}, "done", "it is done"),
    (make_ticket(state="canceled"), {}, "canceled", "it was canceled"),
    (make_ticket(state="review"), {}, "review", "its result waits for the creator"),
    (make_ticket(state="pending"), {}, "pending", "on hold"),
    (
        make_ticket(state="pending", children=(question(6),)),
        {},
        "pending",
        "waits for the answer on shop#6",
    ),
    (leased("started"), {}, "leased", f"leased by session {S1} on oak until 2001-09-09 01:47 UTC"),
    (leased("started", None), {}, "leased", f"leased by session {S1} on oak, without an end"),
    (leased("parked"), {}, "parked", f"session {S1} is parked on oak"),
    (leased("ready", None), {}, "built", f"built, waits for the deploy (session {S1})"),
    (leased("queued", None, ""), {}, "ordered", f"ordered as session {S1}, queued"),
    (leased("claimed", None, "elm"), {}, "ordered", f"ordered as session {S1}, claimed on elm"),
    (
        leased("renewed", NOW - 1),
        {},
        "silent",
        f"session {S1} on oak is silent since 2001-09-09 01:46 UTC",
    ),
    (make_ticket(state="progress"), {}, "unleased", "in progress without a lease of Colony"),
    (
        make_ticket(state="reopened"),
        {},
        "unread",
        "sent back, but its history could not be read",
    ),
    (make_ticket(), {"registry": {}}, "no file", "project shop has no registry file here (oak)"),
    (
        make_ticket(),
        {"registry": {"shop": ProjectTrouble("no concept", "the concept is missing")}},
        "no concept",
        "the concept is missing",
    ),
    (
        make_ticket(),
        {"registry": {"shop": replace(SHOP, concept="")}},
        "no concept",
        "project shop has no written concept",
    ),
    (
        make_ticket(),
        {"registry": {"shop": ProjectTrouble("broken", "shop.json: not\x1b[31m JSON")}},
        "broken",
        "shop.json: not\\x1b[31m JSON",
    ),
    (
        make_ticket(),
        {"registry": {"shop": replace(SHOP, workers=False)}},
        "no workers",
        "project shop takes no workers",
    ),
    (make_ticket(blocked_by=(related(2),)), {}, "blocked", "blocked by shop#2 (open)"),
    (
        make_ticket(blocked_by=(related(2, "canceled"), related(3, "done"))),
        {},
        "blocked",
        "blocked by shop#2 (canceled); a canceled one blocks until its link is removed",
    ),
    (
        make_ticket(blocked_by=tuple(related(number) for number in range(2, 7))),
        {},
        "blocked",
        "blocked by shop#2 (open), shop#3 (open), shop#4 (open) and 2 more",
    ),
    (
        make_ticket(children=(related(2, "done"), related(3), question(4, "done"))),
        {},
        "parent",
        "a parent (2 child tickets, 1 done): its children are the work",
    ),
    (
        make_ticket(children=(question(6), question(7, "done"))),
        {},
        "asked",
        "waits for the answer on shop#6",
    ),
    (
        make_ticket(author="eve", user_id="u3"),
        {},
        "unread",
        "opened by a stranger, and its history could not be read",
    ),
    (make_ticket(), {"host": "elm"}, "host", "its dev folder is on Oak, this is elm"),
    (
        make_ticket(),
        {"folders_missing": frozenset({"shop"})},
        "folder",
        "the dev folder /srv/shop is missing",
    ),
    (
        make_ticket(),
        {
            "registry": {"shop": replace(SHOP, needs=("docker", "gpu", "kvm"))},
            "capabilities": frozenset({"docker"}),
        },
        "needs",
        "this host does not offer: gpu, kvm",
    ),
    (
        make_ticket(),
        {"max_review": 2, "reviews": {"shop": 2}},
        "reviews",
        "2 results wait for the creator of shop: nothing new yet",
    ),
    (
        make_ticket(),
        {"max_review": 1, "reviews": {"shop": 1}},
        "reviews",
        "1 result waits for the creator of shop: nothing new yet",
    ),
]


@pytest.mark.parametrize(("ticket", "facts", "code", "reason"), TABLE)
def test_why_a_ticket_waits(ticket: Ticket, facts: dict[str, Any], code: Code, reason: str) -> None:
    assert waits(ticket, **facts) == Waits(code, reason)


def test_what_a_host_offers_is_no_word_in_the_queue() -> None:
    facts = {"registry": {"shop": replace(SHOP, needs=("gpu",))}, "capabilities": {"gpu", "kvm"}}
    ticket = make_ticket()
    assert judge(ticket, make_survey(ticket, **facts)) == Ready()
    assert For("this host offers what it needs: gpu") in reasons(
        ticket, make_survey(ticket, **facts)
    )


def test_what_is_begun_is_not_held_against_its_needs() -> None:
    """Only a start is: a lease that runs stays what it is."""
    assert (
        waits(leased("started"), registry={"shop": replace(SHOP, needs=("gpu",))}).code == "leased"
    )


def test_a_ticket_that_is_started_again_and_again_waits_an_hour() -> None:
    story = Story()
    for _ in range(4):
        story = story.starts().turns("open")
    history = story.history()
    facts = {"histories": {history.ticket.ref: history}, "now_ms": story.now}
    assert isinstance(judge(history.ticket, make_survey(history.ticket, **facts)), Ready)
    held = waits(history.ticket, max_starts=4, **facts)
    assert held.code == "starts"
    assert held.reason.startswith("4 sessions within the last hour; again after ")
    facts["now_ms"] = story.now + 3_600_000
    assert isinstance(judge(history.ticket, make_survey(history.ticket, **facts)), Ready)


def test_every_code_is_in_a_test() -> None:
    elsewhere = {"question", "reopened", "stranger", "starts", "budget"}
    assert {code for _, _, code, _ in TABLE} | elsewhere == set(get_args(Code))
    assert set(get_args(Code)) > COUNTED


# --- relations -------------------------------------------------------------------------------


@pytest.mark.parametrize("state", sorted(set(STATES) - {"done"}))
def test_m022_a_blocker_in_any_state_but_done_blocks(state) -> None:
    assert waits(make_ticket(blocked_by=(related(2, state),))).code == "blocked"


def test_m022_a_blocker_that_is_done_frees() -> None:
    assert first(make_survey(make_ticket(blocked_by=(related(2, "done"),)))) == Ready()


def test_m022_questions_make_nobody_a_parent() -> None:
    children = (question(2, "done"), related(3, "done", "Question: by hand?"))
    assert first(make_survey(make_ticket(children=children))) == Ready()


def test_a_tracker_without_relations_blocks_nothing() -> None:
    ticket = make_ticket(blocked_by=(related(2),), children=(related(3), question(4)))
    assert first(make_survey(ticket, has_relations=False)) == Ready()


# --- rejections ------------------------------------------------------------------------------


def sent_back() -> Story:
    story = Story().starts(S1).notes(Report(S1, SHA, passed=True)).turns("review")
    return story.moves("reopened", "still grey")


def test_m022_a_rejection_newer_than_the_last_session_is_rework() -> None:
    said = first(survey_of(sent_back().history()))
    assert said == Ready(("sent back by anna on 2001-09-09 01:51 UTC: rework",), rework=True)


def test_m022_two_question_children_do_not_keep_it_from_rework() -> None:
    history = with_children(sent_back().history(), question(6, "done"), question(7, "done"))
    assert isinstance(first(survey_of(history)), Ready)


def test_m022_a_reopened_ticket_that_was_taken_up_is_only_counted() -> None:
    story = sent_back().starts(S2)
    story.state = "reopened"
    said = first(survey_of(story.history()))
    assert said == Waits("reopened", "sent back, and a session was started since")
    assert said.code in COUNTED


def test_a_rejected_ticket_is_held_by_the_other_rules_too() -> None:
    history = sent_back().history(blocked_by=(related(2),))
    said = first(survey_of(history))
    assert isinstance(said, Waits)
    assert said.code == "blocked"


# --- questions -------------------------------------------------------------------------------


@pytest.mark.parametrize("state", sorted(set(STATES) - {"done", "canceled"}))
@pytest.mark.parametrize(
    "ticket",
    [
        make_ticket(source=f"colony-report:{S1}:questions:0"),
        make_ticket(subject="Question: by hand?"),
    ],
)
def test_m030_a_question_is_never_work_in_no_state(ticket: Ticket, state) -> None:
    said = waits(replace(ticket, state=state))
    assert said.code == "question"
    assert said.code not in COUNTED
    assert f"({state}): never work" in said.reason


@pytest.mark.parametrize("state", ["done", "canceled"])
def test_m030_an_answered_question_is_only_counted(state) -> None:
    assert waits(make_ticket(subject="Question: by hand?", state=state)).code == state


def test_m030_a_rejected_question_is_no_rework_although_the_rejection_is_new() -> None:
    story = Story(state="pending").moves("reopened", "already answered")
    said = first(survey_of(story.history(source=f"colony-report:{S1}:questions:0")))
    assert isinstance(said, Waits)
    assert said.code == "question"


def test_m030_a_session_parked_on_a_question_is_never_resumed() -> None:
    story = Story().starts(S1).notes(Parked(S1, HOST, "worker", 7, 10**14))
    ticket = story.history(subject="Question: by hand?").ticket
    assert waits(ticket).reason.endswith("never work, and never resumed")
    assert no_work_ever(ticket) == waits(ticket).reason
    assert no_work_ever(make_ticket()) is None


def test_a_ticket_waits_while_a_question_about_it_is_open() -> None:
    history = with_children(Story().history(), question(6))
    assert first(survey_of(history)) == Waits("asked", "waits for the answer on shop#6")


@pytest.mark.parametrize("state", ["done", "reopened", "canceled"])
def test_it_goes_on_once_the_question_is_answered_or_refused(state) -> None:
    story = Story().starts(S1).notes(Report(S1, SHA, half_done=True)).turns("open")
    history = with_children(story.history(), question(6, state))
    assert first(survey_of(history)) == Ready()


def test_a_newer_rejection_outranks_a_pending_question() -> None:
    story = sent_back()
    history = with_children(story.history(), question(6))
    asked = make_ticket(6, subject="Question: which?", created_ms=story.last.at_ms - 1)
    survey = survey_of(history)
    assert isinstance(
        judge(history.ticket, replace(survey, tickets=(history.ticket, asked))), Ready
    )


def test_a_question_that_is_newer_than_the_rejection_holds_it() -> None:
    story = sent_back()
    history = with_children(story.history(), question(6))
    asked = make_ticket(6, subject="Question: which?", created_ms=story.last.at_ms + 1)
    said = judge(history.ticket, replace(survey_of(history), tickets=(history.ticket, asked)))
    assert said == Waits("asked", "waits for the answer on shop#6")


def test_an_answered_rejection_outranks_nothing() -> None:
    story = sent_back().starts(S2).notes(Report(S2, SHA)).turns("open")
    history = with_children(story.history(), question(6))
    said = first(survey_of(history))
    assert isinstance(said, Waits)
    assert said.code == "asked"


# --- leases ----------------------------------------------------------------------------------


def test_m031_a_lease_that_ended_is_told_with_its_reason() -> None:
    story = Story().starts(S1).notes(Report(S1, SHA, ready=True)).notes(Deployed(S1, SHA))
    said = first(survey_of(story.history()))
    reason = f"in progress, but the lease of session {S1} has ended: deployed"
    assert said == Waits("unleased", reason)


def test_a_lease_from_elsewhere_cannot_forge_output() -> None:
    story = Story().turns("progress", LeaseLine("s\n\x1b[31m", "o\nNEXT: x", "started", 10**14))
    said = first(survey_of(story.history()))
    assert isinstance(said, Waits)
    assert said.reason.isprintable()


# --- strangers -------------------------------------------------------------------------------


def by_stranger() -> Story:
    story = Story()
    story.events[0] = replace(story.events[0], author="eve\x1b", user_id="u3")
    return story


def test_a_strangers_ticket_waits_for_accept() -> None:
    story = by_stranger().says("/accept", by=EVE)
    said = first(survey_of(story.history()))
    reason = "opened by eve\\x1b: waits for /accept by a member of the project"
    assert said == Waits("stranger", reason)
    accepted = first(survey_of(story.says("/accept").history()))
    assert accepted == Ready(("accepted by anna",))


def test_what_colony_filed_with_a_strangers_words_waits_for_accept() -> None:
    history = Story().history(source=f"colony-report:{S1}:issue:0:stranger", machine=True)
    said = first(survey_of(history))
    assert isinstance(said, Waits)
    assert said.code == "stranger"
    assert "Colony, with a stranger's words" in said.reason


def test_everybody_is_let_in_when_so_set_and_without_members() -> None:
    ticket = make_ticket(author="eve", user_id="u3")
    assert first(make_survey(ticket, intake="all")) == Ready()
    names_only = People(admin_names=frozenset({"creator"}), has_members=False)
    assert first(make_survey(ticket, people={"shop": names_only})) == Ready()


# --- hosts, words, all reasons ------------------------------------------------------------------


@pytest.mark.parametrize("host", ["oak", "OAK", "Oak"])
def test_the_host_is_compared_without_case(host: str) -> None:
    assert first(make_survey(make_ticket(), host=host)) == Ready()


def test_a_project_without_a_host_is_worked_on_any() -> None:
    registry = {"shop": replace(SHOP, dev_host="")}
    assert first(make_survey(make_ticket(), registry=registry, host="elm")) == Ready()


@pytest.mark.parametrize(("priority", "word"), [(5, "high"), (-5, "low"), (3, "3"), (-9, "-9")])
def test_a_priority_is_named(priority: int, word: str) -> None:
    said = first(make_survey(make_ticket(priority=priority)))
    assert said == Ready((f"priority {word}",))
    assert priority_word(priority) == word


def test_all_reasons_with_the_deciding_one_first() -> None:
    ticket = make_ticket(blocked_by=(related(2),), priority=5)
    said = reasons(ticket, make_survey(ticket, host="elm", folders_missing=frozenset({"shop"})))
    assert said[0] == judge(ticket, make_survey(ticket, host="elm"))
    assert [one.code for one in said if isinstance(one, Waits)] == ["blocked", "host"]
    assert [one.text for one in said if isinstance(one, For)] == [
        "it is open",
        "project shop is set up",
        "priority high",
    ]


def test_all_reasons_of_a_ticket_that_is_work() -> None:
    ticket = make_ticket()
    assert all(isinstance(one, For) for one in reasons(ticket, make_survey(ticket)))


def test_each_rule_is_used_once() -> None:
    assert len(set(RULES)) == len(RULES)


def test_every_reason_is_one_printable_line() -> None:
    for ticket, facts, _, _ in TABLE:
        for one in reasons(ticket, make_survey(ticket, **facts)):
            text = one.reason if isinstance(one, Waits) else one.text
            assert text
            assert text.isprintable()


def test_refs_of_other_projects_are_named_in_full() -> None:
    other = replace(related(2), ref=Ref("bakery", 2))
    assert waits(make_ticket(blocked_by=(other,))).reason == "blocked by bakery#2 (open)"


def test_people_of_the_tickets_own_project_decide() -> None:
    ticket = make_ticket(project="bakery")
    registry = {"bakery": replace(SHOP, name="bakery")}
    said = first(make_survey(ticket, registry=registry, people={"shop": PEOPLE}))
    assert isinstance(said, Waits)
    assert said.code == "unread"


# --- starts within an hour -------------------------------------------------------------------


def tried(times: int) -> Story:
    story = Story()
    for _ in range(times):
        story = story.starts(S1).turns("open")
    return story


def at_once(story: Story, **facts: Any) -> Ready | Waits:
    return first(survey_of(story.history(), **{"max_starts": 4, "now_ms": story.now, **facts}))


def test_too_many_starts_wait_until_the_oldest_is_an_hour_ago() -> None:
    assert at_once(tried(3)) == Ready()
    story = tried(4)
    said = at_once(story)
    assert isinstance(said, Waits)
    begun = story.events[1].at_ms
    assert said.code == "starts"
    assert said.reason == f"4 sessions within the last hour; again after {utc(begun + 3_600_000)}"
    assert at_once(story, now_ms=begun + 3_599_999) == said
    assert at_once(story, now_ms=begun + 3_600_000) == Ready()


def test_more_than_the_limit_wait_for_as_many_to_pass() -> None:
    said = at_once(tried(6))
    assert isinstance(said, Waits)
    assert said.reason.endswith(utc(tried(6).events[5].at_ms + 3_600_000))


def test_retry_or_no_limit_lets_it_start() -> None:
    assert at_once(tried(9), max_starts=0) == Ready()
    assert at_once(tried(9).notes(Retry(1))) == Ready()


# --- results that wait for their creator -----------------------------------------------------


@pytest.mark.parametrize(
    "facts",
    [
        {"max_review": 2, "reviews": {"shop": 1}},
        {"max_review": 2, "reviews": {"bakery": 9}},
        {"max_review": 0, "reviews": {"shop": 9}},
        {"max_review": 2},
    ],
)
def test_fewer_results_than_the_limit_hold_nothing(facts: dict[str, Any]) -> None:
    assert first(make_survey(make_ticket(), **facts)) == Ready()


def test_what_was_sent_back_goes_on_whatever_waits() -> None:
    history = sent_back().history()
    full = {"max_review": 1, "reviews": {"shop": 5}}
    assert isinstance(first(survey_of(history, **full)), Ready)
    assert waits(leased("started"), **full).code == "leased"


def test_results_are_counted_by_project_and_questions_are_none() -> None:
    rows = (
        make_ticket(1, state="review"),
        make_ticket(2, state="review"),
        make_ticket(3, "bakery", state="review"),
        make_ticket(4, state="review", subject="Question: which?"),
        make_ticket(5, state="open"),
    )
    assert in_review(rows) == {"shop": 2, "bakery": 1}


# --- what a ticket may cost ------------------------------------------------------------------


def dear(*cents: int) -> Story:
    """A ticket whose sessions cost so much."""
    story = Story()
    for at, each in enumerate(cents):
        session = f"s-20260101T0900-{at:06x}"
        story = story.starts(session)
        story = story.turns("open", Run(session, HOST, "no report", spent=Spent(each, 9, True)))
    return story


def capped(story: Story, cents: int = 500, **facts: Any) -> Ready | Waits:
    return first(survey_of(story.history(), max_cost_cents=cents, **facts))


@pytest.mark.parametrize(
    ("story", "cap", "reason"),
    [
        (dear(), 500, None),
        (dear(120, 379), 500, None),
        (dear(120, 380), 500, "it has cost $5.00, and may cost $5.00"),
        (dear(120, 512), 500, "it has cost $6.32, and may cost $5.00"),
        (dear(120, 512), 0, None),
        (dear(120, 512).says("/budget $10"), 500, None),
        (dear(120, 512).says("/budget $6"), 500, "it has cost $6.32, and may cost $6.00"),
        (dear(120).says("/budget $1"), 500, "it has cost $1.20, and may cost $1.00"),
        # Without a setting its history is not read: its next session asks at once.
        (dear(120).says("/budget $1"), 0, None),
        (dear(120, 512).says("/budget $10", by=EVE), 500, "it has cost $6.32, and may cost $5.00"),
        (dear(120, 512).notes(Retry(1)), 500, "it has cost $6.32, and may cost $5.00"),
    ],
)
def test_a_ticket_at_its_cap_waits(story: Story, cap: int, reason: str | None) -> None:
    said = capped(story, cap)
    assert said == (Ready() if reason is None else Waits("budget", reason))


def test_once_it_was_asked_about_its_cap_holds_without_a_setting_too() -> None:
    asked = related(7, "done", "Question (shop#1): more?", f"colony-budget:{S1}:question")
    history = with_children(dear(120).says("/budget $1").history(), asked)
    said = first(survey_of(history))
    assert said == Waits("budget", "it has cost $1.20, and may cost $1.00")


def test_what_is_sent_back_is_held_by_its_cap_too() -> None:
    story = dear(600).starts(S2).turns("review").moves("reopened", "still grey")
    said = capped(story)
    assert isinstance(said, Waits)
    assert said.code == "budget"


def test_what_it_has_cost_is_told_where_there_is_a_cap() -> None:
    survey = survey_of(dear(120).history(), max_cost_cents=500)
    assert For("it has cost $1.20 of $5.00") in reasons(survey.tickets[0], survey)


def test_the_cap_is_told_before_what_passes_by_itself() -> None:
    story = dear(200, 200, 200)
    said = capped(story, max_starts=1, now_ms=story.now)
    assert isinstance(said, Waits)
    assert said.code == "budget"
