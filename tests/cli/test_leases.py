"""`colony leases`.

| rule | test |
|---|---|
| one line a ticket in progress, then how many | test_each_ticket_in_progress_has_a_line |
| reading writes nothing | test_looking_writes_nothing |
| --expire gives dead ones back, once, with the reason | test_dead_leases_are_given_back |
| live, built, parked, ended or none: left alone | same |
| another session's later lease is not expired | test_a_lease_that_was_renewed_is_left_alone |
| what this host can go on with is not dead | test_what_this_host_goes_on_with_is_not_dead |
| many at once: one, the oldest, and why | test_where_many_seem_dead_one_is_given_back |
| others' tracker needs --live | test_a_tracker_of_others_is_left_alone_without_live |
| after the give-back it is next | test_dead_leases_are_given_back |
| --json | test_json_says_the_same |
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from colony.core.texts import lease as lease_texts
from colony.core.ticket import Ref
from tests.cli.stage import OTHER, SESSION, Stage, answer, make_stage, told, valid

READY = (
    f"Built.\n\ncolony-report: {SESSION} · sha256 0123456789ab · controller pass · ready to deploy"
)


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """shop#1 live, shop#2 dead, shop#3 without a lease, shop#4 built. No test changes it."""
    return make_queue(tmp_path_factory.mktemp("leases"))


def make_queue(folder: Path) -> Stage:
    stage = make_stage(folder)
    stage.register("shop")
    for subject in ("live", "dead", "by hand", "built", "open"):
        stage.ticket(subject=subject)
    stage.lease(Ref("shop", 1), stage.now_ms * 2)
    stage.lease(Ref("shop", 2), stage.now_ms + 5000, OTHER, "elm")
    stage.move(Ref("shop", 3), "progress")
    stage.lease(Ref("shop", 4), stage.now_ms + 5000)
    stage.comment(Ref("shop", 4), READY, "colony", machine=True)
    return stage


def test_each_ticket_in_progress_has_a_line(queue: Stage) -> None:
    done = queue("leases")
    assert done.code == 0
    live, dead, none, built, count, hint = done.lines
    assert live.startswith(f"LEASE shop#1 — started, session {SESSION} on there: until 2083-")
    assert dead.startswith(f"LEASE shop#2 — started, session {OTHER} on elm: DEAD since 2026-")
    assert none == "LEASE shop#3 — in progress without a lease of Colony"
    assert built.startswith("LEASE shop#4 — built, waits for the deploy")
    assert built.endswith("never expires")
    assert count == "LEASES: 4 in progress, 1 dead"
    assert hint == "  give dead ones back: colony leases --expire"


def test_looking_writes_nothing(queue: Stage) -> None:
    before = queue.store()
    queue("leases")
    assert queue.store() == before


def test_json_says_the_same(queue: Stage) -> None:
    objects = valid(queue("leases", "--json"))
    assert told(objects) == queue("leases").lines
    assert (objects[0]["ticket"], objects[0]["session"]) == ("shop#1", SESSION)
    assert objects[-2]["dead"] == 1


def test_dead_leases_are_given_back(tmp_path: Path) -> None:
    stage = make_queue(tmp_path)
    before = {ref: len(stage.events(Ref("shop", ref))) for ref in (1, 3, 4)}
    done = stage("leases", "--expire")
    assert done.code == 0
    assert [line for line in done.lines if line.startswith("lease: ")] == [
        f"lease: expired shop#2 (session {OTHER}): open again"
    ]
    dead = stage.row(Ref("shop", 2))
    assert dead.state == "open"
    text = stage.events(dead.ref)[-1].text
    assert text.splitlines()[-1] == f"colony-lease-expired: {OTHER} · host elm"
    assert {ref: len(stage.events(Ref("shop", ref))) for ref in (1, 3, 4)} == before
    kept = stage.store()
    assert stage("leases", "--expire").lines[-1] == "LEASES: 3 in progress, 0 dead"
    assert stage.store() == kept
    assert stage("next").lines[0] == 'NEXT: shop#2 "dead"'


def test_a_lease_that_was_renewed_is_left_alone(tmp_path: Path) -> None:
    stage = make_queue(tmp_path)
    text = lease_texts.renewed(OTHER, "elm", int(time.time() * 1000) + 10**7)
    stage.comment(Ref("shop", 2), text, "colony", machine=True)
    before = stage.store()
    done = stage("leases", "--expire")
    assert done.lines[-1] == "LEASES: 4 in progress, 0 dead"
    assert stage.store() == before


def test_a_person_cannot_forge_a_lease(tmp_path: Path) -> None:
    stage = make_queue(tmp_path)
    text = lease_texts.renewed(OTHER, "elm", int(time.time() * 1000) + 10**7)
    stage.comment(Ref("shop", 2), text)
    assert stage("leases").lines[-2] == "LEASES: 4 in progress, 1 dead"


def test_what_this_host_goes_on_with_is_not_dead(tmp_path: Path) -> None:
    """Its session is on disk: `work` takes it up, however long ago it was."""
    stage = make_stage(tmp_path)
    stage.register("shop")
    one = stage.ticket()
    stage.script(work=[answer()])
    assert stage("work", "shop", "1").code == 0
    session = stage.run.name
    stage.now_ms = int(time.time() * 1000)
    text = lease_texts.renewed(session, "here", 1)
    stage.comment(one, text, "colony", machine=True)
    before = stage.store()
    done = stage("leases", "--expire")
    assert "LEASES: 1 in progress, 1 dead" in done.lines
    assert done.lines[-1].startswith(f"lease: NOT expired shop#1 (session {session}): ")
    assert "colony work shop 1 goes on" in done.lines[-1]
    assert stage.store() == before
    renamed = stage("leases", "--expire", COLONY_HOST="elsewhere")
    assert "its session is kept on this host" in renamed.lines[-1]
    (stage.run / "session.json").write_text("no JSON")
    assert "cannot be read" in stage("leases", "--expire").lines[-1]
    assert stage.store() == before
    shutil.rmtree(stage.run)
    assert stage("leases", "--expire").lines[-1].endswith("open again")


def test_where_many_seem_dead_one_is_given_back(tmp_path: Path) -> None:
    stage = make_stage(tmp_path)
    stage.register("shop")
    refs = [stage.ticket() for _ in range(3)]
    for at, ref in enumerate(reversed(refs)):
        stage.lease(ref, stage.now_ms + at, f"s-20260131T1819-00000{at}", "elm")
    first, note = stage("leases", "--expire").lines[-2:]
    assert first.startswith("lease: expired shop#3 ")
    assert note.startswith("  3 of 3 leases seem dead at once")
    assert [stage.row(ref).state for ref in refs] == ["progress", "progress", "open"]
    # Two are no crowd: the person has looked, and asked again.
    assert [line[:21] for line in stage("leases", "--expire").lines[-2:]] == [
        "lease: expired shop#2", "lease: expired shop#1",
    ]  # fmt: skip


@pytest.mark.parametrize("url", ["http://10.0.0.1:8600", "https://tickets.example"])
def test_a_tracker_of_others_is_left_alone_without_live(tmp_path: Path, url: str) -> None:
    refused = make_stage(tmp_path)("leases", "--expire", COLONY_TICKETS_URL=url)
    assert refused.code == 3
    assert refused.error.endswith("add --live")


def test_without_any(tmp_path: Path) -> None:
    stage = make_stage(tmp_path)
    stage.register("shop")
    missing = stage("leases")
    assert (missing.code, str(stage.database) in missing.error) == (4, True)
    stage.ticket()
    assert stage("leases").lines == ["LEASES: 0 in progress, 0 dead"]
