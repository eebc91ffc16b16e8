from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports import (
    SESSION,
    TICKET,
    closing,
    comment_by,
    finding,
    raw_issue,
    report,
    ruling,
    verdict,
)

from colony.core.budget import BUDGET_SOURCE
from colony.core.codec import from_json, to_json
from colony.core.endings import BELONGS, Ending
from colony.core.markers import (
    LeaseLine,
    NoVerdict,
    Report,
    Run,
    Spent,
    Verdict,
    parse,
)
from colony.core.outbox import (
    Effect,
    Limits,
    fill,
    late,
    no_report,
    no_verdict,
    passed,
    place,
    sent_back,
    unchecked,
)
from colony.core.relations import is_question
from colony.core.strict_json import dump_json, load_json
from colony.core.texts.memory import held, ran_out
from colony.core.ticket import STATES, NewTicket, Ref, Related
from colony.core.verdict import Ruled, rule

SHA = "0123456789ab"
SPENT = Spent(184, 40, True)
URL = "https://tickets.example/t/shop/9"
FULL = report(
    issues=[raw_issue(blocks=True), raw_issue(project="zeta"), raw_issue(project="shop")],
    questions=[{"title": "Which colour?", "text": "red or blue"}, "How big?"],
)


def outline(effects: tuple[Effect, ...]) -> list[str]:
    """The order of the writes, as `kind name -> where`."""
    return [
        f"{each.kind} {each.name}"
        + (f" -> {each.new.project} {each.new.state}" if each.new else "")
        + (f" by {each.by}" if each.by else "")
        + (f" -> {each.state}" if each.state else "")
        + (f" ({each.status})" if each.status != "planned" else "")
        for each in effects
    ]


def named(effects: tuple[Effect, ...], name: str) -> Effect:
    return next(each for each in effects if each.name == name)


def created(effects: tuple[Effect, ...], name: str) -> NewTicket:
    new = named(effects, name).new
    assert new is not None
    return new


def machine_line(text: str) -> object:
    return parse(text.splitlines()[-1])


def failing(statuses: list[str]) -> Ruled:
    made = report()
    return rule(verdict(made, findings=[finding(status) for status in statuses]), made)


# --- which writes, in which order ------------------------------------------------------------


def test_a_passed_report_files_what_it_found_then_comments_then_moves() -> None:
    assert outline(passed(closing(), FULL)) == [
        "create issue:0 -> till open",
        "block block:0 by issue:0",
        "create question:1 -> shop pending",
        "create issue:2 -> shop open",
        "create questions:0 -> shop pending",
        "create questions:1 -> shop pending",
        "comment comment",
        "move state -> review",
    ]


OCCASIONS: list[tuple[str, dict[str, Any], dict[str, Any], list[str]]] = [
    ("done", {}, {}, ["comment comment", "move state -> review"]),
    ("half done", {}, {"complete": False}, ["comment comment", "move state -> open"]),
    ("live", {"live": True}, {}, ["comment comment"]),
    (
        "live, half done",
        {"live": True},
        {"complete": False},
        ["comment comment", "move state -> open"],
    ),
    (
        "live, taken by nobody",
        {"live": True, "state": "open"},
        {},
        ["comment comment", "move state -> progress"],
    ),
    ("open", {"state": "open"}, {}, ["comment comment", "move state -> review"]),
    (
        "sent back by a person",
        {"state": "reopened"},
        {},
        ["comment comment", "move state -> review"],
    ),
    (
        "held by a person",
        {"state": "pending"},
        {},
        ["comment comment", "move state -> review (skipped)"],
    ),
    (
        "half done, moved by a person",
        {"state": "review"},
        {"complete": False},
        ["comment comment", "move state -> open (skipped)"],
    ),
    (
        "live, canceled by a person",
        {"state": "canceled", "live": True},
        {},
        ["comment comment", "move state -> progress (skipped)"],
    ),
]


@pytest.mark.parametrize(
    ("facts", "changes", "writes"),
    [row[1:] for row in OCCASIONS],
    ids=[row[0] for row in OCCASIONS],
)
def test_where_a_result_leaves_its_ticket(
    facts: dict[str, Any], changes: dict[str, Any], writes: list[str]
) -> None:
    for post in (passed, unchecked):
        assert outline(post(closing(**facts), report(**changes))) == writes


