"""Take a session forward: the next step, and the next, until it ends or has to wait.

`work`, `check`, `salvage`, a resume and the recovery after a crash are all this. Each step reads
the facts, does one thing, and writes the facts down before the next: intent, effect, result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from colony.core.session import (
    UNTIL_ASKED_MS,
    Compose,
    End,
    Facts,
    MakeReady,
    Merge,
    Outcome,
    Park,
    Parked,
    ParkFacts,
    Rest,
    Resume,
    RunPart,
    SaveWork,
    Send,
    Settle,
    Step,
    Take,
    TellPark,
    Validate,
    Wait,
    effect_done,
    next_step,
    park_changed,
)
from colony.core.survey import Survey
from colony.core.ticket import History
from colony.errors import ColonyError, NotFound
from colony.flow import parking, posting, telling
from colony.flow.answers import validated, without
from colony.flow.assignment import Since
from colony.flow.bench import Bench
from colony.flow.briefing import gather, wanted_by
from colony.flow.evidence import BRIEF, Spoiled, judged_of
from colony.flow.growth import grown
from colony.flow.hold import Holder, patiently
from colony.flow.observe import people_in
from colony.flow.parts import Parts
from colony.flow.session_record import Record
from colony.flow.take import ANSWER_S, Hold, regain, take
from colony.flow.tenure import Tenure
from colony.flow.tree_work import TreeWork
from colony.host.control import Asked
from colony.host.ended import note_ended

NEWS_S: Final = 10.0
"""How long what came meanwhile is asked for, before a part goes on without it."""


class Stopped(ColonyError):
    """A stop was asked for, and done in order; the session is on disk and goes on from there."""

    exit_code = 0
    code = "stopped"

    def __init__(self, facts: Facts) -> None:
        ref = facts.ticket
        super().__init__(
            f"{ref}: stopped as asked; session {facts.session} is kept:"
            f" colony work {ref.project} {ref.number} goes on{' and posts' if facts.post else ''}"
        )
        self.facts = facts


class Interrupted(ColonyError):
    """A second stop: nothing more is written down, nothing of it runs any more."""

    code = "interrupted"

    def __init__(self, facts: Facts, signal: int) -> None:
        super().__init__(f"{facts.ticket}: ended at once; session {facts.session} is kept")
        self.exit_code = 128 + signal  # type: ignore[misc]


class _StopAsked(ColonyError):
    """Somebody waited, and a stop came."""


class Session:
    """One session in this process. It holds the run folder's lock for as long as it lives."""

    def __init__(self, bench: Bench, facts: Facts) -> None:
        self.bench = bench
        self.record = Record(bench, facts)
        self._heard = 0
        """Stop signals that have been acted on."""
        self.holder = Holder(
            tracker=bench.tracker,
            clock=bench.place.clock,
            ref=facts.ticket,
            session=facts.session,
            host=facts.host,
            ttl_ms=facts.setup.ttl_ms,
            pause=self._pause,
            threads=bench.place.threads,
        )
        self._tenure = Tenure(self.holder, bench.place.signals.wake, self.record.news.tell)
        self._parts = Parts(self.record, self._tenure, self._stops)
        self._tree = TreeWork(self.record, self._leaves_off)

    @property
    def facts(self) -> Facts:
        return self.record.facts

    def save(self, facts: Facts) -> None:
        self.record.save(facts)

    def advance(self) -> Step:
        """Steps until the session ends (`End`), rests with its result kept (`Rest`) or is paused
        (`Parked`). Whatever it comes to in order is on record, so that a death is told from it."""
        try:
            step = self._to_the_end()
        except Interrupted:
            raise
        except ColonyError:
            # Stopped in order, or kept by a failure: this process works on it no more.
            self._leave()
            raise
        finally:
            self.release()
        if not isinstance(step, End):
            self._leave()
        return step

    def _leave(self) -> None:
        self.release()
        if self.facts.lease is not None and not self.facts.left:
            # Where this cannot be written the session counts as one that died; nothing is lost.
            with contextlib.suppress(ColonyError):
                self.save(replace(self.facts, left=True))
        self.record.news.rests(self.facts)

    def _to_the_end(self) -> Step:
        try:
            while True:
                self._take_orders()
                step = next_step(self.facts, self._now_ms())
                if isinstance(step, End):
                    self._end(step)
                if isinstance(step, End | Rest | Parked):
                    return step
                if self._stops() and (parked := self._stop()) is not None:
                    return parked
                try:
                    _STEPS[type(step)](self, step)
                except Spoiled as spoiled:
                    self._spoiled(spoiled)
                except _StopAsked:
                    continue
                if isinstance(step, Park | TellPark) and (park := self._untold()) is not None:
                    return Parked(park)
        except NotFound:
            if self.facts.lease is None:
                raise
            return self._gone()

    def _untold(self) -> ParkFacts | None:
        """The pause that nobody could be told of: it holds all the same."""
        park = self.facts.parked
        return park if park and not park.told and self.facts.lost is None else None

    def _take_orders(self) -> None:
        """What a person asked for goes on record; the signal that came with it is heard: the signal
        is sent while the order lies there, so that it has come once the order is taken away."""
        facts = self.facts
        asked = self.bench.orders.of(facts.session)
        if asked is None:
            return
        if facts.lease is None and facts.occasion is None:
            # Whether the ticket is this session's is not known yet: the order waits for the take.
            self._heard = self.bench.place.signals.count
            return
        if facts.occasion is None:
            self.save(self._with_order(asked))
        self.bench.orders.done(facts.session, asked)
        self._heard = self.bench.place.signals.count

    def _with_order(self, asked: Asked) -> Facts:
        """One that is parked already and shall be waits for a person from now on."""
        park = self.facts.parked
        if asked != "park" or park is None:
            return replace(self.facts, asked=asked)
        until_ms = self._now_ms() + UNTIL_ASKED_MS
        return park_changed(self.facts, replace(park, reason="asked", resume_ms=until_ms))

    def _stop(self) -> Parked | None:
        """The first stop: what is held is parked, what is being posted stays in the outbox."""
        facts, signals = self.facts, self.bench.place.signals
        self.record.news.hurry()
        if signals.count - self._heard > 1:
            raise Interrupted(facts, int(signals.first or 15))
        self._tenure.release(quick=True)
        if facts.lease is None or facts.occasion is not None or facts.lost is not None:
            raise Stopped(facts)
        self.park(Park("stop", self._now_ms()))
        park = self.facts.parked
        return None if park is None else Parked(park)

    def regain(self) -> None:
        """Hold the lease of the facts from now on; where it is lost, that is written down."""
        self.release()
        try:
            if self.facts.parked is not None:
                history = patiently(self.holder, self._read, ANSWER_S)
                self.save(parking.still_parked(self.facts, history))
                return
            found = regain(self.holder, self.facts)
        except NotFound:
            self._gone()
            return
        except _StopAsked:
            self._leave()
            raise Stopped(self.facts) from None
        if isinstance(found, str):
            self.save(replace(self.facts, lost=found))
        else:
            self.save(replace(self.facts, lease=found.lease, lost=None))
            self.hold(found)

    def _read(self) -> History:
        return self.holder.tracker.ticket(self.holder.ref)

    def hold(self, held: Hold) -> None:
        """Keep this lease alive from now on."""
        self._tenure.keep(held, self.facts.setup.heartbeat_ms)

    def release(self) -> None:
        self._tenure.release()

    # --- the steps ---------------------------------------------------------------------------

    def take(self, _: Take) -> None:
        facts, held = take(self.holder, self.bench.view, self._write_brief, self.facts)
        self.save(facts)
        self.hold(held)
        self.bench.emit(telling.leased(facts))

    def _write_brief(self, survey: Survey, history: History, facts: Facts) -> Facts:
        """The brief and the intent to take, on disk before the take is sent."""
        setup = grown(facts.setup, history, survey.people_of(history.ticket))
        facts = replace(facts, setup=setup)
        made = gather(self.bench.sources, survey, history, wanted_by(facts))
        sha256 = self.bench.place.folder.write(
            BRIEF, self.bench.sources.templates.brief(made).encode()
        )
        facts = replace(
            facts,
            brief_sha256=sha256,
            brief_event=history.ticket.last_event,
            earlier=made.previous.session if made.previous and made.previous.here else "",
            strangers=made.strangers,
        )
        self.save(facts)
        return facts

    def settle(self, step: Settle) -> None:
        self._parts.settle(step)

    def run_part(self, step: RunPart) -> None:
        if self._tenure.over:
            # Lost, or out of trust while the tracker was silent: what is next depends on which.
            self.regain()
            return
        since = self._since() if step.kind == "work" and step.resumes else Since()
        self._parts.run(step, since)

    def _since(self) -> Since:
        """What people wrote since the brief, for a worker that goes on. A tracker that does not
        answer keeps nobody from working."""
        names, project = self.bench.view.creator_names, self.facts.ticket.project
        try:
            history = patiently(self.holder, self._read, NEWS_S)
            people = people_in(self.holder.tracker, names, project)
        except (_StopAsked, NotFound):
            raise
        except ColonyError:
            return Since()
        return Since(posting.later_comments(history, self.facts.brief_event), people)

    def _spoiled(self, spoiled: Spoiled) -> None:
        self.bench.emit(telling.spoiled(self.facts, str(spoiled)))
        self.save(without(self.facts, spoiled))

    def make_ready(self, _: MakeReady) -> None:
        if self._tenure.over:
            self.regain()
        else:
            self._tree.make_ready()

    def save_work(self, step: SaveWork) -> None:
        if self._tenure.over and self.facts.lost is None:
            self.regain()
        else:
            self._tree.save_work(step)

    def merge(self, _: Merge) -> None:
        self._tree.merge()

    def validate(self, step: Validate) -> None:
        facts, lines = validated(self.bench, self.facts, self.facts.parts[step.part - 1])
        self.save(facts)
        for line in lines:
            self.bench.emit(line)

    def tell_verdict(self) -> None:
        """Say again what the kept verdict says; nothing where there is none."""
        try:
            judged = judged_of(self.bench, self.facts)
        except Spoiled:
            return
        if judged is not None:
            for line in telling.verdict(self.facts, *judged):
                self.bench.emit(line)

    def compose(self, step: Compose) -> None:
        seen = posting.seen(self.holder, self.bench.view, self.facts)
        judged = judged_of(self.bench, self.facts)
        ruled = judged[1] if judged else None
        self.save(posting.compose(self.facts, step.occasion, ruled, seen))

    def send(self, step: Send) -> None:
        lease = self.facts.lease
        sending = posting.Sending(lease.token if lease else None, self.facts.outbox)
        effect, line = posting.send(self.holder, sending, step.effect)
        self.save(effect_done(self.facts, effect))
        if line.kind == "posted" and effect.kind == "move" and not self.facts.post:
            # Without leave to post, it moves the ticket only to give its lease back.
            line = replace(line, kind="lease", text=f"given back, {line.text}")
        self.bench.emit(line)

    def park(self, step: Park) -> None:
        """The box is empty. From here on the session is parked, whether it can be told or not."""
        self.release()
        offset = self.bench.offset_minutes(step.resume_ms)
        park = parking.park_facts(self.holder, self.facts, step, offset)
        self.save(replace(park_changed(self.facts, park), asked=None))
        self.save(parking.told(self.holder, self.facts, park, quick=step.reason == "stop"))

    def tell_park(self, step: TellPark) -> None:
        self.save(parking.told(self.holder, self.facts, step.park, quick=False))

    def resume(self, step: Resume) -> None:
        self.save(parking.to_go_on(self.holder, self.facts, step.park))
        facts, held = parking.gone_on(self.holder, self.facts)
        self.save(facts)
        if held is not None:
            self.hold(held)

    def wait(self, step: Wait) -> None:
        while (left_ms := step.until_ms - self._now_ms()) > 0:
            self._pause(min(1.0, left_ms / 1000))

    def _end(self, step: End) -> None:
        if self.facts.outcome is None:
            self.save(replace(self.facts, outcome=step.outcome, ended_ms=self._now_ms()))
            note_ended(self.bench.place.folder.path.parent, self.facts.session)

    def _gone(self) -> Step:
        """The tracker has no such ticket any more; what was found stays in the run folder."""
        step = End(Outcome.GONE)
        self._end(step)
        return step

    # --- waiting -----------------------------------------------------------------------------

    def _now_ms(self) -> int:
        return self.bench.place.clock.wall_ms()

    def _pause(self, seconds: float) -> None:
        self.bench.place.signals.wait(seconds)
        if self._stops():
            raise _StopAsked

    def _leaves_off(self) -> bool:
        """What is not worth a part is left where it stands, and is done again."""
        return self._stops() or (self._tenure.over and self.facts.lost is None)

    def _stops(self) -> bool:
        return self.bench.place.signals.count > self._heard


_STEPS: Final[Mapping[type, Callable[[Session, Any], None]]] = {
    Take: Session.take,
    Settle: Session.settle,
    RunPart: Session.run_part,
    MakeReady: Session.make_ready,
    SaveWork: Session.save_work,
    Merge: Session.merge,
    Validate: Session.validate,
    Park: Session.park,
    TellPark: Session.tell_park,
    Resume: Session.resume,
    Compose: Session.compose,
    Send: Session.send,
    Wait: Session.wait,
}
