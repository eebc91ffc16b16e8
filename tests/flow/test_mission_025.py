"""Seed mission 025: a worker that runs out is asked once for its report, and its work is kept."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from shop import DONE, NOTE, SHOP, Script, Shop, verdict, worker

from colony.core.endings import Ending
from colony.core.last_line import Ended
from colony.core.markers import Run, marker_of
from colony.core.session import Outcome
from colony.flow.following import Doing

ON_AND_ON: list[Script] = [{"repeat": 50, "actions": [{"say": "and again"}]}]
HANGS: list[Script] = [{"say": "I begin."}, NOTE, {"hang": True}]
SILENT: list[Script] = [{"say": "Nothing more to tell."}]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """Which edge reaches the tracker plays no part here."""
    made = Shop(tmp_path / "shop")
    yield made
    made.close()


class Looks(list[Doing | None]):
    """What the session's owner sees of its parts; a test acts on each look."""

    def __init__(self, acts: Callable[[Doing], None]) -> None:
        super().__init__()
        self._acts = acts

    def append(self, doing: Doing | None) -> None:
        super().append(doing)
        if doing is not None:
            self._acts(doing)


def work(shop: Shop, *, post: bool = True, **setup: Any) -> Ended:
    return shop.work(post=post, **{"finalize_max_turns": 8} | setup)


def time_flies(shop: Shop, kind: str, seconds: float) -> None:
    """Every look at a part of this kind, once its agent has done something, takes that long."""

    def acts(doing: Doing) -> None:
        if doing.what.endswith(f" {kind}") and (doing.calls or kind != "work"):
            shop.time.pass_by(seconds)

    shop.doings = Looks(acts)


def prompt(shop: Shop, told: Ended, name: str) -> str:
    return (shop.folder_of(told.facts.session).path / name).read_text("utf-8")