@pytest.mark.parametrize("state", STATES)
def test_a_persons_state_is_never_overwritten(state: Any) -> None:
    ends = (
        *no_report(closing(state=state), Ending.NO_REPORT),
        *no_verdict(closing(state=state)),
        *sent_back(closing(state=state), failing(["false"]), 1, 2),
        *sent_back(closing(state=state), failing(["false"]), 2, 2),
    )
    for each in ends:
        if each.kind == "move":
            assert (each.status == "planned") is (state == "progress")
            assert each.why == ("" if state == "progress" else f"the ticket is {state}")


def test_the_failed_checks_before_the_last_open_the_ticket_again() -> None:
    effects = sent_back(closing(), failing(["false", "ok"]), 1, 2)
    assert outline(effects) == ["comment fail:comment", "move fail:state -> open"]
    assert machine_line(effects[0].text) == Verdict(SESSION, 1, 2, True, SPENT)
    assert "- Not true: it stays — ran pytest" in effects[0].text


def test_the_last_failed_check_asks_first_and_links_the_question() -> None:
    effects = sent_back(closing(), failing(["no evidence"]), 2, 2)
    assert outline(effects) == [
        "create fail:question -> shop pending",
        "comment fail:comment",
        "move fail:state -> pending",
    ]
    asked = created(effects, "fail:question")
    assert asked.source == f"colony-verdict:{SESSION}:question"
    assert asked.parent == TICKET
    assert place("fail:question") in effects[1].text
    assert machine_line(effects[1].text) == Verdict(SESSION, 2, 2, True, SPENT)


def test_at_most_three_findings_are_told() -> None:
    text = sent_back(closing(), failing(["false"] * 5), 1, 2)[0].text
    assert text.count("- Not true:") == 3


def test_without_a_verdict_the_report_is_kept_and_a_person_is_asked() -> None:
    effects = no_verdict(closing())
    assert outline(effects) == [
        "create none:question -> shop pending",
        "comment none:comment",
        "move none:state -> pending",
    ]
    assert "kept" in effects[1].text
    assert machine_line(effects[1].text) == NoVerdict(SESSION, SPENT)
    source = created(effects, "none:question").source
    assert source.startswith("colony")
    assert ":question" in source


@pytest.mark.parametrize("ending", Ending)
def test_without_a_report_one_write_says_why(ending: Ending) -> None:
    (move,) = no_report(closing(progress=False), ending)
    how: Any = "no report" if BELONGS[ending] == "ticket" else "given back"
    assert (move.kind, move.state) == ("move", "open")
    assert machine_line(move.text) == Run(SESSION, "box1", how, ending, Spent(184, 40, False))


@pytest.mark.parametrize(
    ("changes", "begins"),
    [
        ({}, "Open again: there is no usable result, "),
        ({"in_vain": 2, "progress": False}, "Waits for your answer: 3 attempts in a row"),
        ({"cap_cents": 100}, "Waits for your answer: it has cost all that it may"),
    ],
)
def test_who_ran_out_of_memory_says_with_how_much(changes: dict[str, Any], begins: str) -> None:
    told = ran_out(210 << 20, 200 << 20)
    assert told == "it ran out of memory: it held up to 210 MiB, its limit is 200 MiB"
    *_, move = no_report(closing(ran_out=told, **changes), Ending.OUT_OF_MEMORY)
    assert move.text.startswith(begins)
    assert told in move.text
    assert told not in no_report(closing(ran_out=told), Ending.STALLED)[-1].text


def test_what_is_not_known_of_its_memory_is_left_out() -> None:
    assert ran_out(0, 0) == "it ran out of memory"
    assert ran_out(5 << 30, 0) == "it ran out of memory: it held up to 5,120 MiB"
    assert held(0, 1, "cgroup v1") == ""
    assert held(3 << 20, 0, "") == "held up to 3 MiB (looked at)"
    assert held(3 << 20, 4 << 20, "cgroup v2") == "held up to 3 MiB of 4 MiB (cgroup v2)"


