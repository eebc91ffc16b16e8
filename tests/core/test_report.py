from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reports import (
    EXPECT,
    LIVE,
    REPORT_CHECK,
    REPORT_SCHEMA,
    SESSION,
    raw_issue,
    raw_report,
    report,
)

from colony.core.report import Expect, Issue, Question, Report, agent_schema, notes, read_report
from colony.core.schema import compiled
from colony.core.strict_json import Problems
from colony.core.ticket import Ref

KEYS = "ticket session result complete test done verified open issues questions running refused"
KNOWN = f"(known: {', '.join([*KEYS.split(), 'decided'])})"
RUNNING = {"what": "server", "url": "http://x", "pid": 12, "log": "server.log"}


def without(value: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: each for name, each in value.items() if name != key}


def problems_of(data: Any, expect: Expect = EXPECT) -> list[str]:
    found = read_report(data, expect, REPORT_CHECK)
    return list(found.lines) if isinstance(found, Problems) else []


ISSUE_HINT = "(every issue needs project, subject, repro, observed, expected and blocks)"
REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({"ticket": "shop#4"}, ["ticket: is 'shop#4', must be 'shop#3'"]),
    ({"session": "s-1"}, [f"session: is 's-1', must be '{SESSION}'"]),
    ({"ticket": ""}, ["ticket: must be text that is not blank", "ticket: is '', must be 'shop#3'"]),
    ({"result": "x" * 121}, ["result: has 121 characters, at most 120"]),
    ({"result": "two\nlines"}, ["result: must be one line of text"]),
    ({"result": "a line and its end\n"}, ["result: must be one line of text"]),
    ({"result": "two\u2028lines"}, ["result: must be one line of text"]),
    ({"result": " "}, ["result: must be text that is not blank"]),
    ({"complete": "true"}, ["complete: must be true or false, is text"]),
    ({"complete": 1}, ["complete: must be true or false, is a whole number"]),
    ({"test": ["one"]}, ["test: has 1 entries, at least 2"]),
    ({"test": ["a"] * 5}, ["test: has 5 entries, at most 4"]),
    ({"test": ["a", "x" * 91]}, ["test[1]: has 91 characters, at most 90"]),
    ({"test": ["a", "b\nc"]}, ["test[1]: must be one line of text"]),
    (
        {"test": ["a", "open .scratch/dev/index.html"]},
        ["test[1]: names .scratch (people try the real result, never a work copy)"],
    ),
    ({"done": None}, ["done: must be a list, is null"]),
    ({"done": ["a", ""]}, ["done[1]: must be text that is not blank"]),
    (
        {"verified": [{"claim": "c", "command": "x"}]},
        ["verified[0]: 'output' is missing (every verified entry needs command AND output)"],
    ),
    (
        {"verified": [{"claim": "c", "command": "x", "output": "y", "exit": 0}]},
        ["verified[0]: unknown key 'exit' (known: claim, command, output)"],
    ),
    ({"verified": ["ran it"]}, ["verified[0]: must be an object, is text"]),
    ({"open": "nothing"}, ["open: must be a list, is text"]),
    (
        {"issues": [without(raw_issue(), "repro")]},
        [f"issues[0]: 'repro' is missing {ISSUE_HINT}"],
    ),
    ({"issues": [raw_issue(blocks="no")]}, ["issues[0].blocks: must be true or false, is text"]),
    ({"issues": [raw_issue()] * 51}, ["issues: has 51 entries, at most 50"]),
    ({"questions": ["a\nb\n\nc\nd"]}, ["questions[0]: has 4 lines, at most 3"]),
    ({"questions": ["x" * 301]}, ["questions[0]: has 301 characters, at most 300"]),
    ({"questions": [" \n"]}, ["questions[0]: must be text that is not blank"]),
    ({"questions": [3]}, ["questions[0]: must be an object or text, is a whole number"]),
    (
        {"questions": [{"title": "t" * 81, "text": "a\nb\nc\nd"}]},
        [
            "questions[0].title: has 81 characters, at most 80",
            "questions[0].text: has 4 lines, at most 3",
        ],
    ),
    (
        {"questions": [{"title": "t"}]},
        ["questions[0]: 'text' is missing (every question needs title AND text)"],
    ),
    (
        {"questions": [{"title": "t", "text": "x" * 301}]},
        ["questions[0].text: has 301 characters, at most 300"],
    ),
    (
        {"running": [{**RUNNING, "pid": "12"}]},
        ["running[0].pid: must be a whole number, is text"],
    ),
    ({"running": [{**RUNNING, "pid": 0}]}, ["running[0].pid: is 0, at least 1"]),
    (
        {"running": [without(RUNNING, "log")]},
        ["running[0]: 'log' is missing (every running entry needs what, url, pid and log)"],
    ),
    ({"refused": [7]}, ["refused[0]: must be text, is a whole number"]),
    ({"decided": "blue"}, ["decided: must be a list, is text"]),
    ({"decided": ["on\ntwo lines"]}, ["decided[0]: must be one line of text"]),
    ({"decided": ["x" * 121]}, ["decided[0]: has 121 characters, at most 120"]),
    ({"mood": "good"}, [f"the answer: unknown key 'mood' {KNOWN}"]),
]


