from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports import (
    SESSION,
    VERDICT_CHECK,
    VERDICT_SCHEMA,
    finding,
    raw_verdict,
    report,
    ruling,
    verdict,
)

from colony.core.report import Report
from colony.core.schema import compiled
from colony.core.strict_json import Problems
from colony.core.verdict import Reason, Ruled, agent_schema, read_verdict, rule

TWO = report(questions=[{"title": "Which colour?", "text": "red or blue"}, "How big?"])
NONE = report()


def problems_of(data: Any, of: Report) -> list[str]:
    found = read_verdict(data, of, VERDICT_CHECK)
    return list(found.lines) if isinstance(found, Problems) else []


def both(**changes: Any) -> list[dict[str, Any]]:
    return [ruling(0, "ask"), {**ruling(1, "ask"), **changes}]


REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({"ticket": "shop#4"}, ["ticket: is 'shop#4', must be 'shop#3'"]),
    ({"session": "s-1"}, [f"session: is 's-1', must be '{SESSION}'"]),
    ({"verdict": "maybe"}, ['verdict: is "maybe", must be one of: pass, fail']),
    ({"summary": " "}, ["summary: must be text that is not blank"]),
    ({"findings": None}, ["findings: must be a list, is null"]),
    (
        {"findings": [finding("fine")]},
        ['findings[0].status: is "fine", must be one of: ok, false, no evidence, not checked'],
    ),
    (
        {"findings": [{"claim": "c", "about": "done", "status": "ok"}]},
        ["findings[0]: 'check' is missing (every finding needs claim, about, status and check)"],
    ),
    (
        {"findings": [{**finding("ok"), "about": "test"}]},
        ['findings[0].about: is "test", must be one of: verified, done, other'],
    ),
    (
        {"questions": []},
        [
            "questions: no ruling on question 0 ('Which colour?')",
            "questions: no ruling on question 1 ('How big?')",
        ],
    ),
    ({"questions": [ruling(0, "ask")]}, ["questions: no ruling on question 1 ('How big?')"]),
    ({"questions": [*both(), ruling(1, "ask")]}, ["questions: 2 rulings on question 1"]),
    ({"questions": [*both(), ruling(2, "ask")]}, ["questions: the report has no question 2"]),
    (
        {"questions": both(ruling="later")},
        [
            'questions[1].ruling: is "later", must be one of:'
            " ask, decided, trivial, internal, packed"
        ],
    ),
    *(
        (
            {"questions": both(ruling=word, answer=" ")},
            ["questions[1].answer: must be the answer that stands instead of the question"],
        )
        for word in ("decided", "trivial", "internal")
    ),
    (
        {"extra": 1},
        [
            "the answer: unknown key 'extra'"
            " (known: ticket, session, verdict, findings, questions, summary)"
        ],
    ),
]


@pytest.mark.parametrize(("changes", "lines"), REFUSED, ids=[lines[0][:50] for _, lines in REFUSED])
def test_a_bad_verdict_is_refused_with_the_place_and_the_reason(
    changes: dict[str, Any], lines: list[str]
) -> None:
    assert problems_of(raw_verdict(**{"questions": both(), **changes}), TWO) == lines


def ruled(of: Report = NONE, **changes: Any) -> Ruled:
    return rule(verdict(of, **changes), of)


STATUSES = [
    ("pass", [], False, True),
    ("pass", ["not checked"], False, True),
    ("pass", ["ok"], True, False),
    ("pass", ["ok", "not checked"], True, False),
    ("pass", ["ok", "false"], False, True),
    ("pass", ["no evidence", "ok"], False, True),
    ("fail", ["ok"], False, False),
    ("fail", [], False, False),
    ("fail", ["false"], False, False),
]


@pytest.mark.parametrize(("said", "statuses", "passes", "overruled"), STATUSES)
def test_code_may_turn_a_pass_into_a_fail_and_never_the_other_way(
    said: str, statuses: list[str], passes: bool, overruled: bool
) -> None:
    made = ruled(verdict=said, findings=[finding(status) for status in statuses])
    assert (made.passed, made.overruled) == (passes, overruled)
    assert bool(made.why) is not passes


def test_the_gravest_reason_comes_first() -> None:
    made = ruled(findings=[finding("no evidence", "b"), finding("false", "a"), finding("ok", "c")])
    assert made.why == (
        Reason("not true", "a — ran pytest"),
        Reason("not shown", "b — ran pytest"),
    )


def test_a_fail_without_findings_is_told_by_its_summary() -> None:
    assert ruled(verdict="fail", summary="It does not build.").why == (
        Reason("summary", "It does not build."),
    )


RULINGS = [
    ("ask", "", True, (0, 1), ()),
    ("decided", "Blue, as decided.", True, (1,), ("Which colour? — Blue, as decided.",)),
    ("trivial", "Blue.", True, (1,), ("Which colour? — Blue.",)),
    ("internal", "As the code does it.", True, (1,), ("Which colour? — As the code does it.",)),
    ("packed", "", False, (0, 1), ()),
]


@pytest.mark.parametrize(("word", "answer", "passes", "kept", "decided"), RULINGS)
def test_only_real_questions_reach_a_person(
    word: str, answer: str, passes: bool, kept: tuple[int, ...], decided: tuple[str, ...]
) -> None:
    made = ruled(TWO, questions=[ruling(0, word, answer), ruling(1, "ask")])
    assert made.passed is passes
    assert made.overruled is not passes
    assert tuple(each.index for each in made.report.questions) == kept
    assert made.report.decided == decided


def test_a_packed_question_sends_the_report_back() -> None:
    made = ruled(TWO, questions=[ruling(0, "packed"), ruling(1, "ask")])
    assert made.why == (Reason("packed", "Which colour?"),)


def test_an_answer_stays_one_short_line() -> None:
    made = ruled(TWO, questions=[ruling(0, "trivial", "x\n" * 500), ruling(1, "ask")])
    (line,) = made.report.decided
    assert len(line) <= 120
    assert "\n" not in line


def test_a_controller_gets_the_schema_with_one_ruling_a_question() -> None:
    check = compiled(agent_schema(VERDICT_SCHEMA, TWO), "given")
    assert check(raw_verdict(questions=both())) == ()
    assert check(raw_verdict(questions=both()[:1])) == ("questions: has 1 entries, at least 2",)
    assert check(raw_verdict(questions=[*both(), *both()]))
    assert check(raw_verdict(questions=both(), session="s-1"))
    assert compiled(agent_schema(VERDICT_SCHEMA, NONE), "given")(raw_verdict()) == ()


def test_a_schema_that_people_made_softer_gives_problems_and_no_crash() -> None:
    soft = compiled({"type": "object"}, "verdict.schema.json")
    for data in ({}, raw_verdict(findings="x"), raw_verdict(verdict="perhaps"), raw_verdict(a=1)):
        assert isinstance(read_verdict(data, NONE, soft), Problems)


ANYTHING: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("index"), inner),
    max_leaves=8,
)


@given(ANYTHING, ANYTHING)
def test_no_verdict_raises(questions: Any, findings: Any) -> None:
    read_verdict(raw_verdict(questions=questions, findings=findings), TWO, VERDICT_CHECK)
    read_verdict(questions, TWO, VERDICT_CHECK)