def test_every_name_is_used_once_and_every_end_of_a_session_has_its_own() -> None:
    ends = [
        passed(closing(), FULL),
        sent_back(closing(), failing(["false"]), 2, 2),
        no_verdict(closing()),
        no_verdict(closing(round=2)),
        no_report(closing(), Ending.STALLED),
        late(closing()),
        passed(closing(round=2), report()),
    ]
    names = [each.name for effects in ends for each in effects]
    assert len(names) == len(set(names))
    assert created(ends[2], "none:question").source != created(ends[3], "none:question:2").source


# --- what they say ---------------------------------------------------------------------------


def test_sources_name_the_session_and_the_place_in_the_report() -> None:
    effects = passed(closing(), FULL)
    assert [each.new.source for each in effects if each.new] == [
        f"colony-report:{SESSION}:issue:0",
        f"colony-report:{SESSION}:question:1",
        f"colony-report:{SESSION}:issue:2",
        f"colony-report:{SESSION}:questions:0",
        f"colony-report:{SESSION}:questions:1",
    ]


def test_a_problem_found_under_a_strangers_words_waits_to_be_accepted() -> None:
    effects = passed(closing(strangers=True), FULL)
    assert created(effects, "issue:0").source == f"colony-report:{SESSION}:issue:0:stranger"
    assert created(effects, "questions:0").source == f"colony-report:{SESSION}:questions:0"


def test_a_report_whose_lease_is_gone_is_filed_and_changes_nothing() -> None:
    (effect,) = late(closing())
    assert effect.kind == "comment"
    assert effect.text == effect.late_text
    assert machine_line(effect.text) == Report(SESSION, SHA, late=True, spent=SPENT)


def test_a_question_keeps_its_source_when_the_one_before_it_is_dropped() -> None:
    rulings = [ruling(0, "trivial", "Blue."), ruling(1, "ask")]
    ruled = rule(verdict(FULL, questions=rulings), FULL)
    effects = passed(closing(), ruled.report)
    questions = [each.name for each in effects if each.name.startswith("questions:")]
    assert questions == ["questions:1"]
    assert created(effects, "questions:1").source == f"colony-report:{SESSION}:questions:1"


def test_questions_are_children_of_their_ticket_and_problems_are_not() -> None:
    effects = passed(closing(), FULL)
    parents = {each.name: each.new.parent for each in effects if each.new}
    assert parents == {
        "issue:0": None,
        "question:1": TICKET,
        "issue:2": None,
        "questions:0": TICKET,
        "questions:1": TICKET,
    }


LINES = [
    (passed, {}, {}, Report(SESSION, SHA, passed=True, spent=SPENT)),
    (passed, {}, {"complete": False}, Report(SESSION, SHA, True, half_done=True, spent=SPENT)),
    (
        passed,
        {"live": True},
        {"complete": False},
        Report(SESSION, SHA, True, half_done=True, spent=SPENT),
    ),
    (passed, {"live": True}, {}, Report(SESSION, SHA, True, ready=True, spent=SPENT)),
    (unchecked, {}, {}, Report(SESSION, SHA, unchecked=True, spent=SPENT)),
    (unchecked, {"live": True}, {}, Report(SESSION, SHA, ready=True, unchecked=True, spent=SPENT)),
]


@pytest.mark.parametrize(("post", "facts", "changes", "line"), LINES)
def test_the_machine_line_says_what_a_later_decision_needs(
    post: Any, facts: dict[str, Any], changes: dict[str, Any], line: Report
) -> None:
    comment = named(post(closing(**facts), report(**changes)), "comment")
    assert machine_line(comment.text) == line
    assert ("Posted by hand, not checked" in comment.text) is line.unchecked


@pytest.mark.parametrize(
    ("cost", "cents"),
    [
        (1.845, 185),
        (1.8449, 184),
        (2.675, 268),
        (-1, 0),
        (1e300, 10**15 - 1),
        (1e308, 10**15 - 1),
        (float("inf"), 0),
        (float("nan"), 0),
    ],
)
def test_any_cost_has_a_number_of_cents(cost: float, cents: int) -> None:
    assert closing(cost_usd=cost).spent.cost_cents == cents


