"""What follows each ending of each kind of part, and what holds for every course of a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colony.core.endings import Ending, Exit
from colony.core.outbox import Effect
from colony.core.session import (
    Compose,
    End,
    Ended,
    Facts,
    LeaseFacts,
    Occasion,
    ParkFacts,
    PartFacts,
    ReportFacts,
    Rest,
    Runner,
    RunPart,
    Send,
    Settle,
    Setup,
    Step,
    Take,
    Validate,
    VerdictFacts,
    Wait,
    effect_done,
    next_step,
    part_ended,
    part_started,
)
from colony.core.session.changes import go_on_now, park_changed, taken_up
from colony.core.session.facts import PartKind
from colony.core.session.follows import BROKEN
from colony.core.session.steps import Park, Parked, Resume, TellPark
from colony.core.ticket import Ref
from colony.core.turn import Turn

NOW: Final = 1_800_000_000_000
RUNNER = Runner("claude", "claude", "sonnet", 120, 3600, "auto")
SETUP = Setup(RUNNER, RUNNER, "/dev/folder", (8700, 8709), "", False, 2, 7_200_000, 3_600_000, "on")
NEW = Facts("s-20260101T0000-abcdef", Ref("shop", 3), "h", True, NOW, SETUP)
LEASED = replace(NEW, lease=LeaseFacts(7, NOW + 7_200_000))

BACK = Compose(Occasion.NO_REPORT)
PARKS: Final = {Ending.LIMIT: "limit", Ending.PROVIDER: "provider", Ending.LOGIN: "login"}
FINALIZED: Final = {Ending.OUT_OF_STEPS, Ending.OUT_OF_TIME, Ending.STALLED, Ending.NEAR_LIMIT}
FIXED: Final = {Ending.REPORT, Ending.NO_REPORT, Ending.BAD_REPORT}
AGAIN: Final = {Ending.STOPPED, Ending.KILLED, Ending.CRASHED, Ending.LEASE_LOST}


def part(number: int, kind: PartKind, ended: Ending) -> PartFacts:
    return PartFacts(number, kind, "u", number > 1, NOW, ended=ended, ended_ms=NOW, met=True)


def after(kind: PartKind, ending: Ending) -> Step:
    """What the page says follows a part that left no answer."""
    if ending in PARKS:
        return Park(PARKS[ending], 0)  # type: ignore[arg-type]
    if ending in AGAIN:
        return RunPart(kind, "u")
    if kind == "work" and ending in FINALIZED:
        return RunPart("finalize", "u")
    if kind == "work" and ending in FIXED:
        return RunPart("fix", "u")
    return BACK


def course(kind: PartKind) -> Facts:
    first = {"work": None, "finalize": Ending.OUT_OF_STEPS, "fix": Ending.NO_REPORT}[kind]
    return replace(LEASED, parts=(part(1, "work", first),) if first else ())


@pytest.mark.parametrize("ending", Ending, ids=lambda each: each.name.lower())
@pytest.mark.parametrize("kind", ["work", "finalize", "fix"])
def test_what_follows_a_part_of_the_worker_without_an_answer(
    kind: PartKind, ending: Ending
) -> None:
    facts = course(kind)
    facts = replace(facts, parts=(*facts.parts, part(len(facts.parts) + 1, kind, ending)))
    step = next_step(facts, NOW)
    if isinstance(step, Park):
        assert step.resume_ms > NOW
        step = replace(step, resume_ms=0)
    assert step == after(kind, ending)


REPORTED = replace(
    LEASED, parts=(part(1, "work", Ending.REPORT),), report=ReportFacts(1, "a", valid=True)
)


@pytest.mark.parametrize("ending", Ending, ids=lambda each: each.name.lower())
def test_what_follows_a_check_without_a_verdict(ending: Ending) -> None:
    step = next_step(replace(REPORTED, parts=(*REPORTED.parts, part(2, "check", ending))), NOW)
    if ending in PARKS:
        assert isinstance(step, Park)
    elif ending in AGAIN:
        assert step == RunPart("check")
    else:
        assert isinstance(step, Wait)


@pytest.mark.parametrize("ending", sorted(FINALIZED | FIXED))
def test_without_steps_to_finalize_nothing_is_asked(ending: Ending) -> None:
    setup = replace(SETUP, finalize_max_turns=0)
    facts = replace(LEASED, setup=setup, parts=(part(1, "work", ending),))
    assert next_step(facts, NOW) == BACK


@pytest.mark.parametrize("ending", sorted(FINALIZED | FIXED))
def test_an_agent_that_never_named_its_session_is_not_asked(ending: Ending) -> None:
    facts = replace(LEASED, parts=(replace(part(1, "work", ending), met=False),))
    assert next_step(facts, NOW) == BACK


@dataclass(frozen=True)
class Drawn:
    """How the world answers one part."""

    ending: Ending
    valid: bool = True
    met: bool = True
    dies: bool = False
    """The process of the session, too."""


SUCCESS: Final = Drawn(Ending.REPORT)
DRAWN = st.builds(Drawn, st.sampled_from(Ending), st.booleans(), st.booleans(), st.booleans())


class World:
    """Does each step as `flow` does, with drawn outcomes; then the last one for ever."""

    def __init__(self, outcomes: Sequence[Drawn], last: Drawn, post: bool) -> None:
        self.facts = replace(NEW, post=post)
        self.outcomes = list(outcomes)
        self.last = last
        self.valid = True
        self.now_ms = NOW
        self.steps: list[Step] = []

    def run(self, most: int) -> Step:
        """The step with which the session ends or rests, or is parked with nothing drawn left."""
        for _ in range(most):
            step = next_step(self.facts, self.now_ms)
            self.steps.append(step)
            if isinstance(step, End | Rest) or (isinstance(step, Parked) and not self.outcomes):
                return step
            self.do(step)
        raise AssertionError(f"no end: {self.steps[-12:]}")

    def do(self, step: Step) -> None:
        match step:
            case Take():
                self.facts = replace(self.facts, lease=LEASED.lease)
            case Settle(number):
                self.end(number, replace(SUCCESS, ending=Ending.CRASHED))
            case RunPart(kind, resumes):
                self.part(kind, resumes)
            case Validate(number):
                self.read(number)
            case Park(reason, resume_ms):
                number = len(self.facts.parks) + 1
                park = ParkFacts(number, reason, len(self.facts.parts), resume_ms, resume_ms, "x")
                self.facts = park_changed(self.facts, park)
            case TellPark(park):
                self.facts = park_changed(self.facts, replace(park, told=True))
            case Parked():
                self.facts = go_on_now(self.facts, self.now_ms)
            case Resume(park):
                self.facts = park_changed(self.facts, replace(park, over=True))
            case Compose(occasion):
                outbox = (Effect("comment", "comment", text="x"), Effect("move", "move"))
                self.facts = replace(self.facts, occasion=occasion, outbox=outbox)
            case Send(effect):
                self.facts = effect_done(self.facts, replace(effect, status="done"))
            case Wait(until_ms):
                self.now_ms = until_ms
            case End() | Rest():
                raise AssertionError(step)

    def part(self, kind: PartKind, resumes: str) -> None:
        drawn = self.outcomes.pop(0) if self.outcomes else self.last
        name = resumes or f"u{len(self.facts.parts) + 1}"
        self.facts = part_started(self.facts, kind, name, self.now_ms, resumes=bool(resumes))
        if drawn.dies:
            self.facts = taken_up(self.facts)
            return
        self.end(len(self.facts.parts), drawn)

    def end(self, number: int, drawn: Drawn) -> None:
        name = self.facts.parts[number - 1].agent_session if drawn.met else ""
        turn = Turn(agent_session=name, turns=1)
        answer = "a" if drawn.ending is Ending.REPORT else ""
        ended = Ended(turn, Exit(code=0), drawn.ending, None, self.now_ms, answer)
        self.facts = part_ended(self.facts, number, ended)
        self.valid = drawn.valid
        if drawn.ending is Ending.STOPPED:
            self.facts = replace(self.facts, asked="park")
        if drawn.ending is Ending.LEASE_LOST:
            self.facts = replace(self.facts, lost="taken")

    def read(self, number: int) -> None:
        if self.facts.parts[number - 1].kind == "check":
            verdict = VerdictFacts(number, "a", valid=self.valid, passed=True)
            self.facts = replace(self.facts, verdict=verdict)
        else:
            self.facts = replace(self.facts, report=ReportFacts(number, "a", valid=self.valid))


WORLDS = st.builds(World, st.lists(DRAWN, max_size=25), DRAWN, st.booleans())
MOST: Final = 400


@given(WORLDS)
def test_every_session_ends_rests_or_is_parked(world: World) -> None:
    assert isinstance(world.run(MOST), End | Rest | Parked)


@given(WORLDS)
def test_the_report_is_asked_for_at_most_once_in_each_way(world: World) -> None:
    """A step that was itself interrupted, or that its account ended, is the same one going on."""
    world.run(MOST)
    for kind in ("finalize", "fix"):
        asked = [each for each in world.facts.parts if each.kind == kind]
        assert all(each.ended in BROKEN | set(PARKS) | AGAIN for each in asked[:-1])


@given(WORLDS)
def test_a_session_is_taken_up_so_often_after_a_death_and_no_more(world: World) -> None:
    world.run(MOST)
    broken = [each for each in world.facts.worked if each.ended in BROKEN]
    assert len(broken) <= SETUP.crash_resumes + 1


@given(WORLDS)
def test_nothing_of_an_interrupted_part_is_read(world: World) -> None:
    world.run(MOST)
    for step in world.steps:
        if isinstance(step, Validate):
            assert world.facts.parts[step.part - 1].ended is Ending.REPORT
    if world.facts.occasion in (Occasion.PASSED, Occasion.FAILED):
        assert world.facts.report is not None
        assert world.facts.report.valid
