"""Seed mission 026: half done is said so, what a part left running is ended, the ask is cheap."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from shop import DONE, NOTE, Script, Shop, verdict, worker

from colony.coding.protocol import Invocation, PartFolders, PartOrder
from colony.coding.stand_in.agent import StandIn
from colony.core.markers import Report, marker_of
from colony.core.session import Outcome, Runner

MARK = f"{75_000_000 + os.getpid()}"
"""Seconds that only processes of this test process sleep."""
ON_AND_ON: list[Script] = [{"repeat": 50, "actions": [{"say": "and again"}]}]
HALF = DONE | {"complete": False, "open": ["the lock", "the hinge"]}


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """Which edge reaches the tracker plays no part here."""
    made = Shop(tmp_path / "shop")
    yield made
    made.close()


def asleep() -> bool:
    """Whether any process still sleeps these seconds."""
    found = Path("/proc").glob("[0-9]*/cmdline")
    return any(_reads(each) == b"sleep\0" + MARK.encode() + b"\0" for each in found)


def _reads(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_report_that_says_half_done_is_posted_so_and_the_next_one_goes_on(shop: Shop) -> None:
    shop.play(work=ON_AND_ON, finalize=[NOTE, {"answer": HALF}])
    told = shop.work(finalize_max_turns=8)
    assert (told.facts.outcome, told.exit_code, shop.state) == (Outcome.HALF_DONE, 0, "open")
    comment = next(text for text in shop.told() if "Half done, " in text)
    assert "the next worker goes on from here: The gate opens again" in comment
    assert "the lock" in comment
    [line] = [each for each in map(marker_of, shop.history().events) if isinstance(each, Report)]
    assert (line.session, line.half_done) == (told.facts.session, True)
    shop.play()
    again = shop.work(finalize_max_turns=8)
    assert again.facts.outcome == Outcome.POSTED
    brief = (shop.folder_of(again.facts.session).path / "brief.md").read_text("utf-8")
    previous = brief[brief.index("## Previous attempt") :]
    assert told.facts.session in previous
    assert "the hinge" in previous


@pytest.mark.parametrize("kind", ["work", "finalize", "fix", "check"])
def test_what_a_part_left_running_ends_with_it(shop: Shop, kind: str) -> None:
    """Whatever kind of part it was; and before its end is on record."""
    scripts = {"work": ON_AND_ON, "finalize": worker(), "fix": worker(), "check": verdict()}
    if kind == "fix":
        scripts["work"] = [{"say": "That is all."}]
    mark = shop.folder / "left"
    begun = {"daemon": f"touch {mark}; exec sleep {MARK}"}
    waits = {"run": f"while [ ! -e {mark} ]; do sleep 0.01; done"}
    scripts[kind] = [begun, waits, *scripts[kind]]
    shop.play(**scripts)
    left: list[str] = []

    def saved(moment: str) -> None:
        parts = shop.facts(session).parts
        if moment == "after" and parts and parts[-1].ended and asleep():
            left.append(parts[-1].kind)

    session = shop.new(finalize_max_turns=8).session
    facts = shop.go(session, saved=saved).facts
    assert facts.outcome == Outcome.POSTED
    assert kind in [part.kind for part in facts.parts]
    assert mark.exists()
    assert left == []


def test_the_ask_changes_nothing_that_the_provider_has_kept(shop: Shop) -> None:
    """A resumed call is cheap while its tools, model, mode and schema are those of before."""
    orders: list[PartOrder] = []
    folders: list[PartFolders] = []

    class Seen(StandIn):
        def invocation(
            self, order: PartOrder, folder: PartFolders, environ: Mapping[str, str]
        ) -> Invocation:
            orders.append(order)
            folders.append(folder)
            return StandIn.invocation(self, order, folder, environ)

    def agent(runner: Runner) -> StandIn:
        return Seen(Path(runner.program))

    shop.agent = agent  # type: ignore[method-assign]
    shop.play(work=ON_AND_ON, finalize=worker())
    facts = shop.work(finalize_max_turns=8).facts
    assert [part.kind for part in facts.parts] == ["work", "finalize", "check"]
    first, second, check = orders
    assert (first.max_turns, second.max_turns, second.resume) == (40, 8, True)
    same = {"agent_session", "schema", "model", "permission_mode", "allowed_tools"}
    for name in (*same, "disallowed_tools", "max_budget_usd", "project_settings"):
        assert getattr(first, name) == getattr(second, name), name
    assert folders[0] == folders[1]
    assert check.disallowed_tools, "the controller is a conversation of its own"


def test_a_half_done_session_costs_its_ticket_no_failed_check(shop: Shop) -> None:
    shop.play(work=worker(complete=False, open=["the lock"]))
    for _ in range(2):
        assert shop.work(max_fails=1).facts.outcome == Outcome.HALF_DONE
    assert (shop.state, shop.others) == ("open", [])