def test_every_comment_has_the_form_in_which_it_comes_too_late() -> None:
    ends = (
        *passed(closing(), FULL),
        *unchecked(closing(live=True), report()),
        *sent_back(closing(), failing(["false"]), 2, 2),
        *no_verdict(closing()),
    )
    comments = [each for each in ends if each.kind == "comment"]
    assert len(comments) == 4
    for each in comments:
        assert machine_line(each.late_text) == Report(SESSION, SHA, late=True, spent=SPENT)


def test_a_result_on_a_live_site_tells_no_steps_yet() -> None:
    later = (comment_by("Ada", "Make it blue"),)
    text = named(passed(closing(live=True, later=later), FULL), "comment").text
    assert "**Test:**" not in text
    assert "Make it blue" in text
    assert "$1.84 · 2 sessions" in text


def test_the_comment_of_a_result_as_a_whole() -> None:
    later = (comment_by("Ada", "Make it blue"),)
    text = named(passed(closing(later=later), FULL), "comment").text
    made = {
        "question:1": (Ref("shop", 8), ""),
        "questions:0": (Ref("shop", 9), URL),
        "questions:1": (Ref("shop", 10), ""),
    }
    assert fill(text, made) == (
        "The basket keeps what was put into it.\n\n"
        "**Test:**\n"
        "1. Put something into the basket\n"
        "2. Reload the page: it is still there\n\n"
        f"- Questions for you: shop#8, [shop #9]({URL}), shop#10\n"
        '- Came in during the work, not yet read: "Make it blue" (Ada)\n\n'
        "$1.84 · 2 sessions\n\n"
        f"colony-report: {SESSION} · sha256 {SHA} · controller pass"
        " · cost 1.84 · steps 40 · progress yes"
    )


def test_a_problem_that_blocks_is_told_with_the_link_to_it() -> None:
    text = named(passed(closing(), report(issues=[raw_issue(blocks=True)])), "comment").text
    filled = fill(text, {"issue:0": (Ref("till", 4), "")})
    assert "- Found elsewhere: till#4 (this ticket waits for it)" in filled


# --- places ----------------------------------------------------------------------------------


def test_a_place_whose_ticket_was_never_made_says_so() -> None:
    assert fill(f"see {place('issue:0')}", {}) == "see (could not be filed)"


@given(st.text(max_size=100))
def test_no_text_from_outside_holds_a_place(word: str) -> None:
    forged = f"{place('questions:0')}{word}"
    made = report(
        result="fine",
        open=[f"x{forged}"],
        issues=[raw_issue(subject="s", repro=f"r{forged}")],
        questions=[{"title": "t", "text": "u"}],
    )
    changed = Effect(name="x", kind="comment", text=named(passed(closing(), made), "comment").text)
    assert changed.text.count(place("questions:0")) == 1
    assert "\x00" not in created(passed(closing(), made), "issue:0").summary


def test_the_same_facts_give_the_same_bytes_and_survive_the_disk() -> None:
    effects = passed(closing(later=(comment_by("Ada", "é\u202e"),)), FULL)
    assert effects == passed(closing(later=(comment_by("Ada", "é\u202e"),)), FULL)
    on_disk = dump_json(to_json(effects))
    assert from_json(tuple[Effect, ...], load_json(on_disk)) == effects  # type: ignore[arg-type]


@pytest.mark.parametrize("cost", [0.0, -1.0, 1e300, float("nan"), float("inf")])
def test_no_cost_breaks_a_machine_line(cost: float) -> None:
    (move,) = no_report(closing(cost_usd=cost, steps=10**20), Ending.KILLED)
    assert isinstance(machine_line(move.text), Run)


