"""More steps after an attempt that ran short: a process that dies at the take changes nothing."""

from __future__ import annotations

import pytest
from shop import SHOP, Script, Shop, worker

from colony.core.admission import life_of
from colony.core.endings import Ending
from colony.core.session import Facts, Outcome
from colony.core.texts.retried import retried
from tests.fakes.meddled import Crash, Moment, at

RUNS_SHORT: list[Script] = [{"run": "echo more >> made.txt"}] * 50


def dies_at_the_take(shop: Shop, moment: Moment) -> str:
    """A session after one that ran short, whose process died at its first write."""
    shop.play(work=RUNS_SHORT)
    shop.work(worker=shop.runner(max_turns=4))
    session = shop.new(worker=shop.runner(max_turns=4)).session

    def die() -> None:
        raise Crash

    with pytest.raises(Crash):
        shop.go(session, at(moment, 1, die))
    assert steps_of(shop.facts(session)) == (4, 6)
    return session


def steps_of(facts: Facts) -> tuple[int, int]:
    return facts.setup.base_turns, facts.setup.worker.max_turns


def budget_of(shop: Shop, session: str) -> str:
    brief = shop.folder_of(session).read("brief.md", 10**6)
    assert brief is not None
    return brief.decode()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_taken_up_again_it_has_the_same_steps(shop: Shop, moment: Moment) -> None:
    session = dies_at_the_take(shop, moment)
    facts = shop.go(session).facts
    assert steps_of(facts) == (4, 6)
    assert "at most 6" in budget_of(shop, session)
    assert steps_of(shop.work(worker=shop.runner(max_turns=4)).facts) == (4, 9)


def test_the_ticket_as_it_is_when_taken_decides(shop: Shop) -> None:
    session = dies_at_the_take(shop, "before")
    shop.colony.comment(SHOP, retried(shop.time.wall_ms()), key=shop.key())
    assert steps_of(shop.go(session).facts) == (4, 4)
    assert "at most 4" in budget_of(shop, session)


EATS: Script = {
    "run": "python3 -c 'import time; kept = b\"x\" * 180_000_000; time.sleep(2)' || sleep 30"
}
"""Takes 190 MB, the agent's own among them, for two seconds; where it is killed the agent waits."""


def test_who_ran_out_of_memory_is_ended_and_the_next_one_gets_more(shop: Shop) -> None:
    """Here nobody but the look at its processes holds it to its limit."""
    shop.play(work=[EATS, *worker()])
    facts = shop.work(memory_mb=100, memory_max_mb=150).facts
    [part] = facts.parts
    assert (part.ended, part.cause) == (Ending.OUT_OF_MEMORY, "memory")
    assert part.peak_bytes > 150 << 20
    assert part.counted_by == "looked at"
    assert facts.setup.memory_max == 150 << 20
    [told] = [each for each in shop.told() if "ran out of memory" in each]
    assert "MiB, its limit is 150 MiB. The next worker tries." in told
    [usage] = [each.text for each in shop.lines if each.kind == "usage"]
    assert "ended: out of memory — it ran out of memory: it held up to " in usage
    facts = shop.work(memory_mb=100, memory_max_mb=150).facts
    assert facts.outcome is not Outcome.NO_REPORT
    assert [part.ended for part in facts.parts] == [Ending.REPORT, Ending.REPORT]
    assert facts.setup.starved == 1
    assert (facts.setup.memory_max, facts.setup.memory_expected) == (225 << 20, 150 << 20)
    assert life_of(facts).memory == 150 << 20
