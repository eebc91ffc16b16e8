"""A process that dies at any instant: the next one ends the session as if nothing had happened.

It dies before and after each write of the tracker and each commit of `session.json`. What stands
in the tracker at the end, and the bytes of the outbox, are those of a session that was left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shop import ASKS, ISSUE, Judged, Script, Shop, outbox_of, shape, verdict, worker

from colony.core.outbox import Effect
from colony.core.session import Facts, Outcome
from colony.core.ticket import Event
from tests.fakes.meddled import Call, Crash, Meddle, Moment, lost


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """Every instant costs a session: over HTTP only what is named so."""
    made = Shop(tmp_path / "shop")
    yield made
    made.close()


RULED = verdict(questions=[{"index": 0, "ruling": "ask", "reason": "it matters", "answer": ""}])
FAILS = verdict(verdict="fail", findings=[], summary="It does not open.")


@dataclass
class Fate:
    """Dies at the `number`th instant that is passed, and counts them."""

    number: int
    passed: int = 0
    armed: bool = True

    def instant(self) -> None:
        self.passed += self.armed
        if self.armed and self.passed == self.number:
            self.armed = False
            raise Crash

    def meddle(self, moment: Moment, call: Call) -> None:
        if call.writes:
            self.instant()

    def saved(self, moment: str) -> None:
        self.instant()


def live(shop: Shop, session: str, *fates: Fate) -> Facts:
    """Processes take the session forward, each to its fate, the last one to the end."""
    for fate in (*fates, Fate(0)):
        try:
            return shop.go(session, fate.meddle, fate.saved).facts
        except Crash:
            continue
    raise AssertionError("a session that nobody kills ends")


def everything(shop: Shop) -> list[tuple[str, str, str, str, str]]:
    """All that happened to all tickets, in order, without ids, times and prices."""
    events = tuple(each.event for each in shop.colony.changes(0, 10_000).events)
    return [
        (kind, author, before, after, _timeless(event))
        for event, (kind, author, before, after) in zip(events, shape(events), strict=True)
    ]


def _timeless(event: Event) -> str:
    text = re.sub(r"\bms \d+|sha256 [0-9a-f]+|s-\d{8}T\d{4}-[0-9a-f]{6}", "…", event.text)
    text = text.replace(" · lower bound", "")
    return re.sub(r"(at least )?\$\d+\.\d\d.*|cost \d+\.\d\d|steps \d+", "…", text)


# --- in the middle of the work and its check ---------------------------------------------------

INSTANTS = 22
"""From the first intent to the verdict: commits before and after, and the take."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, str, str, str]]:
    shop = Shop(tmp_path_factory.mktemp("undisturbed") / "shop")
    live(shop, shop.new().session)
    found = everything(shop)
    shop.close()
    return found


@pytest.mark.parametrize("number", range(1, INSTANTS + 2))
def test_killed_before_its_verdict_it_ends_as_if_nothing_had_happened(
    shop: Shop, number: int, undisturbed: list[tuple[str, str, str, str, str]]
) -> None:
    session = shop.new().session
    fate = Fate(number)
    facts = live(shop, session, fate)
    assert not fate.armed, "it died"
    assert facts.outcome == Outcome.POSTED
    assert everything(shop) == undisturbed
    assert len(facts.parts) <= 3, "at most the part that ran is repeated"
    assert all(part.ended is not None for part in facts.parts)
    assert not list((shop.folder_of(session).path / "tmp").iterdir())


def test_those_are_all_instants_before_the_verdict(shop: Shop) -> None:
    fate = Fate(0)
    session = shop.new(post=False).session
    shop.go(session, fate.meddle, fate.saved)
    assert fate.passed == INSTANTS + 2, "and one commit more: it was left in order"


def test_a_part_that_keeps_killing_its_process_is_given_back(shop: Shop) -> None:
    """F9: counted before it is tried, and not tried for ever."""
    session = shop.new().session
    deaths = 0

    def saved(moment: str) -> None:
        parts = shop.facts(session).parts
        if moment == "after" and len(parts) > deaths and parts[-1].process is not None:
            raise Crash

    while deaths < 10 and shop.facts(session).outcome is None:
        try:
            shop.go(session, saved=saved)
        except Crash:
            deaths += 1
    outcome = shop.facts(session).outcome
    assert (deaths, outcome, shop.state) == (3, Outcome.GIVEN_BACK, "open")


# --- while it posts ----------------------------------------------------------------------------

ENDS: dict[Outcome, tuple[Script, dict[str, object]]] = {
    Outcome.POSTED: ({"work": worker(issues=[ISSUE], questions=[ASKS]), "check": RULED}, {}),
    Outcome.HALF_DONE: ({"work": worker(complete=False)}, {}),
    Outcome.SENT_BACK: ({"check": FAILS}, {}),
    Outcome.QUESTION: ({"check": FAILS}, {"max_fails": 1}),
    Outcome.READY: ({}, {"live": "https://shop.example"}),
    Outcome.NO_VERDICT: ({"check": [{"exit": 0}]}, {}),
}


