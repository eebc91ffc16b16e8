"""The usage limit, as the seed's checks A to D of mission 034 name it, through `colony run`.

What they say of the librarian is left out: there is none yet, so starts and resumes alone are held.
Each look at the quota is said to cost something here, so that it leaves a line and can be counted.

| check | test |
|---|---|
| A: 100 %, 75 % (reserve 70), 100 % with both checks off | test_a_full_account_starts_nothing |
| A: 99 % with both checks off, 69 %: it starts | test_an_account_with_room_starts |
| A: the quota cannot be read | test_what_is_not_known_starts_nothing |
| B, D: silence, then the parked session first | test_a_limit_that_a_session_hits |
| C: no reset time known | test_a_limit_without_a_reset_time |
| a refused login stops every start until it changes | test_a_refused_login_stops_every_start |
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from colony.core.ticket import Ref
from tests.cli.conftest import HURRIED
from tests.cli.looping import Loop, end_sessions, until
from tests.cli.stage import CART, Stage, a_cart, answer, moves

BARN: Final = Ref("barn", 1)
AT_THE_RESET: Final = (
    "from colony.core.endings import Ending; from colony.core.session import follows;"
    " follows.AGAIN_MS[Ending.LIMIT] = (0, 900_000)"
)
"""The reset itself, not a minute after the limit at the earliest."""


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """Two projects with a ticket each; the agent's account has room."""
    made = a_cart(tmp_path)
    made.register("barn")
    made.ticket(project="barn", subject="Another")
    script(made)
    return made


def script(
    stage: Stage, session: float | None = 0.05, week: float | None = 0.4, **more: Any
) -> None:
    """How full the account is said to be, and what sessions meet."""
    found = {"session": session, "week": week}
    usage = {name: share for name, share in found.items() if share is not None}
    told = {"usage": {**usage, "cost": 0.001}, "account": "anna", "login": "one"}
    stage.script(**{"work": [answer()], "resume": [answer()], **told, **more})


@contextmanager
def hurried(stage: Stage, change: str, *words: str) -> Iterator[Loop]:
    """A loop that looks once a second, after `change`."""
    process = subprocess.Popen(
        [sys.executable, "-c", HURRIED, change, "run", "--json", "--interval", "1", *words],
        cwd=stage.cwd, env=stage.environ, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield Loop(process)
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
        end_sessions(stage)


def probes(lines: list[str]) -> int:
    return sum(line.startswith("PROBE COST") for line in lines)


# --- A -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("session", "week", "words", "why"),
    [
        (1.0, 0.4, [], "the 5 h limit is reached (100%)"),
        (0.75, 0.4, ["--reserve", "70"], "5 h 75% ≥ reserve 70%"),
        (1.0, 0.4, ["--reserve", "100", "--week-limit", "100"], "the 5 h limit is reached (100%)"),
        (0.05, 0.85, [], "week 85% > week limit 84%"),
        (0.05, 1.0, ["--week-limit", "100"], "the week's limit is reached (100%)"),
        (0.05, None, [], "week UNKNOWN"),
    ],
)
def test_a_full_account_starts_nothing(
    stage: Stage, session: float, week: float | None, words: list[str], why: str
) -> None:
    script(stage, session, week)
    assert stage("run", "--once", *words).code == 0, "the tracker knows Colony from then on"
    before = stage.store()
    done = stage("run", "--once", *words)
    assert done.code == 0
    assert stage.store() == before
    assert not stage.runs
    [line] = [line for line in done.lines if line.startswith("ITER")]
    assert f"· quota {session:.0%} of 5 h (resets 20" in line
    assert f"→ {why}" in line
    assert "→ no start" in line
    assert "waiting: " in line
    assert probes(done.lines) == 1


@pytest.mark.parametrize(
    ("session", "week", "words", "told"),
    [
        (0.05, 0.41, [], ", week 41% < reserve 70%"),
        (0.69, 0.84, [], ", week 84% < reserve 70%"),
        (0.99, 0.99, ["--reserve", "100", "--week-limit", "100"],
         ", week 99%, 5 h reserve off (100%), week limit off (100%)"),
        (0.05, None, ["--week-limit", "100"], ") < reserve 70%, week limit off (100%)"),
    ],
)  # fmt: skip
def test_an_account_with_room_starts(
    stage: Stage, session: float, week: float | None, words: list[str], told: str
) -> None:
    script(stage, session, week)
    done = stage("run", "--once", "--json", *words)
    [line] = [each for each in done.objects if each["kind"] == "iter"]
    assert told in line["text"]
    assert line["quota"]["session"] == pytest.approx(session * 100)
    assert line["quota"]["source"] == "asked"
    assert len(line["started"]) == 1
    assert moves(stage) == ["progress", "review"]
    part = stage.record()["parts"][0]
    assert (part["account"], part["answered"]) == ("stand-in anna", True)
    assert len(part["loginMark"]) == 64


