"""`colony check`, and the controller inside `work`.

| rule | test |
|---|---|
| a false claim: sent back, one comment, nothing filed | test_a_false_claim_is_sent_back |
| pass without evidence is no pass | test_a_pass_without_evidence_counts_as_a_fail |
| not checked is an answer of its own | test_not_checked_is_no_fail |
| the Nth fail asks the creator | test_the_second_fail_asks_the_creator |
| N is a setting | test_how_many_fails_are_one_too_many_is_a_setting |
| fails count over sessions, each once | same |
| no verdict: kept, and checked again by hand | test_a_report_without_a_verdict_is_checked_by_hand |
| a verdict that is there is used again | test_a_verdict_is_used_again_unless_asked |
| --again asks for a new one | same |
| posting by the verdict, again: nothing new | test_posting_twice_writes_nothing |
| not posted: the ticket stays in progress | test_a_fail_that_is_not_posted |
| what a person did since stays | test_what_a_person_did_since_stays |
| a dead lease that was given back | test_a_session_that_lost_its_ticket_takes_it_again |
| what cannot be checked | test_what_cannot_be_checked |
| a folder in use | test_a_run_folder_in_use |
| --json | test_json_says_the_same |
"""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

from colony.core.markers import Verdict, marker_of
from colony.core.ticket import Ref
from colony.host.lock import lock_file
from tests.cli.stage import (
    LIE,
    OTHER,
    Stage,
    a_cart,
    answer,
    first_words,
    moves,
    timeless,
    told,
    valid,
    verdict,
)

ONE = Ref("shop", 1)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return a_cart(tmp_path)


def last_fail(stage: Stage) -> Verdict:
    found = [marker_of(event) for event in stage.events(ONE)]
    return [each for each in found if isinstance(each, Verdict)][-1]


def test_a_false_claim_is_sent_back(stage: Stage) -> None:
    issue = {
        "project": "shop", "subject": "x", "repro": "x", "observed": "x", "expected": "x",
        "blocks": False,
    }  # fmt: skip
    lie = LIE["answer"] | {"issues": [issue], "questions": [{"title": "x", "text": "y"}]}
    stage.script(work=[{"answer": lie}])
    done = stage("work", "shop", "1", "--post")
    assert done.code == 1
    assert first_words(done)[-4:] == ["VERDICT: FAIL", "POSTED", "POSTED", "WORK FAILED"]
    assert [line for line in done.lines if line.startswith("  [false] there — ")]
    assert moves(stage) == ["progress", "open"]
    assert len(stage.rows()) == 1
    [comment] = [event.text for event in stage.events(ONE) if event.kind == "comment"]
    assert "- Not true: there" in comment
    assert comment.splitlines()[-1].startswith(f"colony-verdict: {stage.run.name} · fail · 1 of 2")
    assert json.loads((stage.run / "verdict.json").read_text())["verdict"] == "fail"
    assert stage("next").lines[0] == 'NEXT: shop#1 "A cart"'
    before = stage.store()
    again = stage("check", str(stage.run), "--post")
    assert (again.code, again.lines[-1].split(" — ")[0]) == (1, "CHECK FAILED")
    assert stage.store() == before


def test_a_pass_without_evidence_counts_as_a_fail(stage: Stage) -> None:
    stage.script(work=[answer()], check=[verdict("pass", "no evidence")])
    done = stage("work", "shop", "1", "--post")
    assert done.code == 1
    [said] = [line for line in done.lines if line.startswith("VERDICT: FAIL")]
    assert "(the controller said pass; code says fail)" in said
    assert last_fail(stage).overruled
    assert "- Not shown: " in stage.texts(ONE)
    assert stage.record()["verdict"]["overruled"] is True


def test_a_pass_that_confirms_nothing_is_a_fail(stage: Stage) -> None:
    stage.script(work=[answer()], check=[verdict("pass", "not checked")])
    done = stage("work", "shop", "1", "--post")
    assert done.code == 1
    assert "VERDICT: FAIL (the controller said pass; code says fail)" in done.out
    assert "the check confirmed nothing" in "".join(stage.texts(ONE))


