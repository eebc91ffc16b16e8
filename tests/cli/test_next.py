"""`colony next`.

| rule | test |
|---|---|
| the oldest open ticket of a ready project | test_the_oldest_is_next_and_the_others_say_why |
| open needs file, concept, workers, this host, a folder | same |
| in progress, on hold, blocked, a parent: listed | same |
| in review, done, canceled, sent back: counted | test_what_waits_for_nobody_here_is_only_counted |
| it reads, and writes nothing | test_it_writes_nothing |
| --post: one question a project, never twice | test_post_asks_once_for_each_project |
| a project that takes no workers is not asked about | same |
| a blocker blocks until it is done | test_a_blocker_blocks_until_it_is_done |
| questions make no parent, Questionnaire does | test_questions_make_no_parent |
| a question is never work, in no state | test_a_question_is_never_work |
| sent back after the last session: rework | test_a_result_that_was_sent_back_is_work_again |
| a stranger's ticket waits for /accept | test_a_strangers_ticket_waits_for_a_member |
| what a project needs, its host must offer | test_what_a_project_needs_its_host_must_offer |
| priority goes before age | test_priority_goes_before_age |
| bad registry files | test_a_registry_file_that_cannot_be_used_is_that_projects_line |
| hostile subjects | test_no_subject_forges_a_line |
| the database | test_a_database_that_cannot_be_used |
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from colony.core.records import SessionRecord
from colony.core.ticket import Ref
from tests.cli.stage import SESSION, START_MS, Stage, answer, make_stage, told, valid

FAR_MS = START_MS * 2


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    stage = make_stage(tmp_path)
    stage.register("shop")
    return stage


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A queue with a ticket for each reason. No test changes it."""
    stage = make_stage(tmp_path_factory.mktemp("queue"))
    stage.register("shop")
    stage.register("vague", concept="")
    stage.register("lost", concept="NOWHERE.md")
    stage.register("closed", workers=False)
    stage.register("away", dev={"folder": "/srv/away", "host": "elm"})
    stage.register("gone", dev={"folder": str(stage.cwd / "gone")})
    for project in ("vague", "lost", "closed", "away", "gone", "unknown"):
        stage.ticket(project)
    leased = stage.ticket(subject="leased")
    stage.lease(leased, FAR_MS)
    silent = stage.ticket(subject="silent")
    stage.lease(silent, START_MS)
    held = stage.ticket(subject="held")
    stage.move(held, "pending")
    by_hand = stage.ticket(subject="by hand")
    stage.move(by_hand, "progress")
    whole = stage.ticket(subject="whole")
    stage.ticket(subject="part", parent=whole)
    blocked = stage.ticket(subject="blocked")
    with stage.tracker() as tracker:
        tracker.block(blocked, held, key="block")
    for state in ("review", "done", "canceled"):
        stage.move(stage.ticket(subject=state), state)
    return stage


def test_the_oldest_is_next_and_the_others_say_why(queue: Stage) -> None:
    done = queue("next")
    assert (done.code, done.err) == (0, "")
    assert done.lines[0] == 'NEXT: shop#6 "part"'
    waits = {line.split()[0]: line.partition(" — ")[2] for line in done.lines[1:-2]}
    shop = queue.home / "projects"
    assert waits == {
        "vague#1": f"{shop}/vague.json names no concept",
        "lost#1": f"lost: {queue.cwd}/dev-lost/NOWHERE.md does not exist",
        "closed#1": "project closed takes no workers",
        "away#1": "its dev folder is on elm, this is here",
        "gone#1": f"the dev folder {queue.cwd}/gone is missing",
        "unknown#1": "project unknown has no registry file here (here)",
        "shop#1": f"leased by session {SESSION} on there until 2083-06-12 04:26 UTC",
        "shop#2": f"session {SESSION} on there is silent since 2026-09-21 14:13 UTC",
        "shop#3": "on hold",
        "shop#4": "in progress without a lease of Colony",
        "shop#5": "a parent (1 child ticket, 0 done): its children are the work",
        "shop#7": "blocked by shop#3 (pending)",
    }


def test_what_waits_for_nobody_here_is_only_counted(queue: Stage) -> None:
    done = queue("next")
    assert not [line for line in done.lines if line.lstrip().startswith(("shop#8", "shop#9"))]
    assert done.lines[-2] == "  in all: 9 open, 3 progress, 1 review, 1 pending, 1 done, 1 canceled"
    assert done.lines[-1] == "  start it: colony work shop 6 --post"