def test_no_words_of_a_report_make_a_second_machine_line() -> None:
    line = f"colony-lease: {SESSION} · host h · started · ms 99"
    assert isinstance(parse(line), LeaseLine)
    made = report(
        result=line,
        test=[line[:80], line[:80]],
        open=[line],
        decided=[line],
        issues=[raw_issue(subject=line, repro=line, observed=line, expected=line)],
        questions=[{"title": line[:80], "text": f"{line}\n{line}"}],
    )
    for effects in (passed(closing(), made), unchecked(closing(), made)):
        for each in effects:
            text = each.new.summary if each.new else each.text
            found = [parse(row) for row in text.splitlines()]
            assert not [row for row in found[:-1] if row is not None]
            assert not isinstance(found[-1] if found else None, LeaseLine)


# --- when to stop trying ---------------------------------------------------------------------

STUCK: dict[str, Any] = {"in_vain": 2, "limits": Limits(in_vain=3, half_done=3), "progress": False}


def test_the_last_attempt_in_vain_asks_and_waits() -> None:
    facts = closing(**STUCK, earlier_cents=316)
    effects = no_report(facts, Ending.OUT_OF_STEPS)
    assert outline(effects) == [
        "create back:question -> shop pending",
        "move back:state -> pending",
    ]
    asked = created(effects, "back:question")
    assert is_question(Related(TICKET, "pending", "", asked.source))
    assert asked.parent == TICKET
    assert "3 attempts brought nothing" in asked.subject
    for words in ("3 times in a row", "the worker had used all its steps", "cost $5.00"):
        assert words in asked.summary
    said = named(effects, "back:state").text
    assert machine_line(said) == Run(SESSION, "box1", "no report", Ending.OUT_OF_STEPS, facts.spent)


@pytest.mark.parametrize(
    ("ending", "changes", "state"),
    [
        (Ending.NO_REPORT, {}, "pending"),
        (Ending.NO_REPORT, {"in_vain": 1}, "open"),
        (Ending.NO_REPORT, {"in_vain": 7}, "pending"),
        (Ending.NO_REPORT, {"progress": True}, "open"),
        (Ending.KILLED, {}, "pending"),
        (Ending.CRASHED, {}, "pending"),
        (Ending.LIMIT, {}, "open"),
        (Ending.NO_BOX, {}, "open"),
        (Ending.STOPPED, {}, "open"),
    ],
)
def test_only_what_was_the_tickets_own_asks(
    ending: Ending, changes: dict[str, Any], state: str
) -> None:
    assert no_report(closing(**STUCK | changes), ending)[-1].state == state


def test_half_done_too_often_asks_beside_the_comment() -> None:
    limits = Limits(half_done=3)
    before = passed(closing(half_done=1, limits=limits), report(complete=False))
    assert outline(before) == ["comment comment", "move state -> open"]
    effects = passed(closing(half_done=2, limits=limits), report(complete=False, open=["tests"]))
    assert outline(effects) == [
        "create half:question -> shop pending",
        "comment comment",
        "move state -> pending",
    ]
    asked = created(effects, "half:question")
    assert is_question(Related(TICKET, "pending", "", asked.source))
    for words in ("half done 3 times in a row", "Still open: tests", "cost $1.84"):
        assert words in asked.subject + asked.summary
    done = passed(closing(half_done=9, limits=limits), report())
    assert outline(done) == ["comment comment", "move state -> review"]


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        ({}, "$1.84 · 2 sessions"),
        ({"earlier_cents": 316}, "$1.84 · 2 sessions · $5.00 with the tries before"),
        (
            {"earlier_cents": 316, "earlier_known": False},
            "$1.84 · 2 sessions · at least $5.00 with the tries before",
        ),
        ({"cost_known": False}, "at least $1.84 · 2 sessions"),
        (
            {"earlier_cents": 316, "cost_known": False},
            "at least $1.84 · 2 sessions · at least $5.00 with the tries before",
        ),
    ],
)
def test_the_price_of_a_result_and_of_the_tries_before(facts: dict[str, Any], line: str) -> None:
    for effects in (
        passed(closing(**facts), report()),
        passed(closing(**facts), report(complete=False)),
        no_verdict(closing(**facts)),
    ):
        [text] = [each.text for each in effects if each.kind == "comment"]
        assert line in text.splitlines()
        assert text.endswith(" · lower bound") is ("cost_known" in facts)