def test_the_second_fail_asks_the_creator(stage: Stage) -> None:
    stage.script(work=[LIE])
    assert stage("work", "shop", "1", "--post").code == 1
    done = stage("work", "shop", "1", "--post")
    assert (done.code, done.lines[-1]) == (
        1, "WORK FAILED — shop#1 failed its check, its creator is asked: shop#2",
    )  # fmt: skip
    assert moves(stage) == ["progress", "open", "progress", "pending"]
    question = stage.row(Ref("shop", 2))
    assert question.subject.startswith("Question (shop#1): ")
    assert (question.state, question.parent and question.parent.ref) == ("pending", ONE)
    assert question.source == f"colony-verdict:{last_fail(stage).session}:question"
    assert "shop#2" in stage.texts(ONE)
    assert (last_fail(stage).fail, last_fail(stage).limit) == (2, 2)
    waits = stage("next")
    assert waits.lines[0] == "NEXT: nothing to do"
    assert 'shop#1 "A cart" — waits for the answer on shop#2' in waits.out
    assert stage("work", "shop", "1").code == 3


def test_how_many_fails_are_one_too_many_is_a_setting(stage: Stage) -> None:
    stage.script(work=[LIE])
    assert stage("work", "shop", "1", "--post", "--max-fails", "1").code == 1
    assert moves(stage) == ["progress", "pending"]
    assert (last_fail(stage).fail, last_fail(stage).limit) == (1, 1)


def stopped_after(stage: Stage, words: str) -> str:
    """`work`, stopped once it has said `words`; all that it said."""
    running = stage.start("work", "shop", "1", "--post")
    assert running.stdout is not None
    seen = []
    for line in running.stdout:
        seen.append(line)
        if line.startswith(words):
            break
    running.terminate()
    out, err = running.communicate(timeout=30)
    assert running.returncode == 0, seen
    return "".join(seen) + out + err


def test_a_report_without_a_verdict_is_checked_by_hand(stage: Stage) -> None:
    """The controller says nothing; while `work` waits to ask once more it is stopped."""
    stage.script(work=[answer()], check=[{"say": "hm"}])
    said = stopped_after(stage, "CONTROLLER USAGE:")
    assert "ended: no report" in said
    assert moves(stage) == ["progress"]
    stage.script(check=[{"recheck": True}])
    done = stage("check", f"runs/{stage.run.name}", "--post")
    assert done.code == 0
    assert first_words(done) == [
        "controller: PART", "CONTROLLER USAGE:", "VERDICT: PASS", "POSTED", "POSTED", "CHECK DONE",
    ]  # fmt: skip
    assert moves(stage) == ["progress", "review"]


def test_a_verdict_is_used_again_unless_asked(stage: Stage) -> None:
    stage("work", "shop", "1")
    parts = len(stage.record()["parts"])
    kept = stage("check", stage.run.name)
    assert (kept.code, first_words(kept)) == (0, ["VERDICT: PASS", "CHECK OK"])
    assert kept.lines[-1].endswith(f"NOT posted: colony check runs/{stage.run.name} --post")
    assert len(stage.record()["parts"]) == parts
    stage.script(check=[verdict("fail", "false")])
    anew = stage("check", stage.run.name, "--again")
    assert anew.code == 1
    assert first_words(anew)[-2:] == ["VERDICT: FAIL", "CHECK OK"]
    assert "controller: fail, NOT posted" in anew.lines[-1]
    assert len(stage.record()["parts"]) == parts + 1
    assert moves(stage) == ["progress"]


def test_posting_twice_writes_nothing(stage: Stage) -> None:
    stage("work", "shop", "1")
    first = stage("check", str(stage.run), "--post")
    assert first_words(first) == ["VERDICT: PASS", "POSTED", "POSTED", "CHECK DONE"]
    before = stage.store()
    again = stage("check", str(stage.run), "--post")
    assert (again.code, first_words(again)) == (0, ["CHECK DONE"])
    refused = stage("check", str(stage.run), "--post", "--again")
    assert (refused.code, first_words(refused)) == (3, ["check: REFUSED"])
    assert stage.store() == before


def test_a_fail_that_is_not_posted(stage: Stage) -> None:
    stage.script(work=[LIE])
    done = stage("work", "shop", "1")
    assert done.code == 1
    assert "controller: fail, NOT posted" in done.lines[-1]
    assert moves(stage) == ["progress"]
    posted = stage("check", str(stage.run), "--post")
    assert (posted.code, first_words(posted)[-1]) == (1, "CHECK FAILED")
    assert moves(stage) == ["progress", "open"]


