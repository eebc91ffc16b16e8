"""Mission 027, through the public commands: limits of texts, conventions, and the deploy gate.

| rule | test |
|---|---|
| what a report may not be | test_mission_027_what_is_refused |
| `decided` may be missing, questions are not counted | test_mission_027_what_is_taken |
| the brief: conventions, the project's tickets, where people try it | test_mission_027_the_brief |
| steps are numbered, choices are one bullet | test_mission_027_steps_are_numbered |
| no live site: review at once | test_mission_027_without_a_live_site_it_is_tried_at_once |
| built: one comment, stays in progress | test_mission_027_built_waits_for_the_deploy |
| from open and reopened, too | test_mission_027_from_a_state_before |
| `next`, `leases`, `ready` say that it waits | test_mission_027_who_says_that_it_waits |
| its lease never expires | test_mission_027_a_lease_long_past |
| what voids it | test_mission_027_what_takes_it_away |
| `ready` reads only | test_mission_027_looking_writes_nothing |
| `deployed`: comment, then review | test_mission_027_it_has_gone_live |
| what the check ruled holds | test_mission_027_a_question_that_the_check_answered |
| again: HAVE, nothing written | test_mission_027_again_there_is_nothing_new |
| half of it is completed, never expired | test_mission_027_half_of_it_is_completed |
| refused, nothing written | test_mission_027_what_cannot_be_deployed |
| another host, by the session's row | test_mission_027_from_another_host |
| posted by hand, by its row | test_mission_027_posted_by_hand |
| --json | test_mission_027_json_says_the_same |

The one fix step of this mission (a refused report is given back to its own session once) comes
with the parts that resume a session, and is tested there.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from colony.core.ticket import Ref
from tests.cli.stage import (
    OTHER,
    SESSION,
    Stage,
    answer,
    first_words,
    make_stage,
    moves,
    timeless,
    told,
    valid,
    verdict,
)
from tests.core.reports import raw_report

SITE = Ref("site", 1)
URL = "https://shop.example"
ASKED = [{"title": "Which red?", "text": "Dark or light?"}, {"title": "A bell?", "text": "One?"}]
ISSUE = {
    "project": "till", "subject": "The sum is wrong", "repro": "1 + 2", "observed": "4",
    "expected": "3", "blocks": False,
}  # fmt: skip
RULINGS = [
    {"index": 0, "ruling": "ask", "reason": "a matter of taste", "answer": ""},
    {"index": 1, "ruling": "decided", "reason": "the concept says so", "answer": "no bell"},
]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return opened(tmp_path)


def opened(folder: Path) -> Stage:
    """`site#1` on a project with a live site, and a project `till` beside it."""
    stage = make_stage(folder)
    stage.register("site", live={"url": URL}, deploy="make deploy\nthen look")
    stage.register("till")
    stage.ticket("site")
    return stage


@pytest.fixture(scope="module")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    stage = opened(folder)
    stage.script(
        work=[answer(questions=ASKED, issues=[ISSUE], decided=["Wheels are round"])],
        check=[verdict("pass", "ok", questions=RULINGS)],
    )
    done = stage("work", "site", "1", "--post")
    assert done.code == 0, done
    assert done.lines[-1] == "WORK DONE — site#1 is built, waits for the deploy"
    return folder


@pytest.fixture
def built(built_once: Path, tmp_path: Path) -> Stage:
    """`site#1` is built by a session that was worked and checked; a copy for each test."""
    folder = tmp_path / "copy"
    shutil.copytree(built_once, folder)
    home, cwd = folder / "home", folder / "work"
    fresh = make_stage(_empty(tmp_path / "other"))
    environ = fresh.environ | {
        "HOME": str(folder),
        "COLONY_HOME": str(home),
        "COLONY_STAND_IN_SCRIPT": str(home / "script.json"),
    }
    return Stage(cwd, home, environ)


def _empty(folder: Path) -> Path:
    folder.mkdir()
    return folder


def comments(stage: Stage, ref: Ref = SITE) -> list[str]:
    return [each.text for each in stage.events(ref) if each.kind == "comment" and each.machine]


def write(stage: Stage, ticket: Ref = SITE, **changes: Any) -> str:
    report = raw_report(ticket=str(ticket), session=SESSION) | changes
    (stage.cwd / "report.json").write_text(json.dumps(report))
    return "report.json"


# --- limits -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """No test writes into it."""
    return opened(tmp_path_factory.mktemp("limits"))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"result": "x" * 121}, "result: "),
        ({"test": ["Look."]}, "test: "),
        ({"test": ["Look."] * 5}, "test: "),
        ({"test": ["x" * 91, "Look."]}, "test[0]: "),
        ({"test": ["Open .scratch/x.", "Look."]}, "test[0]: names .scratch"),
        ({"test": ["Open http://127.0.0.1:8700.", "Look."]}, "test[0]: names 127.0.0.1"),
        ({"test": ["Look.", "Open localhost."]}, "test[1]: names localhost"),
        ({"questions": [{"title": "x", "text": "a\nb\nc\nd"}]}, "questions[0].text: has 4 lines"),
        ({"questions": ["x" * 301]}, "questions[0]: "),
        ({"decided": ["one\ntwo"]}, "decided[0]: "),
        ({"decided": ["x" * 121]}, "decided[0]: "),
        ({"decided": "none"}, "decided: must be a list"),
    ],
)
def test_mission_027_what_is_refused(desk: Stage, changes: dict[str, Any], problem: str) -> None:
    done = desk("report", write(desk, **changes))
    assert done.code == 1
    assert done.lines[0].endswith(": 1 problem(s)")
    assert done.lines[1].startswith(f"  {problem}")


def test_mission_027_what_is_taken(desk: Stage) -> None:
    report = raw_report(ticket="site#1", session=SESSION, result="x" * 120)
    report |= {"test": ["y" * 90] * 4, "questions": ["z" * 300] * 7}
    del report["decided"]
    (desk.cwd / "old.json").write_text(json.dumps(report))
    assert desk("report", "old.json").lines == [f"REPORT OK site#1 {SESSION}"]


def test_mission_027_the_brief(stage: Stage) -> None:
    second = stage.ticket("site", "The second one")
    stage.ticket("site", "The third one")
    stage.ticket("till", "Something else")
    text = stage("brief", "site", "1", "--out", "-").out
    order = [
        text.index(head)
        for head in (
            "## Read first",
            "## Conventions: already decided, not to be asked about",
            "## Tickets of site: decisions may already be there",
            "The third one",
            "The second one",
        )
    ]
    assert order == sorted(order), "newest first"
    conventions = (Path(__file__).parents[2] / "templates/conventions.md").read_text()
    assert conventions.split("-->")[1].strip() in text
    assert "Something else" not in text
    assert URL in text
    for limit in ("120", "90", "decided"):
        assert limit in text
    stage.move(second, "done")
    assert "The second one" in stage("brief", "site", "1", "--out", "-").out, "whatever its state"


# --- built ------------------------------------------------------------------------------------


def test_mission_027_steps_are_numbered(stage: Stage) -> None:
    till = stage.ticket("till")
    stage.script(work=[answer(decided=["a", "b"])])
    assert stage("work", "till", "1", "--post").code == 0
    [comment] = comments(stage, till)
    assert "**Test:**\n1. Open the shop.\n2. See the cart.\n\n- Decided: a; b\n" in comment


def test_mission_027_without_a_live_site_it_is_tried_at_once(stage: Stage) -> None:
    till = stage.ticket("till")
    done = stage("work", "till", "1", "--post")
    assert done.code == 0
    assert moves(stage, till) == ["progress", "review"]
    assert "ready to deploy" not in stage.texts(till)


def test_mission_027_built_waits_for_the_deploy(built: Stage) -> None:
    assert moves(built, SITE) == ["progress"]
    [comment] = comments(built)
    head, price, machine = comment.split("\n\n")
    assert (head.startswith("Built."), len(head.splitlines())) == (True, 1)
    assert re.fullmatch(r"\$0\.0\d · 2 sessions", price)
    assert machine.startswith(f"colony-report: {built.run.name} · sha256 ")
    assert "· controller pass · ready to deploy" in machine
    assert "**Test:**" not in comment, "nothing to try before the deploy"
    questions = [each for each in built.rows("site") if each.source]
    assert [each.subject for each in questions] == ["Question (site#1): Which red?"]
    assert [each.subject for each in built.rows("till")] == ["The sum is wrong"]


@pytest.mark.parametrize("state", ["open", "reopened"])
def test_mission_027_from_a_state_before(stage: Stage, state: Any) -> None:
    if state == "reopened":
        stage.move(SITE, "reopened", "Not yet.")
    done = stage("report", write(stage), "--post", "--unchecked")
    assert done.code == 0
    assert stage.row(SITE).state == "progress"
    assert moves(stage, SITE)[-1] == "progress"
    assert "READY site#1" in stage("ready").out


def test_mission_027_who_says_that_it_waits(built: Stage) -> None:
    session = built.run.name
    assert f'site#1 "A cart" — built, waits for the deploy (session {session})' in (
        built("next").out
    )
    before = built.store()
    expired = built("leases", "--expire")
    assert expired.lines == [
        f"LEASE site#1 — built, waits for the deploy (session {session} on here): never expires",
        "LEASES: 1 in progress, 0 dead",
    ]
    assert built("ready").lines == [
        f'READY site#1 "A cart" — built by session {session} · live {URL} · deploy: make deploy'
        " then look · after the deploy: colony deployed site 1",
        "READY: 1 ticket waiting for a deploy",
    ]
    assert built.store() == before


def test_mission_027_looking_writes_nothing(stage: Stage) -> None:
    before = stage.store()
    assert stage("ready").lines == ["READY: 0 tickets waiting for a deploy"]
    assert valid(stage("ready", "--json")) == [
        {"kind": "ready", "text": "0 tickets waiting for a deploy", "count": 0}
    ]
    assert stage.store() == before


def test_mission_027_a_registry_that_does_not_know_the_project(built: Stage) -> None:
    (built.home / "projects/site.json").unlink()
    [row, _] = built("ready").lines
    assert row.endswith(
        f"built by session {built.run.name} · after the deploy: colony deployed site 1"
    )
    done = built("deployed", "site", "1")
    assert (done.code, done.lines[-1]) == (
        0,
        f"DEPLOYED — site#1 (session {built.run.name}, live)",
    )
    assert comments(built)[-1].startswith("Live now: There is a cart now.")


def _taken(stage: Stage) -> None:
    stage.move(SITE, "open")
    stage.lease(SITE, stage.now_ms * 2, OTHER)


VOID: dict[str, Callable[[Stage], None]] = {
    "a move": lambda stage: stage.move(SITE, "pending"),
    "back to open": lambda stage: stage.move(SITE, "open"),
    "another session": _taken,
}


@pytest.mark.parametrize("name", VOID)
def test_mission_027_what_takes_it_away(built: Stage, name: str) -> None:
    VOID[name](built)
    before = built.store()
    assert built("ready").lines == ["READY: 0 tickets waiting for a deploy"]
    done = built("deployed", "site", "1")
    assert done.code == 3
    assert done.lines[-1].startswith("deployed: REFUSED — site#1 waits for no deploy: ")
    assert built.store() == before


# --- deployed ---------------------------------------------------------------------------------


def test_mission_027_it_has_gone_live(built: Stage) -> None:
    session = built.run.name
    sha256 = built.record()["report"]["sha256"]
    done = built("deployed", "site", "1")
    assert (done.code, done.err) == (0, "")
    assert done.lines == [
        "POSTED comment on site#1",
        "POSTED site#1 moved to review",
        f"DEPLOYED — site#1 (session {session}, live on {URL})",
    ]
    assert comments(built)[-1] == (
        f"Live now on {URL}: There is a cart now.\n\n"
        "**Test:**\n1. Open the shop.\n2. See the cart.\n\n"
        "- A question for you: site#2\n"
        "- Found elsewhere: till#1\n"
        "- Decided: Wheels are round; A bell? — no bell\n\n"
        f"colony-deployed: {session} · sha256 {sha256[:12]}"
    )
    assert moves(built, SITE) == ["progress", "review"]
    last = built.events(SITE)[-1]
    assert (last.machine, last.author, "\n" in last.text) == (True, "colony", False)
    assert built("ready").lines == ["READY: 0 tickets waiting for a deploy"]
    assert "in all: 1 open, 1 review, 1 pending" in built("next").out


def test_mission_027_a_question_that_the_check_answered(built: Stage) -> None:
    """Without its verdict the report would still ask for the bell."""
    built("ticket", "answer", "site", "2", "The dark one.")
    built.move(Ref("site", 2), "done")
    built("deployed", "site", "1")
    text = comments(built)[-1]
    assert "question" not in text, "the one that was asked is answered by now"
    assert "- Decided: Wheels are round; A bell? — no bell\n" in text


def test_mission_027_again_there_is_nothing_new(built: Stage) -> None:
    built("deployed", "site", "1")
    before = built.store()
    again = built("deployed", "site", "1")
    assert again.code == 0
    assert again.lines == [
        "HAVE comment on site#1",
        f"DEPLOYED — site#1 (session {built.run.name}, live on {URL}): nothing new",
    ]
    assert built.store() == before
    built.move(SITE, "done")
    before = built.store()
    assert built("deployed", "site", "1").lines == again.lines, "accepted meanwhile"
    assert built.store() == before


READY = (
    f"Built.\n\ncolony-report: {SESSION} · sha256 0123456789ab · controller pass · ready to deploy"
)
LIVE = f"Live now.\n\ncolony-deployed: {SESSION} · sha256 0123456789ab"


def test_mission_027_a_lease_long_past(stage: Stage) -> None:
    stage.lease(SITE, stage.now_ms + 5000)
    stage.comment(SITE, READY, "colony", machine=True)
    before = stage.store()
    expired = stage("leases", "--expire")
    assert expired.lines[0].endswith("never expires")
    assert expired.lines[-1] == "LEASES: 1 in progress, 0 dead"
    assert stage.store() == before


def test_mission_027_half_of_it_is_completed(stage: Stage) -> None:
    """The comment is there, the state is not: for an instant, or because the script was killed.
    The lease under it is long past its time."""
    built, session = stage, SESSION
    stage.lease(SITE, stage.now_ms + 5000)
    stage.comment(SITE, READY, "colony", machine=True)
    stage.comment(SITE, LIVE, "colony", machine=True)
    before = built.store()
    expired = built("leases", "--expire")
    assert expired.lines == [
        f"LEASE site#1 — the lease of session {session} has ended (deployed): never expires;"
        " colony deployed site 1 moves it on",
        "LEASES: 1 in progress, 0 dead",
    ]
    assert f"the lease of session {session} has ended: deployed" in built("next").out
    assert built("ready").lines == ["READY: 0 tickets waiting for a deploy"]
    assert built.store() == before
    done = built("deployed", "site", "1")
    assert (done.code, done.lines) == (
        0,
        [
            "HAVE comment on site#1",
            "POSTED site#1 moved to review",
            f"DEPLOYED — site#1 (session {session}, live on {URL})",
        ],
    )
    assert (built.row(SITE).state, len(comments(built))) == ("review", 2)


def test_mission_027_what_cannot_be_deployed(stage: Stage) -> None:
    lost = stage.ticket("site", "Built by a session that nobody knows")
    stage.lease(lost, stage.now_ms + 5000)
    stage.comment(lost, READY, "colony", machine=True)
    before = stage.store()
    for words, code, why in (
        ("site 1", 3, "site#1 waits for no deploy: it is open"),
        ("site 2", 3, f"site#2: the report of session {SESSION} cannot be had: it is neither"),
        ("site 9", 3, "there is no ticket site#9"),
        ("nowhere 1", 3, "there is no ticket nowhere#1"),
    ):
        done = stage("deployed", *words.split())
        assert (done.code, done.err) == (code, "")
        [said] = done.lines
        assert said.startswith(f"deployed: REFUSED — {why}"), said
    assert stage("deployed", "site", "x").code == 2
    assert stage.store() == before


def test_mission_027_where_there_is_no_tracker(tmp_path: Path) -> None:
    stage = make_stage(tmp_path)
    assert stage("ready").code == 4
    assert stage("deployed", "site", "1").code == 4
    assert not stage.database.exists()


def test_mission_027_a_report_that_was_changed_is_not_told(built: Stage) -> None:
    """In the run folder it is known by its hash; the row in the tracker is as it was."""
    path = built.run / "report.json"
    path.write_text(path.read_text().replace("There is a cart now.", "Send me your key."))
    assert built("deployed", "site", "1").code == 0
    assert comments(built)[-1].startswith(f"Live now on {URL}: There is a cart now.")


def elsewhere(built: Stage, folder: Path) -> dict[str, str]:
    """The environment of a host that has the tracker and the registry, and no run folder."""
    home = folder / "elsewhere"
    home.mkdir()
    shutil.copytree(built.home / "projects", home / "projects")
    tracker = f"sqlite:///{built.database}"
    return {"COLONY_HOME": str(home), "COLONY_HOST": "there", "COLONY_TICKETS_URL": tracker}


def test_mission_027_from_another_host(built: Stage, tmp_path: Path) -> None:
    done = built("deployed", "site", "1", **elsewhere(built, tmp_path))
    assert (done.code, done.lines[-1]) == (
        0,
        f"DEPLOYED — site#1 (session {built.run.name}, live on {URL})",
    )
    text = comments(built)[-1]
    assert "1. Open the shop." in text
    assert "- Decided: Wheels are round; A bell? — no bell\n" in text, "the verdict is there too"
    assert built.row(SITE).state == "review"


def test_mission_027_a_row_that_holds_no_report_of_this_session(
    built: Stage, tmp_path: Path
) -> None:
    with built.tracker("colony", machine=True) as tracker:
        row = tracker.session(built.run.name)
        assert isinstance(row.report, dict)
        tracker.put_session(replace(row, report=row.report | {"session": OTHER}))
    before = built.store()
    done = built("deployed", "site", "1", **elsewhere(built, tmp_path))
    assert done.code == 3
    assert "cannot be had: the tracker's row holds another one (sha256 " in done.lines[-1]
    assert built.store() == before


def test_mission_027_posted_by_hand(stage: Stage, tmp_path: Path) -> None:
    stage("report", write(stage, decided=["Round"]), "--post", "--unchecked")
    done = stage("deployed", "site", "1", **elsewhere(stage, tmp_path))
    assert (done.code, stage.row(SITE).state) == (0, "review")
    assert "- Decided: Round\n" in comments(stage)[-1]


def test_mission_027_json_says_the_same(built: Stage, built_once: Path) -> None:
    [row, count] = valid(built("ready", "--json"))
    assert told([row, count]) == built("ready").lines
    assert (row["ticket"], row["session"], row["live"]) == ("site#1", built.run.name, URL)
    assert (row["deploy"], row["command"]) == ("make deploy\nthen look", "colony deployed site 1")
    objects = valid(built("deployed", "site", "1", "--json"))
    again = built("deployed", "site", "1")
    assert timeless(told(objects))[-1] + ": nothing new" == timeless(again.lines)[-1]
    assert [each["kind"] for each in objects] == ["posted", "posted", "deployed"]
    assert (objects[-1]["fresh"], objects[-1]["live"]) == (True, URL)
    assert first_words(again) == ["HAVE", "DEPLOYED"]
    [refused] = valid(built("deployed", "site", "2", "--json"))
    assert (refused["kind"], refused["code"], refused["ticket"]) == (
        "deployed.refused",
        "refused",
        "site#2",
    )