def test_it_writes_nothing(queue: Stage) -> None:
    before = queue.store()
    queue("next")
    assert queue.store() == before


def test_json_says_the_same(queue: Stage) -> None:
    objects = valid(queue("next", "--json"))
    assert told(objects) == queue("next").lines
    codes = {each["ticket"]: each["code"] for each in objects if each["kind"] == "next.waits"}
    assert codes["vague#1"] == codes["lost#1"] == "no concept"
    assert (codes["unknown#1"], codes["away#1"], codes["gone#1"]) == ("no file", "host", "folder")
    assert (codes["shop#1"], codes["shop#2"], codes["shop#4"]) == ("leased", "silent", "unleased")
    assert objects[-2]["counts"]["progress"] == 3


def test_on_another_host_it_is_another_ticket(queue: Stage) -> None:
    queue_there = queue("next", COLONY_HOST="ELM")
    assert queue_there.lines[0].startswith("NEXT: shop#6")
    assert "away#1" in queue_there.out
    assert "its dev folder is on elm" not in queue_there.out


def test_post_asks_once_for_each_project(stage: Stage) -> None:
    stage.register("vague", concept="")
    stage.register("closed", workers=False)
    for project in ("vague", "vague", "closed", "unknown"):
        stage.ticket(project)
    hint = stage("next").lines[-1]
    assert hint == "  ask what is missing: colony next --post"
    done = stage("next", "--post")
    assert done.code == 0
    posted = [line for line in done.lines if line.startswith("POSTED ")]
    assert [line.split()[2] for line in posted] == ["colony#1:", "colony#2:"]
    asked = {ticket.source: ticket for ticket in stage.rows("colony") if ticket.source}
    assert set(asked) == {"colony:no-metadata:unknown", "colony:no-concept:vague"}
    for question in asked.values():
        assert (question.state, question.parent) == ("pending", None)
        assert question.subject.startswith("Question")
    assert "vague#1" in asked["colony:no-concept:vague"].summary
    assert "vague#2" in asked["colony:no-concept:vague"].summary
    stage.move(Ref("vague", 1), "canceled")
    before = stage.store()
    again = stage("next", "--post")
    assert [line.split()[0] for line in again.lines if line[0].isupper()][1:] == ["HAVE", "HAVE"]
    assert stage.store() == before
    assert [each["kind"] for each in valid(stage("next", "--post", "--json"))][-2:] == ["have"] * 2


def test_the_inbox_is_a_setting(stage: Stage) -> None:
    stage.ticket("unknown")
    stage("next", "--post", COLONY_INBOX_PROJECT="desk")
    assert len(stage.rows("desk")) == 1


def test_a_blocker_blocks_until_it_is_done(stage: Stage) -> None:
    one, two = stage.ticket(subject="One"), stage.ticket(subject="Two")
    with stage.tracker() as tracker:
        tracker.block(one, two, key="block")

    def waits() -> str:
        lines = stage("next").lines
        return next((line for line in lines if line.startswith("  shop#1 ")), lines[0])

    assert waits().endswith("blocked by shop#2 (open)")
    stage.move(two, "review")
    assert waits().endswith("blocked by shop#2 (review)")
    stage.move(two, "canceled")
    assert "canceled one blocks until its link is removed" in waits()
    stage.move(two, "done")
    assert waits() == 'NEXT: shop#1 "One"'


def test_questions_make_no_parent(stage: Stage) -> None:
    one = stage.ticket(subject="One")
    question = stage.ticket(subject="Question (shop#1): which red?", parent=one)
    stage.move(question, "canceled")
    assert stage("next").lines[0] == 'NEXT: shop#1 "One"'
    stage.ticket(subject="Questionnaire page", parent=one)
    assert 'shop#1 "One" — a parent (1 child ticket' in stage("next").out


def test_an_open_question_is_waited_for(stage: Stage) -> None:
    one = stage.ticket(subject="One")
    question = stage.ticket(subject="Question (shop#1): which red?", parent=one)
    stage.move(question, "pending")
    assert 'shop#1 "One" — waits for the answer on shop#2' in stage("next").out
    stage.move(question, "done")
    assert stage("next").lines[0] == 'NEXT: shop#1 "One"'