@pytest.mark.parametrize(("changes", "lines"), REFUSED, ids=[lines[0][:50] for _, lines in REFUSED])
def test_a_bad_report_is_refused_with_the_place_and_the_reason(
    changes: dict[str, Any], lines: list[str]
) -> None:
    assert problems_of(raw_report(**changes)) == lines


@pytest.mark.parametrize("key", KEYS.split())
def test_every_key_is_needed(key: str) -> None:
    assert problems_of(without(raw_report(), key)) == [f"the answer: '{key}' is missing"]


@pytest.mark.parametrize("address", ["localhost", "127.0.0.1", "0.0.0.0", "[::1]", "LOCALHOST"])
def test_a_live_project_is_tried_on_its_live_site(address: str) -> None:
    data = raw_report(test=["a", f"open http://{address}:8700/"])
    assert problems_of(data, LIVE) == [
        f"test[1]: names {address} (people try it on the live site, after the deploy)"
    ]
    assert not problems_of(data, EXPECT)


def test_every_problem_is_told_at_once() -> None:
    data = raw_report(result="", test=["x"], verified=[{}], extra=1, ticket="a#1")
    places = {line.partition(":")[0] for line in problems_of(data)}
    assert places == {"the answer", "result", "test", "verified[0]", "ticket"}


def test_limits_are_met_exactly() -> None:
    data = raw_report(
        result="x" * 120,
        test=["x" * 90] * 4,
        questions=[{"title": "t" * 80, "text": "a\n\nb\nc" + "x" * 294}, "y" * 300] * 20,
        decided=["d" * 120],
    )
    assert problems_of(data, LIVE) == []


def test_an_old_report_has_no_decided_and_plain_questions() -> None:
    data = raw_report(questions=["Which colour?\nred or blue", {"title": "t", "text": "u"}])
    del data["decided"]
    made = read_report(data, EXPECT, REPORT_CHECK)
    assert isinstance(made, Report)
    assert made.decided == ()
    assert made.questions == (
        Question(0, "Which colour?", "Which colour?\nred or blue"),
        Question(1, "t", "u"),
    )


def test_an_unknown_project_is_a_note_and_no_problem() -> None:
    made = report(issues=[raw_issue(), raw_issue(project="zeta")])
    assert made.issues[1] == Issue("zeta", "The sum is wrong", "Add 1 and 2", "4", "3", False)
    (note,) = notes(made, {"till"})
    assert note.startswith("issues[1].project: 'zeta' is not a known project")
    assert notes(made, {"till", "zeta"}) == ()


def test_a_schema_that_people_made_softer_gives_problems_and_no_crash() -> None:
    soft = compiled({"type": "object"}, "report.schema.json")
    for data in (raw_report(done="all"), raw_report(extra=1), {"questions": 3}, {}):
        found = read_report(data, EXPECT, soft)
        assert isinstance(found, Problems)
        assert len(found.lines) == 1


# --- the schema that a worker gets -----------------------------------------------------------


def test_a_worker_gets_the_same_schema_with_every_key_required() -> None:
    given_schema: Any = agent_schema(REPORT_SCHEMA, EXPECT)
    check = compiled(given_schema, "given")
    data = raw_report(questions=[{"title": "t", "text": "u"}])
    assert check(data) == ()
    assert check(without(data, "decided")) == ("the answer: 'decided' is missing",)
    assert check(raw_report(questions=["plain"])) == ("questions[0]: must be an object, is text",)
    assert check(raw_report(ticket="shop#4")) == ('ticket: is "shop#4", must be shop#3',)
    assert check(raw_report(session="s-1"))
    assert "$schema" not in given_schema
    assert "decided" not in REPORT_SCHEMA["required"]


def test_what_the_schema_tells_the_worker_is_what_is_checked() -> None:
    """The descriptions name the limits, so that they are known before they are broken."""
    known = REPORT_SCHEMA["properties"]
    for key, limit in (("result", 120), ("test", 90), ("decided", 120)):
        holder = known[key] if key == "result" else known[key]["items"]
        assert holder["maxLength"] == limit
        assert str(limit) in known[key]["description"]
    question = known["questions"]["items"]["properties"]
    for key, limit in (("title", 80), ("text", 300)):
        assert question[key]["maxLength"] == limit
        assert str(limit) in question[key]["description"]


@given(st.dictionaries(st.sampled_from(KEYS.split()), st.none() | st.text() | st.lists(st.text())))
def test_no_report_raises(changes: dict[str, Any]) -> None:
    read_report(raw_report(**changes), LIVE, REPORT_CHECK)


@pytest.mark.parametrize("data", [None, [], "x", 3, True, 1e308, {"test": {}}, {"questions": "x"}])
def test_f74_f79_a_report_of_any_shape_is_a_problem(data: Any) -> None:
    assert problems_of(data)
    assert isinstance(read_report(data, Expect(Ref("a", 1), "s", True), REPORT_CHECK), Problems)