def until(holds: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline_s
        select.select([], [], [], 0.01)


def kinds(told: Ended) -> list[str]:
    return [part.kind for part in told.facts.parts]


def run_lines(shop: Shop) -> list[Run]:
    found = (marker_of(each) for each in shop.history().events)
    return [each for each in found if isinstance(each, Run)]


@pytest.mark.parametrize("why", ["out of steps", "out of time", "stalled"])
def test_one_that_ran_out_is_asked_for_its_report_and_posts(shop: Shop, why: str) -> None:
    shop.play(work=ON_AND_ON if why == "out of steps" else HANGS, finalize=worker())
    if why != "out of steps":
        time_flies(shop, "work", 1300)
    limit_s = 1000 if why == "out of time" else 1_000_000
    told = work(shop, worker=shop.runner(timeout_s=limit_s), finalize_timeout_s=60)
    assert (told.facts.outcome, shop.state) == (Outcome.POSTED, "review")
    assert kinds(told) == ["work", "finalize", "check"]
    first, second, _ = told.facts.parts
    assert (str(first.ended), second.ended) == (why, Ending.REPORT)
    assert (second.resumes, second.agent_session) == (True, first.agent_session)
    asked = prompt(shop, told, "finalize.md")
    assert asked.startswith("# STOP WORKING")
    assert f"colony-finalize: {told.facts.session}" in asked
    said = [each.text for each in shop.lines if each.kind == "work.finalize"]
    assert len(said) == 1
    assert first.agent_session in said[0]


def test_the_controller_sees_both_parts(shop: Shop) -> None:
    last = [{"say": "Now my report."}, *worker()]
    shop.play(work=ON_AND_ON, finalize=last)
    shown = prompt(shop, work(shop), "controller-prompt.md")
    assert "Part 1 — the worker" in shown
    assert "Part 2 — the step that only asked for the report" in shown
    assert shown.index("and again") < shown.index("Part 2") < shown.index("Now my report.")


def test_nothing_is_paid_twice(shop: Shop) -> None:
    """The agent tells the cost of its whole conversation; a part is charged its own share."""
    shop.play(work=ON_AND_ON, finalize=worker(), check=verdict())
    facts = work(shop).facts
    first, second, check = facts.parts
    assert second.total_cost_usd == pytest.approx(first.cost_usd + second.cost_usd)
    assert first.cost_usd == pytest.approx(0.40)
    assert second.cost_usd == pytest.approx(0.02)
    assert facts.cost_usd == pytest.approx(0.42 + check.cost_usd)
    assert {"finalize.usage", "finalize.cost"} <= set(shop.kinds())


@pytest.mark.parametrize(
    "script",
    [
        SILENT,
        ON_AND_ON,
        [{"exactly": {"result": "no more than this"}}],
        [{"result": {"stop_reason": "refusal"}}],
    ],
    ids=["silent", "out of steps", "refused", "declined"],
)
def test_one_that_gives_no_report_then_either_is_given_back_once(
    shop: Shop, script: list[Script]
) -> None:
    """With the worker's reason, not that of the step."""
    shop.play(work=ON_AND_ON, finalize=script, fix=SILENT)
    told = work(shop)
    assert (told.facts.outcome, told.exit_code, shop.state) == (Outcome.NO_REPORT, 1, "open")
    [line] = run_lines(shop)
    assert (line.how, line.reason) == ("no report", Ending.OUT_OF_STEPS)
    moves = [each for each in shop.history().events if each.after == "open" and each.before]
    assert len(moves) == 1
    assert "check" not in kinds(told)


def test_a_step_that_hangs_is_killed_at_its_own_time(shop: Shop) -> None:
    shop.play(work=ON_AND_ON, finalize=[{"ignore_term": True}, *HANGS])
    time_flies(shop, "finalize", 601)
    told = work(shop, worker=shop.runner(timeout_s=3600), finalize_timeout_s=600)
    assert kinds(told) == ["work", "finalize"]
    assert told.facts.parts[1].ended is Ending.OUT_OF_TIME
    assert (told.facts.outcome, shop.state) == (Outcome.NO_REPORT, "open")
    failed = [each.text for each in shop.lines if each.kind == "work.finalize"][-1]
    assert failed == "FAILED — no report: out of time"


def test_without_steps_for_it_there_is_none(shop: Shop) -> None:
    shop.play(work=ON_AND_ON, finalize=worker())
    told = work(shop, finalize_max_turns=0)
    assert (kinds(told), shop.state) == (["work"], "open")
    assert "work.finalize" not in shop.kinds()


def test_slow_but_talking_is_never_stalled(shop: Shop) -> None:
    """Each word comes 700 s after the last one, and 1200 s without a word are too long."""
    steps = [shop.folder / f"step-{number}" for number in range(5)]
    waits = "while [ ! -e {} ]; do sleep 0.01; done"
    talk = [[{"run": waits.format(step)}, {"say": f"then {step.name}"}] for step in steps]
    shop.play(work=[NOTE, *(each for one in talk for each in one), *worker()])
    left = iter(steps)

    def acts(doing: Doing) -> None:
        step = next(left, None) if doing.what.endswith(" work") and doing.calls else None
        if step is not None:
            stream = next(shop.runs.glob("*/parts/1-work/stream.jsonl"))
            step.touch()
            until(lambda: f"then {step.name}" in stream.read_text("utf-8"))
            shop.time.pass_by(700)

    shop.doings = Looks(acts)
    told = work(shop, worker=shop.runner(timeout_s=1_000_000), stall_s=1200)
    assert next(left, None) is None, "all the time has passed"
    assert (told.facts.outcome, kinds(told)) == (Outcome.POSTED, ["work", "check"])


def test_where_nobody_watches_nobody_is_stalled(shop: Shop) -> None:
    shop.play(work=HANGS, finalize=worker())
    time_flies(shop, "work", 1300)
    told = work(shop, worker=shop.runner(timeout_s=3000), stall_s=0)
    assert told.facts.parts[0].ended is Ending.OUT_OF_TIME


WARNING: Script = {
    "event": {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed_warning"}}
}


def test_near_the_limit_it_stops_by_itself_and_is_half_done(shop: Shop) -> None:
    """Neither done nor failed: what there is is told, and the next worker goes on."""
    half = DONE | {"complete": False, "open": ["the lock"]}
    shop.play(
        work=[NOTE, WARNING, {"say": "I wrap up: the limit is near."}],
        finalize=[NOTE, {"answer": half}],
    )
    told = work(shop)
    assert told.facts.parts[0].ended is Ending.NEAR_LIMIT
    assert (told.facts.outcome, told.exit_code, shop.state) == (Outcome.HALF_DONE, 0, "open")
    assert str(SHOP) in told.line.text


def test_out_of_steps_while_a_person_moved_the_ticket_asks_nobody(shop: Shop) -> None:
    shop.play(work=ON_AND_ON, finalize=worker())
    session = shop.new(finalize_max_turns=8).session

    def saved(moment: str) -> None:
        parts = shop.facts(session).parts
        if moment == "after" and len(parts) == 1 and parts[0].ended and shop.state == "progress":
            shop.moves("pending", "Wait.")

    facts = shop.go(session, saved=saved).facts
    assert shop.state == "pending"
    assert facts.outcome == Outcome.MOVED