@pytest.fixture(
    scope="module",
    params=[*((end, "embedded") for end in ENDS), (Outcome.POSTED, "http")],
    ids=lambda param: f"{param[0]}-{param[1]}",
)
def ending(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Outcome, Judged]]:
    outcome, edge = request.param
    script, setup = ENDS[outcome]
    made = Judged(tmp_path_factory.mktemp("judged"), script, setup, edge)
    yield outcome, made
    made.close()


def test_killed_at_any_instant_of_its_posting_it_posts_everything_once(
    ending: tuple[Outcome, Judged],
) -> None:
    """F6, F7, F14: until a run passes without a death."""
    outcome, judged = ending
    shop = judged.again()
    left_alone = live(shop, judged.session)
    assert left_alone.outcome == outcome
    told = everything(shop)
    number, fate = 0, Fate(0)
    while fate.passed >= number:
        number += 1
        shop, fate = judged.again(), Fate(number)
        rendered: list[list[Effect]] = []
        facts = live(shop, judged.session, watched(shop, judged.session, fate, rendered))
        assert everything(shop) == told, f"instant {number}"
        assert facts.outcome == outcome
        assert all(each == outbox_of(facts) for each in rendered), "sent as it was rendered"
        assert len(facts.parts) == len(left_alone.parts)
    assert number > 6


def watched(shop: Shop, session: str, fate: Fate, rendered: list[list[Effect]]) -> Fate:
    """The same fate; the outbox on disk is looked at whenever it is written."""

    class Watched(Fate):
        def meddle(self, moment: Moment, call: Call) -> None:
            if call.writes and moment == "before":
                rendered.append(outbox_of(shop.facts(session)))
            fate.meddle(moment, call)

        def saved(self, moment: str) -> None:
            fate.saved(moment)

    return Watched(fate.number)


@given(first=st.integers(1, 14), second=st.integers(1, 14), third=st.integers(1, 14))
@settings(max_examples=12, suppress_health_check=[*HealthCheck])
def test_a_recovery_may_die_as_well(doomed: Judged, first: int, second: int, third: int) -> None:
    """F9."""
    shop = doomed.again()
    facts = live(shop, doomed.session, Fate(first), Fate(second), Fate(third))
    assert facts.outcome == Outcome.POSTED
    assert [each for each in shop.told() if "colony-report:" in each] == [shop.told()[-2]]
    assert len(shop.others) == 2


@pytest.fixture(scope="module")
def doomed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    script, _ = ENDS[Outcome.POSTED]
    made = Judged(tmp_path_factory.mktemp("doomed"), script)
    yield made
    made.close()


# --- answers that are lost, or come twice ------------------------------------------------------


def test_each_answer_that_is_lost_is_asked_for_again_and_nothing_happens_twice(
    ending: tuple[Outcome, Judged],
) -> None:
    """F38, each write by itself, then all of them."""
    outcome, judged = ending
    keys: list[str] = []

    def listen(moment: Moment, call: Call) -> None:
        if call.writes and moment == "before":
            keys.append(call.key)

    shop = judged.again()
    shop.go(judged.session, listen)
    told = everything(shop)
    assert len(set(keys)) == len(keys)
    for meddle in (*(lost(key) for key in keys), lost()):
        shop = judged.again()
        assert shop.go(judged.session, meddle).facts.outcome == outcome
        assert everything(shop) == told


def test_a_write_that_arrives_twice_has_one_effect(ending: tuple[Outcome, Judged]) -> None:
    """F39: a proxy repeats every request."""
    outcome, judged = ending
    shop = judged.again()
    live(shop, judged.session)
    told = everything(shop)
    shop = judged.again()
    colony = shop.colony

    def twice(moment: Moment, call: Call) -> None:
        if call.writes and moment == "after":
            getattr(colony, call.name)(*call.args, **call.more)

    assert shop.go(judged.session, twice).facts.outcome == outcome
    assert everything(shop) == told


Meddler = Callable[[Shop], Meddle]


def test_the_whole_session_with_every_answer_lost_once(
    shop: Shop, undisturbed: list[tuple[str, str, str, str, str]]
) -> None:
    assert shop.go(shop.new().session, lost()).facts.outcome == Outcome.POSTED
    assert everything(shop) == undisturbed


def test_a_session_that_gives_back_does_it_once(tmp_path: Path) -> None:
    """Its one write, killed before and after it and its commits."""
    number, fate = 0, Fate(0)
    while fate.passed >= number:
        number += 1
        shop, fate = Shop(tmp_path / f"{number}"), Fate(number)
        shop.play(work=[{"say": "That is all."}])
        session = shop.new().session

        def after_the_work(moment: str) -> None:
            if shop.facts(session).parts and shop.facts(session).parts[0].ended:  # noqa: B023
                fate.saved(moment)  # noqa: B023

        def meddle(moment: Moment, call: Call) -> None:
            if shop.facts(session).occasion:  # noqa: B023
                fate.meddle(moment, call)  # noqa: B023

        try:
            facts = shop.go(session, meddle, after_the_work).facts
        except Crash:
            facts = shop.go(session).facts
        assert (facts.outcome, shop.state) == (Outcome.NO_REPORT, "open")
        assert sum("colony-run:" in text for text in shop.told()) == 1
        shop.close()
    assert number > 5
