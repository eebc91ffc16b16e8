"""`colony pause`, `resume`, `stop`, with real sessions.

| rule | test |
|---|---|
| a running session is ended, its ticket given back | test_a_running_session_is_stopped |
| parked it keeps its ticket until it is resumed | test_parked_and_resumed |
| nobody works on it: this command does it | test_what_nobody_works_on_is_stopped_from_here |
| what is being posted is posted | test_a_post_wins_over_an_order |
| the later of two orders holds | test_of_two_orders_the_later_holds |
| a forged order stops nothing | test_a_forged_order_stops_nothing |
| what cannot be stopped is said | test_what_cannot_be_stopped_is_said |
| pauses | test_a_pause_is_made_shown_and_taken_away |
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from colony.host.control import Control
from tests.cli.stage import CART, OTHER, Stage, a_cart, answer, moves, valid
from tests.host.conftest import until


def own(stage: Stage) -> str:
    """A session of this test alone: Colony ends every process that carries its session's name."""
    word = f"{os.getpid()} {stage.home}".encode()
    return f"s-20260131T1819-{hashlib.sha256(word).hexdigest()[:6]}"


WAITS = {"run": "touch begun; while [ ! -e go ]; do sleep 0.05; done"}


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = a_cart(tmp_path)
    made.script(work=[WAITS, answer()], resume=[answer()])
    return made


@contextmanager
def working(stage: Stage) -> Iterator[subprocess.Popen[str]]:
    """`work shop 1 --post`, whose agent waits for the file `go`."""
    begun = stage.cwd / "dev-shop" / "begun"
    with stage.start("work", "shop", "1", "--post", "--session", own(stage)) as process:
        try:
            until(begun.exists)
            yield process
        finally:
            (stage.cwd / "dev-shop" / "go").touch()
            process.kill() if process.poll() is None else None


def left(stage: Stage) -> None:
    """The session, its process killed in the middle of the agent's work."""
    with working(stage) as process:
        process.kill()
        process.wait()
    (stage.cwd / "dev-shop" / "go").unlink()


def stop(stage: Stage, *words: str) -> list[dict[str, Any]]:
    done = stage("stop", own(stage), *words, "--json")
    assert done.code == 0, done.err
    return valid(done)


def nothing_is_asked(stage: Stage) -> bool:
    return Control(stage.home).orders() == {}


def test_a_running_session_is_stopped(stage: Stage) -> None:
    with working(stage) as process:
        [line] = stop(stage)
        assert (line["kind"], line["became"], line["session"]) == ("stop", "given back", own(stage))
        out, _ = process.communicate(timeout=20)
    assert process.returncode == 1, out
    assert stage.row(CART).state == "open"
    assert "given back · reason stopped" in stage.texts(CART)
    assert moves(stage)[-1] == "open"
    assert nothing_is_asked(stage)


def test_parked_and_resumed(stage: Stage) -> None:
    with working(stage) as process:
        [line] = stop(stage, "--park")
        assert line["became"] == "parked"
        process.communicate(timeout=20)
    assert process.returncode == 0
    assert stage.row(CART).state == "progress"
    assert [each["reason"] for each in stage.record()["parks"]] == ["asked"]
    before = stage.record()["parks"][0]["resumeMs"]
    [line] = stop(stage, "--park")
    assert line["became"] == "parked", "parked already it stays so"
    assert "parked" in stage("sessions").out
    done = stage("resume", own(stage))
    assert done.code == 0
    assert f"colony work shop 1 --session {own(stage)}" in done.out
    assert stage.record()["parks"][0]["resumeMs"] < before
    assert stage("work", "shop", "1", "--session", own(stage)).code == 0
    assert stage.row(CART).state == "review"


def test_what_nobody_works_on_is_stopped_from_here(stage: Stage) -> None:
    left(stage)
    *_, line = stop(stage)
    assert line["became"] == "given back"
    assert stage.row(CART).state == "open"
    assert "given back · reason stopped" in stage.texts(CART)


def test_a_parked_one_is_stopped_from_here(stage: Stage) -> None:
    left(stage)
    *_, line = stop(stage, "--park")
    assert line["became"] == "parked"
    assert stage.record()["parks"][0]["told"]
    *_, line = stop(stage)
    assert line["became"] == "given back"
    assert stage.row(CART).state == "open"


