"""What follows each ending of each kind of part, and what holds for every course of a session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

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
    Outcome,
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
from colony.core.session.steps import UNTIL_ASKED_MS, Park, Parked, Resume, TellPark
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


JUDGED = replace(
    REPORTED,
    parts=(*REPORTED.parts, part(2, "check", Ending.REPORT)),
    verdict=VerdictFacts(2, "a", valid=True, passed=True),
)
POSTING = replace(
    JUDGED, occasion=Occasion.PASSED, outbox=(Effect("comment", "comment", text="x"),)
)
STAGES: Final = {"leased": LEASED, "reported": REPORTED, "judged": JUDGED}


@pytest.mark.parametrize("stage", STAGES)
def test_what_a_person_asked_for_comes_before_all_else(stage: str) -> None:
    facts = STAGES[stage]
    assert next_step(replace(facts, asked="stop"), NOW) == Compose(Occasion.STOPPED)
    assert next_step(replace(facts, asked="park"), NOW) == Park("asked", NOW + UNTIL_ASKED_MS)


def test_a_stop_reaches_a_session_that_is_parked_already() -> None:
    park = ParkFacts(1, "limit", 1, NOW + 9_000, NOW + 9_000, "x", told=True)
    facts = replace(LEASED, parts=(part(1, "work", Ending.LIMIT),), parks=(park,))
    assert next_step(facts, NOW) == Parked(park)
    assert next_step(replace(facts, asked="stop"), NOW) == Compose(Occasion.STOPPED)


def test_an_order_waits_for_the_end_of_a_part_and_not_for_what_is_being_posted() -> None:
    running = replace(LEASED, parts=(replace(part(1, "work", Ending.REPORT), ended=None),))
    assert next_step(replace(running, asked="stop"), NOW) == Settle(1)
    assert next_step(replace(POSTING, asked="stop"), NOW) == Send(POSTING.outbox[0])


HALTED = replace(LEASED, parts=(part(1, "work", Ending.STOPPED),))
ANSWERED = replace(part(1, "work", Ending.REPORT), answer_sha256="a")


@pytest.mark.parametrize("asked", [None, "stop", "park"])
@pytest.mark.parametrize(
    ("facts", "moved", "taken"),
    [
        (LEASED, End(Outcome.MOVED), End(Outcome.LATE)),
        (HALTED, End(Outcome.MOVED), End(Outcome.LATE)),
        (replace(LEASED, parts=(ANSWERED,)), Validate(1), Validate(1)),
        (REPORTED, RunPart("check"), Compose(Occasion.LATE)),
        (replace(REPORTED, post=False), RunPart("check"), End(Outcome.LATE)),
        (JUDGED, Compose(Occasion.PASSED), Compose(Occasion.LATE)),
        (POSTING, Send(POSTING.outbox[0]), Send(POSTING.outbox[0])),
    ],
)
def test_what_follows_where_the_lease_is_lost(
    facts: Facts, moved: Step, taken: Step, asked: Literal["stop", "park"] | None
) -> None:
    """No order and no pause counts any more; work that is done is filed, none is begun."""
    facts = replace(facts, asked=asked)
    assert next_step(replace(facts, lost="moved"), NOW) == moved
    assert next_step(replace(facts, lost="taken"), NOW) == taken


@pytest.mark.parametrize("deaths", range(5))
@pytest.mark.parametrize("broken", range(4))
def test_deaths_of_the_session_and_of_its_agent_count_together(deaths: int, broken: int) -> None:
    """Two may be taken up again, whichever they were; a third gives the ticket back."""
    parts = tuple(part(number + 1, "work", Ending.CRASHED) for number in range(broken))
    facts = replace(LEASED, parts=parts, deaths=deaths)
    allowed = deaths + broken <= SETUP.crash_resumes
    again = RunPart("work", "u") if broken else RunPart("work")
    assert next_step(facts, NOW) == (again if allowed else BACK)


@pytest.mark.parametrize("deaths", range(5))
def test_deaths_before_a_check_cost_the_verdict_and_not_the_report(deaths: int) -> None:
    allowed = deaths <= SETUP.crash_resumes
    facts = replace(REPORTED, deaths=deaths)
    assert next_step(facts, NOW) == (RunPart("check") if allowed else Compose(Occasion.NO_VERDICT))
    rests = replace(facts, post=False)
    assert next_step(rests, NOW) == (RunPart("check") if allowed else Rest(judged=False))


def test_a_death_is_counted_once_and_never_twice_for_the_same_part() -> None:
    running = replace(LEASED, parts=(replace(part(1, "work", Ending.REPORT), ended=None),))
    assert taken_up(LEASED).deaths == 1
    assert taken_up(running).deaths == 0, "the part's own ending counts"
    assert taken_up(replace(LEASED, left=True)).deaths == 0, "it was left in order"
    assert taken_up(replace(JUDGED, outcome=Outcome.POSTED)).deaths == 0
    assert not taken_up(replace(LEASED, left=True)).left


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

Event = Literal["", "stop", "park", "death", "moved", "taken"]
"""What happens between two steps; mostly nothing."""
EVENTS = st.lists(st.sampled_from(["", "", "", "stop", "park", "death", "moved", "taken"]))


class World:
    """Does each step as `flow` does, with drawn outcomes; then the last one for ever."""

    def __init__(
        self, outcomes: Sequence[Drawn], last: Drawn, post: bool, events: Sequence[Event] = ()
    ) -> None:
        self.facts = replace(NEW, post=post)
        self.events = list(events)
        self.stopped_at: int | None = None
        """How many steps had been taken when a stop that counts was asked for."""
        self.outcomes = list(outcomes)
        self.last = last
        self.valid = True
        self.now_ms = NOW
        self.steps: list[Step] = []

    def run(self, most: int) -> Step:
        """The step with which the session ends or rests, or is parked with nothing drawn left."""
        for _ in range(most):
            self.happen(self.events.pop(0) if self.events else "")
            step = next_step(self.facts, self.now_ms)
            self.steps.append(step)
            more = self.events or (self.outcomes and isinstance(step, Parked))
            if isinstance(step, End) or (isinstance(step, Rest | Parked) and not more):
                return step
            if not isinstance(step, Rest):
                self.do(step)
        raise AssertionError(f"no end: {self.steps[-12:]}")

    def happen(self, event: Event) -> None:
        """As `flow` writes it down: orders and losses only of what is held and not yet posted."""
        if event == "death":
            self.facts = taken_up(self.facts)
        if self.facts.lease is None or self.facts.occasion is not None:
            return
        if event in ("moved", "taken"):
            self.facts = replace(self.facts, lost=self.facts.lost or event)
        elif event == "stop":
            self.facts = replace(self.facts, asked=event)
            if self.facts.lost is None and self.stopped_at is None:
                self.stopped_at = len(self.steps)
        elif event == "park" and self.facts.asked != "stop" and self.facts.parked is None:
            self.facts = replace(self.facts, asked=event)

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


WORLDS = st.builds(World, st.lists(DRAWN, max_size=25), DRAWN, st.booleans(), EVENTS)
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


@given(WORLDS)
def test_once_stopped_nothing_more_is_started(world: World) -> None:
    """From the order on, unless the lease was lost before it could be given back."""
    last = world.run(MOST)
    if world.stopped_at is None or world.facts.lost is not None:
        return
    after_it = world.steps[world.stopped_at :]
    assert not any(isinstance(each, RunPart | Park | TellPark | Resume) for each in after_it)
    assert last == End(Outcome.GIVEN_BACK)


@given(WORLDS)
def test_once_lost_the_worker_is_never_started_again(world: World) -> None:
    inner = world.do

    def do(step: Step) -> None:
        if isinstance(step, RunPart) and step.kind != "check":
            assert world.facts.lost is None
        if isinstance(step, RunPart):
            assert world.facts.lost != "taken"
        inner(step)

    world.do = do  # type: ignore[method-assign]
    world.run(MOST)