@pytest.mark.parametrize("state", ["pending", "done", "canceled"])
def test_what_a_person_did_since_stays(stage: Stage, state: str) -> None:
    stage("work", "shop", "1")
    stage.move(ONE, state)  # type: ignore[arg-type]
    done = stage("check", str(stage.run), "--post")
    assert done.code == 0
    assert done.lines[-1].endswith(
        "was moved by a person and stays so; the outcome is in a comment"
    )
    assert moves(stage) == ["progress", state]
    assert "controller pass" in stage.texts(ONE)


def test_a_session_that_lost_its_ticket_takes_it_again(stage: Stage) -> None:
    """Its lease was given back; nobody else has the ticket: the result is still worth posting."""
    stage("work", "shop", "1")
    stage.now_ms = int(time.time() * 1000)
    stage.move(ONE, "open")
    done = stage("check", str(stage.run), "--post")
    assert (done.code, first_words(done)[-1]) == (0, "CHECK DONE")
    assert moves(stage) == ["progress", "open", "progress", "review"]


def test_a_ticket_that_another_session_has_is_left_to_it(stage: Stage) -> None:
    stage("work", "shop", "1")
    stage.now_ms = int(time.time() * 1000)
    stage.move(ONE, "open")
    stage.lease(ONE, stage.now_ms + 10**7, OTHER)
    before = stage.store()
    done = stage("check", str(stage.run), "--post")
    assert done.lines[-1].startswith(("check: REFUSED", "CHECK FAILED"))
    assert moves(stage) == ["progress", "open", "progress"]
    assert stage.store() == before, done


def test_what_cannot_be_checked(stage: Stage) -> None:
    def refused(folder: Path | str, code: int = 3) -> str:
        before = stage.store()
        done = stage("check", str(folder), "--post")
        assert (done.code, first_words(done)) == (code, ["check: REFUSED"])
        assert stage.store() == before
        return done.lines[-1]

    assert "is no run folder" in refused("nowhere")
    assert "is no run folder" in refused(stage.cwd)
    assert "is no run folder" in refused(stage.database)
    stage.script(work=[{"say": "nothing"}])
    stage("work", "shop", "1")
    assert "has no valid report to check" in refused(stage.run)
    copy = stage.home / "runs" / OTHER
    shutil.copytree(stage.run, copy)
    assert "a run folder keeps its name" in refused(copy)
    for text in ("", "{", "[" * 10_000, '{"version": 99}', "null", '{"session": NaN}'):
        (copy / "session.json").write_text(text)
        assert OTHER in refused(copy)
    (copy / "session.json").unlink()
    (copy / "session.json").symlink_to("/etc/passwd")
    assert "root:" not in refused(copy)


def test_a_report_that_was_changed_is_not_taken(stage: Stage) -> None:
    stage("work", "shop", "1")
    (stage.run / "report.json").write_text(json.dumps(LIE["answer"]))
    before = stage.store()
    done = stage("check", str(stage.run), "--post")
    assert (done.code, first_words(done)) == (3, ["check: REFUSED"])
    assert stage.store() == before


def test_a_run_folder_in_use(stage: Stage) -> None:
    stage("work", "shop", "1")
    with lock_file(stage.run / "lock", "the test"):
        done = stage("check", str(stage.run), "--post")
    assert (done.code, first_words(done)) == (5, ["check: REFUSED"])
    assert moves(stage) == ["progress"]


def test_json_says_the_same(stage: Stage) -> None:
    stage("work", "shop", "1")
    text = stage("check", str(stage.run), "--again")
    objects = [
        each
        for each in valid(stage("check", str(stage.run), "--again", "--json"))
        if each["kind"] != "warning"
    ]
    assert timeless(told(objects)) == timeless(text.lines)
    assert {each["session"] for each in objects} == {stage.run.name}
    assert (objects[-1]["kind"], objects[-1]["phase"]) == ("check.ok", "judged")
    [refused] = [each for each in valid(stage("check", "nowhere", "--json")) if "code" in each]
    assert (refused["kind"], refused["code"]) == ("check.refused", "refused")


def test_what_was_posted_long_ago_is_told_as_it_is_now(stage: Stage) -> None:
    assert stage("work", "shop", "1", "--post").code == 0
    again = ("check", f"runs/{stage.run.name}", "--post")
    assert stage(*again).lines[-1] == "CHECK DONE — shop#1 is in review: its creator can try it"
    stage.move(ONE, "reopened")
    assert stage(*again).lines[-1] == "CHECK DONE — shop#1 posted earlier; shop#1 is reopened since"