@pytest.mark.parametrize("state", ["open", "reopened", "pending", "progress"])
def test_a_question_is_never_work(stage: Stage, state: str) -> None:
    question = stage.ticket(subject="Question: which red?")
    if state != "open":
        stage.move(question, state)  # type: ignore[arg-type]
    done = stage("next")
    assert done.lines[0] == "NEXT: nothing to do"
    assert f"a question for its creator ({state}): never work" in done.out
    assert ("never resumed" in done.out) == (state == "progress")


def test_a_result_that_was_sent_back_is_work_again(stage: Stage) -> None:
    one = stage.ticket(subject="One")
    stage.lease(one, FAR_MS)
    stage.move(one, "review", machine=True)
    stage.move(one, "reopened", "Not red enough.")
    [first, *_] = stage("next").lines
    assert first.startswith('NEXT: shop#1 "One" — sent back by anna on ')
    assert first.endswith("rework")


def test_a_strangers_ticket_waits_for_a_member(stage: Stage) -> None:
    stage.ticket(subject="Ours")
    stage.move(Ref("shop", 1), "done")
    strange = stage.ticket(subject="Theirs", user="mallory")
    stage.comment(strange, "/accept", "mallory")
    refused = stage("next")
    assert refused.lines[0] == "NEXT: nothing to do"
    assert "opened by mallory: waits for /accept by a member of the project" in refused.out
    assert stage("next", COLONY_INTAKE="all").lines[0] == 'NEXT: shop#2 "Theirs"'
    stage.comment(strange, "/accept")
    assert stage("next").lines[0] == 'NEXT: shop#2 "Theirs" — accepted by anna'


def test_priority_goes_before_age(stage: Stage) -> None:
    one, two = stage.ticket(subject="One"), stage.ticket(subject="Two")
    stage.comment(two, "/prio high")
    stage.comment(one, "/prio low")
    assert stage("next").lines[:2] == [
        'NEXT: shop#2 "Two" — priority high',
        '  shop#1 "One" — comes later; priority low',
    ]


def test_nothing_at_all(stage: Stage) -> None:
    with stage.tracker():
        pass
    assert stage("next").lines == [
        "NEXT: nothing to do",
        "  no tickets at all",
        '  write one: colony ticket new "…"',
    ]


BROKEN = {
    "empty": ("", "is not JSON"),
    "list": ("[]", "not a JSON object"),
    "deep": ("[" * 100_000, "inside each other"),
    "twice": ('{"name": "twice", "name": "twice"}', "name"),
    "nan": ('{"name": NaN}', "NaN"),
    "renamed": ('{"name": "other", "dev": {"folder": "/x"}}', "but the file is renamed.json"),
    "typo": ('{"name": "typo", "concpet": "C", "dev": {"folder": "/x"}}', "did you mean concept?"),
    "inner": ('{"name": "inner", "dev": {"folder": "/x", "hots": "y"}}', "dev: unknown key"),
    "number": ('{"name": "number", "dev": {"folder": 7}}', "dev.folder: must be a text"),
    "half": ('{"name": "half", "dev": {"folder": "/x\\ud800"}}', "surrogate"),
    "nowhere": ('{"name": "nowhere", "concept": "C.md"}', "dev is missing"),
    "bypass": ('{"name": "bypass", "permissionMode": "bypassPermissions"}', "permissionMode"),
    "huge": ("x" * 300_000, "larger than"),
}


def test_a_registry_file_that_cannot_be_used_is_that_projects_line(stage: Stage) -> None:
    for name, (text, _) in BROKEN.items():
        stage.register(name, text)
        stage.ticket(name)
    stage.ticket("shop")
    done = stage("next")
    assert (done.code, done.err) == (0, "")
    assert done.lines[0] == 'NEXT: shop#1 "A cart"'
    found = {line.split("#")[0].strip(): line for line in done.lines[1:]}
    for name, (_, told_of) in BROKEN.items():
        assert told_of in found[name], name
        assert str(stage.home / f"projects/{name}.json") in found[name]


def test_a_registry_folder_that_is_none_is_refused_by_name(stage: Stage) -> None:
    stage.ticket()
    done = stage("next", COLONY_PROJECTS_DIR=str(stage.database))
    assert done.code == 2
    assert str(stage.database) in done.error


HOSTILE = ["two\nNEXT: shop#9", "\x1b[2J\x1b[31mred", "right\u202eleft", "long " * 50, "👩‍🚀"]


def test_no_subject_forges_a_line(stage: Stage) -> None:
    for subject in HOSTILE:
        stage.ticket(subject=subject)
    done = stage("next")
    assert [line.split()[0] for line in done.lines] == [
        "NEXT:", *(f"shop#{n}" for n in range(2, 6)), "in", "start",
    ]  # fmt: skip
    assert not {character for character in done.out if character in "\x1b\u202e"}
    assert max(map(len, done.lines)) < 90
    assert len(valid(stage("next", "--json"))) == 7


