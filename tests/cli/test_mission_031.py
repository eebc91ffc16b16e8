"""Mission 031, check A and its last one: a lease that has ended is never expired.

| check | test |
|---|---|
| A `leases --expire`, `run --once` leave it | test_mission_031_a_half_a_deploy_is_never_expired |
| A `deployed` completes it | same |
| on hold: not expired | test_mission_031_what_was_put_on_hold_is_not_expired |

B to E need somebody who writes in between: `tests/flow/test_mission_031_races.py`.
"""

from __future__ import annotations

import time
from pathlib import Path

from colony.core.ticket import Ref
from tests.cli.stage import OTHER, SESSION, Stage, make_stage

SITE = Ref("site", 1)
READY = (
    f"Built.\n\ncolony-report: {SESSION} · sha256 0123456789ab · controller pass · ready to deploy"
)


def opened(folder: Path) -> Stage:
    stage = make_stage(folder)
    stage.register("site", live={"url": "https://shop.example"})
    stage.ticket("site")
    return stage


def test_mission_031_a_half_a_deploy_is_never_expired(tmp_path: Path) -> None:
    stage = opened(tmp_path)
    stage.lease(SITE, stage.now_ms + 2000, host="elm")
    stage.comment(SITE, READY, "colony", machine=True)
    stage.comment(
        SITE,
        f"It is live.\n\ncolony-deployed: {SESSION} · sha256 0123456789ab",
        "colony",
        machine=True,
    )
    stage.now_ms = int(time.time() * 1000)
    before = stage.store()
    done = stage("leases", "--expire")
    assert done.code == 0
    assert f"the lease of session {SESSION} has ended (deployed): never expires" in done.lines[0]
    assert done.lines[-1] == "LEASES: 1 in progress, 0 dead"
    loop = stage("run", "--once")
    assert loop.code == 0
    assert not [line for line in loop.lines if "expired" in line or "started" in line]
    assert stage.store() == before
    assert not stage.runs
    completed = stage("deployed", "site", "1")
    assert completed.code == 0
    assert any(line.startswith("HAVE") for line in completed.lines)
    assert stage.row(SITE).state == "review"


def test_mission_031_what_was_put_on_hold_is_not_expired(tmp_path: Path) -> None:
    stage = opened(tmp_path)
    stage.lease(SITE, stage.now_ms + 2000, OTHER, "elm")
    stage.move(SITE, "pending")
    before = stage.store()
    for words in (("leases", "--expire"), ("run", "--once")):
        done = stage(*words)
        assert done.code == 0
        assert not [line for line in done.lines if "expired" in line]
    assert stage.store() == before