def test_a_post_wins_over_an_order(stage: Stage) -> None:
    with working(stage) as process, closing(sqlite3.connect(stage.database)) as held:
        held.execute("BEGIN IMMEDIATE")
        (stage.cwd / "dev-shop" / "go").touch()
        until(lambda: stage.record().get("occasion"), 30)
        with stage.start("stop", own(stage), "--json") as asking:
            until(lambda: not nothing_is_asked(stage))
            held.rollback()
            out, err = asking.communicate(timeout=30)
        process.communicate(timeout=30)
    assert (asking.returncode, err) == (0, "")
    assert json.loads(out)["became"] == "posted"
    assert process.returncode == 0
    assert stage.row(CART).state == "review"
    assert nothing_is_asked(stage)


def test_of_two_orders_the_later_holds(stage: Stage) -> None:
    left(stage)
    control = Control(stage.home)
    control.order(own(stage), "stop")
    control.order(own(stage), "park")
    assert stage("work", "shop", "1", "--session", own(stage)).code == 0
    assert stage.record()["parks"][0]["reason"] == "asked"
    assert stage.row(CART).state == "progress"
    assert nothing_is_asked(stage)


@pytest.mark.parametrize("kind", ["link", "folder", "words", "control"])
def test_a_forged_order_stops_nothing(kind: str, stage: Stage) -> None:
    control = stage.home / "control"
    (stage.cwd / "dev-shop" / "go").touch()
    order = control / f"order.{own(stage)}"
    if kind == "control":
        control.symlink_to(stage.cwd)
        order = stage.cwd / order.name
    else:
        control.mkdir(0o700)
    match kind:
        case "link":
            (stage.cwd / "order").write_text("stop\n")
            order.symlink_to(stage.cwd / "order")
        case "folder":
            order.mkdir()
        case "words":
            order.write_text("stop it")
        case _:
            order.write_text("stop\n")
    done = stage("work", "shop", "1", "--post", "--session", own(stage))
    assert done.code == 0, done.out
    assert stage.row(CART).state == "review"


@pytest.mark.parametrize("verb", ["stop", "resume"])
def test_what_cannot_be_stopped_is_said(verb: str, stage: Stage) -> None:
    (stage.cwd / "dev-shop" / "go").touch()
    assert stage("work", "shop", "1", "--post", "--session", own(stage)).code == 0
    store, record = stage.store(), stage.record()
    done = stage(verb, own(stage))
    assert (done.code, "has ended: posted" in done.error) == (3, True)
    done = stage(verb, OTHER)
    assert (done.code, f"there is no session {OTHER}" in done.error) == (3, True)
    garbage = stage.home / "runs" / OTHER
    garbage.mkdir()
    (garbage / "session.json").write_text("{")
    done = stage(verb, OTHER)
    assert (done.code, "cannot be read" in done.error) == (3, True)
    assert (stage.store(), stage.record(garbage.with_name(own(stage)))) == (store, record)
    assert nothing_is_asked(stage)


def test_what_is_no_session_is_wrong_usage(stage: Stage) -> None:
    assert stage("stop", "shop").code == 2
    assert stage("stop").code == 2
    assert stage("resume", "../x").code == 3


def test_only_a_parked_session_is_resumed(stage: Stage) -> None:
    left(stage)
    done = stage("resume", own(stage))
    assert (done.code, "is not parked" in done.error) == (3, True)


def test_a_session_at_work_is_not_resumed(stage: Stage) -> None:
    with working(stage):
        assert stage("resume", own(stage)).code == 5


def test_a_pause_is_made_shown_and_taken_away(stage: Stage) -> None:
    assert "running sessions finish" in stage("pause", "shop").out
    assert "shop is paused: colony resume shop" in stage("next").out
    assert "paused: shop" in stage("sessions").out
    [line] = valid(stage("pause", "--json"))
    assert (line["kind"], line["project"]) == ("pause", None)
    assert "everything is paused: colony resume" in stage("next").out
    assert "everything is paused" in stage("sessions").out
    assert "still paused: shop" in stage("resume").out
    assert "was not paused" in stage("resume").out
    [line] = valid(stage("resume", "shop", "--json"))
    assert (line["kind"], line["project"], line["was"]) == ("resume", "shop", True)
    assert "paused" not in stage("next").out + stage("sessions").out


def test_a_pause_of_what_is_not_there_is_refused(stage: Stage) -> None:
    for words in (("pause", "shopp"), ("resume", "shopp")):
        assert stage(*words).code == 3
    done = stage("--home", str(stage.cwd / "nowhere"), "pause")
    assert (done.code, "there is no home folder" in done.error) == (3, True)
    assert not (stage.cwd / "nowhere").exists()