def test_a_sum_that_may_be_more_is_told_so_where_more_is_asked_for() -> None:
    facts = closing(**BROKE, earlier_known=False)
    asked = created(no_report(facts, Ending.KILLED), "budget:question")
    assert "it has cost at least $5.00 and may cost $5.00" in asked.subject
    stuck = closing(**STUCK, earlier_cents=316, cost_known=False)
    asked = created(no_report(stuck, Ending.KILLED), "back:question")
    assert "All work on it so far cost at least $5.00." in asked.summary


BROKE: dict[str, Any] = {"earlier_cents": 316, "cap_cents": 500}
"""With the $1.84 of this session it has cost all that it may."""


@pytest.mark.parametrize(
    ("facts", "reached"),
    [
        ({}, False),
        (BROKE, True),
        (BROKE | {"cap_cents": 501}, False),
        (BROKE | {"cap_cents": 0}, False),
        (BROKE | {"earlier_cents": 900}, True),
        ({"cap_cents": 900, "cut_by_cap": True}, True),
        (BROKE | {"state": "done"}, False),
        (BROKE | {"state": "pending"}, False),
    ],
)
def test_when_a_ticket_has_cost_all_that_it_may(facts: dict[str, Any], reached: bool) -> None:
    made = closing(**facts)
    ends = (
        no_report(made, Ending.NO_REPORT),
        sent_back(made, failing(["false"]), 1, 2),
        passed(made, report(complete=False)),
    )
    for effects in ends:
        assert any(each.name == "budget:question" for each in effects) is reached
        assert (effects[-1].state == "pending") is reached


@pytest.mark.parametrize("ending", Ending)
def test_however_it_ended_without_a_result_it_asks_for_more(ending: Ending) -> None:
    facts = closing(**STUCK | BROKE)
    effects = no_report(facts, ending)
    assert outline(effects) == [
        "create budget:question -> shop pending",
        "move back:state -> pending",
    ]
    said = named(effects, "back:state").text
    how: Any = "no report" if BELONGS[ending] == "ticket" else "given back"
    assert machine_line(said) == Run(SESSION, "box1", how, ending, facts.spent)
    assert "it has cost all that it may" in said


@pytest.mark.parametrize("fail", [1, 2])
def test_a_failed_check_asks_for_more_instead_of_for_another_way(fail: int) -> None:
    effects = sent_back(closing(**BROKE), failing(["false", "ok"]), fail, 2)
    assert outline(effects) == [
        "create budget:question -> shop pending",
        "comment fail:comment",
        "move fail:state -> pending",
    ]
    assert place("budget:question") in effects[1].text
    assert machine_line(effects[1].text) == Verdict(SESSION, fail, 2, True, SPENT)
    assert "Last time: Not true: it stays" in created(effects, "budget:question").summary


def test_half_done_asks_for_more_beside_its_comment() -> None:
    often = {"half_done": 9, "limits": Limits(half_done=3)}
    effects = passed(closing(**BROKE | often), report(complete=False, open=["tests", "docs"]))
    assert outline(effects) == [
        "create budget:question -> shop pending",
        "comment comment",
        "move state -> pending",
    ]
    asked = created(effects, "budget:question")
    assert is_question(Related(TICKET, "pending", "", asked.source))
    assert asked.parent == TICKET
    assert asked.source.startswith(BUDGET_SOURCE)
    assert asked.subject == (
        "Question (shop#3): it has cost $5.00 and may cost $5.00. How shall it go on?"
    )
    for words in ('"/budget $10"', "answer here", "Still open: tests", "Still open: docs"):
        assert words in asked.summary


def test_what_is_finished_may_have_cost_anything() -> None:
    assert outline(passed(closing(**BROKE), report())) == [
        "comment comment",
        "move state -> review",
    ]
    assert outline(no_verdict(closing(**BROKE)))[0].startswith("create none:question")


def test_one_try_is_told_as_one() -> None:
    facts = closing(**STUCK | {"in_vain": 0, "limits": Limits(in_vain=1), "cost_usd": 0.0})
    asked = created(no_report(facts, Ending.NO_REPORT), "back:question")
    assert "1 attempt brought nothing" in asked.subject
    assert "was tried once" in asked.summary
    assert "cost" not in asked.summary