@pytest.mark.parametrize(
    ("usage", "why"),
    [({"error": "it broke"}, "it broke"), (None, "could not be fetched")],
)
def test_what_is_not_known_starts_nothing(stage: Stage, usage: Any, why: str) -> None:
    script(stage, usage=usage)
    done = stage("run", "--once")
    [line] = [line for line in done.lines if line.startswith("ITER")]
    assert "· quota: the quota is not known: " in line
    assert why in line
    assert not stage.runs
    assert stage("run", "--once", "--reserve", "100", "--week-limit", "100").code == 0
    assert len(stage.runs) == 1, "who asks for nothing needs no answer"


# --- B and D -------------------------------------------------------------------------------------


def test_a_limit_that_a_session_hits(stage: Stage) -> None:
    script(stage, work=[{"limit": "five_hour", "reset_in": 6}])
    stage.register("mill")
    with hurried(stage, AT_THE_RESET, "--parallel", "2") as loop:
        loop.until("limit", "usage limit reached — starts paused until ")
        ended(loop, 2)
        mill = stage.ticket(project="mill", subject="A third")
        script(stage)
        loop.until("limit", "resumed — ")
        goes = loop.until("iter")
        ended(loop, 5)
    limits = loop.of("limit")
    assert len(limits) == 2
    assert "hit it" in limits[0]["text"]
    assert "the quota is read first, then one session goes first" in limits[1]["text"]
    between = loop.said[loop.said.index(limits[0]) + 1 : loop.said.index(limits[1])]
    assert {line["kind"] for line in between} <= {"session.end"}, "silence, and no probe"
    assert (len(goes["resumed"]), goes["started"]) == (1, []), "what was parked goes, and alone"
    assert [*goes["waiting"].values()] == ["tries", "tries"]
    for ref in (CART, BARN, mill):
        assert moves(stage, ref) == ["progress", "review"]


def ended(loop: Loop, count: int) -> None:
    """So many sessions have ended, or were parked."""
    while len(loop.of("session.end")) < count:
        loop.until("session.end")


# --- C -------------------------------------------------------------------------------------------


def test_a_limit_without_a_reset_time(stage: Stage) -> None:
    script(stage, work=[{"limit": "five_hour", "reset_in": None}])
    done = stage("run", "--once")
    assert len(stage.runs) == 1
    record = stage.record()
    part = record["parts"][0]
    assert (part["ended"], part["limitUntilMs"]) == ("limit", None)
    assert record["parks"][0]["resumeMs"] == part["endedMs"] + 15 * 60_000
    script(stage)
    held = stage("run", "--once")
    [line] = [line for line in held.lines if line.startswith("LIMIT:")]
    assert "(no reset time known: then one tries)" in line
    assert f"· shop#1 {stage.run.name} hit it" in line
    assert not probes(held.lines)
    assert len(stage.runs) == 1
    _pass_by(stage, 15)
    assert "resumed shop#1" in stage("run", "--once").out
    assert moves(stage) == ["progress", "review"]
    assert done.code == held.code == 0


def _pass_by(stage: Stage, minutes: int) -> None:
    """Time passes in the record, not in the test. Its own pause is not what decides."""
    record = stage.record()
    for part in record["parts"]:
        part["startedMs"] -= minutes * 60_000
        part["endedMs"] -= minutes * 60_000
    (stage.run / "session.json").write_text(json.dumps(record))


# --- the login -----------------------------------------------------------------------------------


def test_a_refused_login_stops_every_start(stage: Stage) -> None:
    script(stage, work=[{"refused": True}])
    with hurried(stage, "pass", "--parallel", "1") as loop:
        line = loop.until("limit")
        assert "the coding agent is not logged in — starts paused until " in line["text"]
        assert "log in anew" in line["text"]
        script(stage, login="two")
        loop.until("limit", "resumed — ")
        ended(loop, 3)
    assert len(loop.of("limit")) == 2
    assert len(stage.runs) == 2
    until(lambda: moves(stage, BARN) == ["progress", "review"])