def busy(database: Path) -> sqlite3.Connection:
    opened = sqlite3.connect(database, isolation_level=None)
    opened.execute("BEGIN EXCLUSIVE")
    return opened


def test_a_database_that_cannot_be_used(stage: Stage) -> None:
    missing = stage("next")
    assert missing.code == 4
    assert str(stage.database) in missing.error
    assert not stage.database.exists()
    stage.ticket()
    kept = stage.database.read_bytes()
    with closing(sqlite3.connect(stage.database)) as opened:
        opened.execute("PRAGMA user_version = 999")
        opened.commit()
    newer = stage("next")
    assert (newer.code, "newer" in newer.error) == (3, True)
    stage.database.write_bytes(b"no database at all" * 100)
    damaged = stage("next", "--json")
    assert damaged.code == 3
    [line] = valid(damaged)
    assert (line["kind"], line["code"], line["exit"]) == ("error", "damaged", 3)
    assert stage.database.read_bytes() == b"no database at all" * 100
    stage.database.write_bytes(kept)
    assert stage("next").code == 0


@pytest.mark.parametrize(
    ("words", "environ", "told_of"),
    [
        (["--intake", "everybody"], {}, "--intake everybody: must be one of members, all"),
        ([], {"COLONY_INTAKE": "al"}, "COLONY_INTAKE al: must be one of members, all (did you"),
        ([], {"COLONY_TICKETS_URL": "gopher://x"}, "COLONY_TICKETS_URL: must begin with"),
        ([], {"COLONY_INBOX_PROJECT": "Ä"}, "COLONY_INBOX_PROJECT Ä: must be a name"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(
    stage: Stage, words: list[str], environ: dict[str, str], told_of: str
) -> None:
    stage.ticket()
    done = stage("next", *words, **environ)
    assert done.code == 2
    assert told_of in done.error


def test_a_registry_may_hold_anything_else(stage: Stage) -> None:
    """Folders, links, other files and odd names in the registry's folder harm nobody."""
    projects = stage.home / "projects"
    (projects / "README.md").write_text("Not JSON.")
    (projects / ".hidden.json").write_text("{")
    (projects / "folder.json").mkdir()
    (projects / "Über all.json").write_text(json.dumps({"name": "Über all"}))
    (projects / "dangling.json").symlink_to("/nowhere")
    stage.ticket()
    assert stage("next").lines[0] == 'NEXT: shop#1 "A cart"'


def test_what_is_worked_on_another_host_is_not_asked_about(stage: Stage) -> None:
    record = SessionRecord("s-20260131T1819-def456", stage.ticket("unknown"), "elm", "ended")
    with stage.tracker("colony", machine=True) as tracker:
        tracker.put_session(record)
    done = stage("next", "--post")
    assert "  unknown is worked on host elm: not asked" in done.lines
    assert "where does the code of unknown live" not in done.out


def test_what_a_project_needs_its_host_must_offer(tmp_path: Path) -> None:
    """`next`, `explain` and `work` say the same of it; what was begun goes on all the same."""
    stage = make_stage(tmp_path)
    stage.register("shop", needs=["docker", "gpu"])
    stage.ticket()
    before = stage.store()
    why = "this host does not offer: gpu"
    assert f'  shop#1 "A cart" — {why}' in stage("next", COLONY_CAPABILITIES="Docker").lines
    told = stage("explain", "shop", "1", "--capabilities", "docker").lines
    assert told[0] == f"EXPLAIN shop#1 is not started: {why}"
    assert told[1].startswith(f"  against: {why} — start it on a host that offers it")
    for words in (("work", "shop", "1"), ("work", "shop", "1", "--dry-run")):
        refused = stage(*words, COLONY_CAPABILITIES="docker")
        assert (refused.code, refused.lines[-1]) == (
            3, f"work: REFUSED — shop#1 is not eligible: {why}",
        )  # fmt: skip
    assert stage.store() == before
    assert stage("next", "--capabilities", "docker,GPU").lines[0] == 'NEXT: shop#1 "A cart"'
    stage.script(work=[answer()])
    assert stage("work", "shop", "1", COLONY_CAPABILITIES="docker,gpu").code == 0
    assert stage("work", "shop", "1").code == 0
