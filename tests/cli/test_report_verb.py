"""`colony report`.

| rule | test |
|---|---|
| every problem is told with its place | test_every_problem_is_told_with_its_place |
| keys: all of them, no other, at any level | same: missing, unknown |
| kinds: text, list, true or false, a whole number | same: kinds |
| lengths: result 120, 2 to 4 steps of 90, questions, decided | same: lengths |
| steps never name a work copy; nor this machine on a live site | same: steps, live |
| `decided` may be missing, old questions are texts | test_older_reports_are_still_good |
| an unknown project is a note | test_a_problem_of_an_unknown_project_is_a_note |
| not complete is said | test_half_of_the_work_is_a_valid_report |
| what is no report at all | test_what_is_no_report_at_all |
| without --post the tracker is not needed | test_without_post_no_tracker_is_needed |
| --post needs --unchecked | test_posting_needs_a_second_word |
| comment, issues, questions, blocker, state; sources | test_a_report_is_posted |
| again: nothing new; another one: refused | test_again_it_is_there_and_another_one_is_refused |
| half done goes back to open, no steps | test_half_done_goes_back_to_open |
| on a live site it waits for the deploy | test_on_a_live_site_it_waits_for_the_deploy |
| a ticket that moved on stays where it is | test_a_ticket_that_moved_on_gets_a_comment_only |
| unknown ticket, leased by another | test_what_cannot_be_posted |
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from colony.core.lease import lease_of
from colony.core.ticket import Ref
from tests.cli.stage import OTHER, SESSION, Stage, make_stage, told, valid
from tests.core.reports import raw_issue, raw_report

ONE = Ref("shop", 1)
ISSUE = raw_issue(project="shop", subject="The sum is wrong")
QUESTION = {"title": "Which red?", "text": "The dark one or the light one?"}


def report(**changes: Any) -> dict[str, Any]:
    return raw_report(ticket="shop#1", session=SESSION) | changes


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """Two projects, one with a live site, and no tracker at all."""
    stage = make_stage(tmp_path_factory.mktemp("report"))
    stage.register("shop")
    stage.register("site", live={"url": "https://shop.example"})
    return stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = make_stage(tmp_path)
    stage.register("shop")
    stage.ticket(subject="One")
    return stage


def write(stage: Stage, value: Any, name: str = "report.json") -> str:
    (stage.cwd / name).write_text(value if isinstance(value, str) else json.dumps(value))
    return name


LINE = "must be one line of text"
BAD = {
    "missing": (
        {"ticket": "shop#1", "session": SESSION, "verified": [{"claim": "x", "command": "y"}],
         "issues": [{}], "questions": [{"title": "x"}], "running": [{}]},
        [
            *(f"the answer: '{key}' is missing"
              for key in ("result", "complete", "test", "done", "open", "refused")),
            "verified[0]: 'output' is missing (every verified entry needs command AND output)",
            *(f"issues[0]: '{key}' is missing"
              for key in ("project", "subject", "repro", "observed", "expected", "blocks")),
            "questions[0]: 'text' is missing",
            *(f"running[0]: '{key}' is missing" for key in ("what", "url", "pid", "log")),
        ],
    ),
    "unknown": (
        report(reslut="x", verified=[{"claim": "x", "command": "y", "output": "z", "when": "now"}],
               issues=[ISSUE | {"blokcs": True}], questions=[QUESTION | {"by": "me"}]),
        ["the answer: unknown key 'reslut'", "verified[0]: unknown key 'when'",
         "issues[0]: unknown key 'blokcs'", "questions[0]: unknown key 'by'"],
    ),
    "kinds": (
        report(complete="yes", done=None, verified={}, open=[7], refused=[" "],
               issues=[ISSUE | {"blocks": "no"}], decided="none",
               running=[{"what": "x", "url": "y", "pid": "1", "log": "z"},
                        {"what": "x", "url": "y", "pid": 0, "log": "z"}]),
        ["complete: must be true or false", "done: must be a list", "verified: must be a list",
         "open[0]: must be text", "refused[0]: ", "issues[0].blocks: must be true or false",
         "running[0].pid: must be a whole number", "running[1].pid: ", "decided: must be a list"],
    ),
    "lengths": (
        report(result="x" * 121, test=["x" * 91, "ok", "ok", "ok", "ok"], decided=["x" * 121],
               issues=[ISSUE | {"subject": "x" * 201}],
               questions=[{"title": "x" * 81, "text": "a\nb\nc\nd"},
                          {"title": "x", "text": "x" * 301}, "x" * 301, "a\nb\nc\nd"]),
        ["result: ", "test: ", "test[0]: ", "decided[0]: ", "issues[0].subject: ",
         "questions[0].title: ", "questions[0].text: has 4 lines, at most 3",
         "questions[1].text: ", "questions[2]: ", "questions[3]: has 4 lines, at most 3"],
    ),
    "lines": (
        report(result="one\ntwo", test=["one\u2028two", "ok"], decided=["one\rtwo"]),
        [f"result: {LINE}", f"test[0]: {LINE}", f"decided[0]: {LINE}"],
    ),
    "steps": (
        report(test=["Open .scratch/shop."]),
        ["test: ", "test[0]: names .scratch"],
    ),
    "live": (
        report(ticket="site#1", test=["Open http://localhost:8700.", "See 127.0.0.1."]),
        ["test[0]: names localhost", "test[1]: names 127.0.0.1"],
    ),
    "names": (
        report(ticket="no ticket", session="no session"),
        ["ticket: "],
    ),
    "session": (report(session="../../x"), ["session: ../../x is no session's name"]),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_every_problem_is_told_with_its_place(desk: Stage, name: str) -> None:
    value, problems = BAD[name]
    file = write(desk, value, f"{name}.json")
    done = desk("report", file)
    assert done.code == 1
    head, *lines = done.lines
    assert head == f"REPORT REFUSED {desk.cwd}/{file}: {len(lines)} problem(s)"
    for problem in problems:
        assert [line for line in lines if line.startswith(f"  {problem}")], problem
    assert len(lines) == len(problems), lines


def test_json_says_the_same(desk: Stage) -> None:
    file = write(desk, BAD["kinds"][0], "kinds.json")
    objects = valid(desk("report", file, "--json"))
    assert told(objects) == desk("report", file).lines
    assert objects[0]["problems"] == len(objects) - 1 == 9


def test_a_good_report(desk: Stage) -> None:
    done = desk("report", write(desk, report(), "good.json"))
    assert (done.code, done.lines) == (0, [f"REPORT OK shop#1 {SESSION}"])


def test_older_reports_are_still_good(desk: Stage) -> None:
    old = report(questions=["Which red?\nThe dark one?"])
    del old["decided"]
    assert desk("report", write(desk, old, "old.json")).code == 0


def test_half_of_the_work_is_a_valid_report(desk: Stage) -> None:
    done = desk("report", write(desk, report(complete=False), "half.json"))
    assert (done.code, done.lines) == (0, [f"REPORT OK shop#1 {SESSION}, NOT complete"])


def test_a_problem_of_an_unknown_project_is_a_note(desk: Stage) -> None:
    file = write(desk, report(issues=[ISSUE | {"project": "\x1b[31mzeta"}]), "note.json")
    done = desk("report", file)
    assert done.code == 0
    assert done.lines[1].startswith("  note: issues[0].project: '\\x1b[31mzeta' is not a known")


@pytest.mark.parametrize(
    ("text", "told_of"),
    [
        ("", "the answer: is not JSON"),
        ("{", "the answer: is not JSON"),
        ("[]", "the answer: must be an object"),
        ("null", "the answer: must be an object"),
        ("[" * 100_000, "inside each other"),
        ('{"result": NaN}', "NaN is no JSON number"),
        ('{"a": 1, "a": 2}', "the key 'a' stands twice"),
        ('{"result": "\\ud800"}', "result: holds half a character"),
        ('{"result": ' + "9" * 5000 + "}", "too many digits"),
        ('"' + "x" * 1_100_000 + '"', "at most"),
        ("\x00\x01\x02", "the answer: is not JSON"),
    ],
)  # fmt: skip
def test_what_is_no_report_at_all(desk: Stage, text: str, told_of: str) -> None:
    done = desk("report", write(desk, text, "none.json"))
    assert done.code == 1
    assert done.lines[0].startswith("REPORT REFUSED ")
    assert told_of in done.lines[1]
    assert max(map(len, done.lines)) < 400


def test_files_that_are_none(desk: Stage) -> None:
    (desk.cwd / "latin.json").write_bytes(b'{"result": "gr\xfcn"}')
    assert desk("report", "latin.json").code == 1
    for name in ("nowhere.json", ".", "/dev/zero"):
        done = desk("report", name)
        assert (done.code, done.out) == (3, "")
        assert done.error.startswith("ERROR /")
    (desk.cwd / "huge.json").write_bytes(b" " * (4 * 1024 * 1024 + 1))
    assert "larger than" in desk("report", "huge.json").error


def test_without_post_no_tracker_is_needed(desk: Stage) -> None:
    assert desk("report", write(desk, report(), "good.json")).code == 0
    assert not desk.database.exists()


def test_posting_needs_a_second_word(stage: Stage) -> None:
    before = stage.store()
    done = stage("report", write(stage, report()), "--post")
    assert (done.code, done.out) == (2, "")
    assert "--unchecked" in done.error
    assert stage.store() == before


def test_a_report_is_posted(stage: Stage) -> None:
    file = write(
        stage,
        report(
            issues=[ISSUE | {"blocks": True}, ISSUE | {"project": "zeta"}],
            questions=[QUESTION, QUESTION | {"title": "Or blue?"}],
            decided=["Wheels are round"],
        ),
    )
    done = stage("report", file, "--post", "--unchecked")
    assert done.code == 0
    assert done.lines[-1] == "POSTED shop#1 moved to review"
    assert len([line for line in done.lines if line.startswith("POSTED ")]) == 7
    sources = {ticket.source: ticket for ticket in stage.rows() if ticket.source}
    prefix = f"colony-report:{SESSION}"
    assert set(sources) == {
        f"{prefix}:issue:0", f"{prefix}:question:1", f"{prefix}:questions:0",
        f"{prefix}:questions:1",
    }  # fmt: skip
    issue = sources.pop(f"{prefix}:issue:0")
    assert (issue.subject, issue.state) == ("The sum is wrong", "open")
    for question in sources.values():
        assert (question.state, question.parent and question.parent.ref) == ("pending", ONE)
        assert question.subject.startswith("Question (shop#1): ")
    one = stage.row(ONE)
    assert (one.state, [each.ref for each in one.blocked_by]) == ("review", [issue.ref])
    [comment] = [event.text for event in stage.events(ONE) if event.kind == "comment"]
    assert comment.startswith("Posted by hand, not checked: ")
    for part in ("**Test:**\n1. ", f"- Questions for you: {sources[f'{prefix}:question:1'].ref}"):
        assert part in comment
    machine = comment.splitlines()[-1]
    assert machine.startswith(f"colony-report: {SESSION} · sha256 ")
    assert "controller pass" not in machine
    assert "unchecked" in machine


def test_again_it_is_there_and_another_one_is_refused(stage: Stage) -> None:
    file = write(stage, report(issues=[ISSUE], questions=[QUESTION]))
    stage("report", file, "--post", "--unchecked")
    before = stage.store()
    again = stage("report", file, "--post", "--unchecked")
    assert again.code == 0
    assert again.lines[1].startswith("HAVE ")
    other = write(stage, report(result="Something else."), "other.json")
    refused = stage("report", other, "--post", "--unchecked")
    assert refused.code == 3
    assert refused.lines[-1].startswith("POST REFUSED — ")
    [_, line] = valid(stage("report", other, "--post", "--unchecked", "--json"))
    assert (line["kind"], line["ticket"]) == ("post.refused", "shop#1")
    assert stage.store() == before


def test_half_done_goes_back_to_open(stage: Stage) -> None:
    file = write(stage, report(complete=False, open=["the wheels"]))
    done = stage("report", file, "--post", "--unchecked")
    assert done.lines[-1] == "POSTED shop#1 moved to open"
    assert stage.row(ONE).state == "open"
    [comment] = [event.text for event in stage.events(ONE) if event.kind == "comment"]
    assert "**Test:**" not in comment
    assert "- Left to do: the wheels" in comment
    assert "half done" in comment.splitlines()[-1]


def test_on_a_live_site_it_waits_for_the_deploy(stage: Stage) -> None:
    stage.register("site", live={"url": "https://shop.example"})
    site = stage.ticket("site")
    file = write(stage, report(ticket="site#1"))
    done = stage("report", file, "--post", "--unchecked")
    assert done.code == 0
    assert stage.row(site).state == "progress"
    assert "ready to deploy" in stage.texts(site)
    held = lease_of(stage.events(site))
    assert getattr(held, "kind", None) == "ready"
    assert 'site#1 "A cart" — built, waits for the deploy' in stage("next").out
    assert "never expires" in stage("leases", "--expire").out
    assert stage.row(site).state == "progress"


@pytest.mark.parametrize("state", ["review", "pending", "done", "canceled"])
def test_a_ticket_that_moved_on_gets_a_comment_only(
    stage: Stage, state: Any, request: pytest.FixtureRequest
) -> None:
    stage.move(ONE, state)
    done = stage("report", write(stage, report()), "--post", "--unchecked")
    assert done.code == 0
    assert [line for line in done.lines if line.startswith("POSTED")] == [
        "POSTED comment on shop#1"
    ]
    assert stage.row(ONE).state == state
    assert SESSION in stage.texts(ONE)


def _unknown(stage: Stage) -> dict[str, Any]:
    return report(ticket="shop#9")


def _leased(stage: Stage) -> dict[str, Any]:
    stage.lease(ONE, stage.now_ms * 2, OTHER)
    return report()


@pytest.mark.parametrize(
    ("make", "words", "code"),
    [(_unknown, "POST REFUSED — ", 3), (_leased, "POST FAILED — shop#1 is leased by", 5)],
)
def test_what_cannot_be_posted(
    stage: Stage, make: Callable[[Stage], dict[str, Any]], words: str, code: int
) -> None:
    file = write(stage, make(stage))
    before = stage.store()
    done = stage("report", file, "--post", "--unchecked")
    assert done.code == code
    assert done.lines[-1].startswith(words)
    assert stage.store() == before


def test_posting_where_there_is_no_tracker(desk: Stage) -> None:
    done = desk("report", write(desk, report(), "good.json"), "--post", "--unchecked")
    assert done.code == 4
    assert not desk.database.exists()
