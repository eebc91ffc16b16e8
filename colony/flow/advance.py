"""Take a session forward: the next step, and the next, until it ends or has to wait.

`work`, `check`, a resume and the recovery after a crash are all this. Each step reads the facts,
does one thing, and writes the facts down before the next: intent, effect, result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from colony.core.codec import to_json
from colony.core.endings import Cause
from colony.core.report import read_report
from colony.core.session import (
    Compose,
    End,
    Ended,
    Facts,
    Outcome,
    PartFacts,
    ProcessFacts,
    ReportFacts,
    Rest,
    RunPart,
    Send,
    Settle,
    Step,
    Take,
    Validate,
    VerdictFacts,
    Wait,
    check_again,
    effect_done,
    next_step,
    part_changed,
    part_ended,
    part_started,
)
from colony.core.strict_json import Problems, load_json
from colony.core.survey import Survey
from colony.core.ticket import History
from colony.core.verdict import read_verdict, rule
from colony.errors import ColonyError, NotFound
from colony.flow import posting, telling
from colony.flow.assignment import controller_run, settled_run, worker_run
from colony.flow.bench import Bench
from colony.flow.briefing import Wanted, gather
from colony.flow.evidence import (
    BRIEF,
    REPORT,
    VERDICT,
    Spoiled,
    expected,
    judged_of,
    kept,
    report_of,
)
from colony.flow.following import Doing, Follower
from colony.flow.hold import Holder, Keeper, patiently
from colony.flow.news import News
from colony.flow.part import ANSWER, Watch, run_part, settle_part
from colony.flow.take import Hold, regain, take
from colony.host.ended import note_ended


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


class Session:
    """One session in this process. It holds the run folder's lock for as long as it lives."""

    def __init__(self, bench: Bench, facts: Facts) -> None:
        self.bench = bench
        self.facts = facts
        self.news = News(bench)
        self._keeper: Keeper | None = None
        self._written = facts.lease
        self.holder = Holder(
            tracker=bench.tracker,
            clock=bench.place.clock,
            ref=facts.ticket,
            session=facts.session,
            host=facts.host,
            ttl_ms=facts.setup.ttl_ms,
            pause=self._pause,
        )

    def advance(self) -> Step:
        """Steps until the session ends (`End`) or rests with its result kept (`Rest`)."""
        try:
            step = self._to_the_end()
        except ColonyError:
            # Stopped in order, or kept by a failure: this process works on it no more.
            self.release()
            self.news.rests(self.facts)
            raise
        finally:
            self.release()
        if isinstance(step, Rest):
            self.news.rests(self.facts)
        return step

    def _to_the_end(self) -> Step:
        try:
            while True:
                step = next_step(self.facts, self._now_ms())
                if isinstance(step, End | Rest):
                    if isinstance(step, End):
                        self._end(step)
                    return step
                self._stop_if_asked()
                try:
                    _STEPS[type(step)](self, step)
                except Spoiled as spoiled:
                    self._spoiled(spoiled)
        except NotFound:
            if self.facts.lease is None:
                raise
            return self._gone()

    def regain(self) -> None:
        """Hold the lease of the facts from now on; where it is lost, that is written down."""
        self.release()
        try:
            found = regain(self.holder, self.facts)
        except NotFound:
            self._gone()
            return
        if isinstance(found, str):
            self.save(replace(self.facts, lost=found))
        else:
            self.save(replace(self.facts, lease=found.lease, lost=None))
            self.hold(found)

    def save(self, facts: Facts) -> None:
        """Write the facts down; from here on they are what the session is."""
        record = to_json(facts)
        assert isinstance(record, dict)
        self.bench.place.folder.save_json(record)
        self.facts = facts
        self.news.changed(facts)

    def hold(self, held: Hold) -> None:
        """Keep this lease alive from now on."""
        self.release()
        self._written = held.lease
        heartbeat_ms, wake = self.facts.setup.heartbeat_ms, self.bench.place.signals.wake
        self._keeper = Keeper(
            self.holder, held.lease, held.trusted_s, heartbeat_ms, wake, self.news.tell
        )
        self._keeper.start()

    def release(self) -> None:
        if self._keeper is not None:
            self._keeper.stop()
            self._keeper = None

    # --- the steps ---------------------------------------------------------------------------

    def take(self, _: Take) -> None:
        facts, held = take(self.holder, self.bench.view, self._write_brief, self.facts)
        self.save(facts)
        self.hold(held)
        self.bench.emit(telling.leased(facts))

    def _write_brief(self, survey: Survey, history: History, facts: Facts) -> Facts:
        """The brief and the intent to take, on disk before the take is sent."""
        setup = facts.setup
        wanted = Wanted(facts.session, setup.ports, setup.worker.max_turns, setup.worker.timeout_s)
        made = gather(self.bench.sources, survey, history, wanted)
        sha256 = self.bench.place.folder.write(
            BRIEF, self.bench.sources.templates.brief(made).encode()
        )
        facts = replace(
            facts,
            brief_sha256=sha256,
            brief_event=history.ticket.last_event,
            strangers=made.strangers,
        )
        self.save(facts)
        return facts

    def settle(self, step: Settle) -> None:
        """A part that an earlier process of this session began, and did not see to its end."""
        part = self.facts.parts[step.part - 1]
        run = settled_run(self.bench, self.facts, part)
        self._part_over(part, settle_part(self.bench.place, part, run))

    def run_part(self, step: RunPart) -> None:
        if self._keeper is not None and self._keeper.over():
            # Lost, or out of trust while the tracker was silent: what is next depends on which.
            self.regain()
            return
        place, facts = self.bench.place, self.facts
        facts = part_started(facts, step.kind, self.bench.chance.uuid4(), self._now_ms())
        part = facts.parts[-1]
        if step.kind == "check":
            run = controller_run(self.bench, facts, part, report_of(self.bench, self.facts))
        else:
            run = worker_run(self.bench, facts, part)
        self.save(facts)
        self.bench.emit(telling.part(facts, part, run.agent.name))
        follower = self.news.follow(run.agent, part)

        def look() -> Cause | None:
            self._show(part, follower)
            return self._look()

        try:
            ended = run_part(place, part, run, Watch(self._spawned, look))
        finally:
            self.bench.doing(None)
        self._part_over(part, ended)

    def _show(self, part: PartFacts, follower: Follower) -> None:
        follower.look()
        self.news.looked(self.facts, follower)
        elapsed_s = max(0, self._now_ms() - part.started_ms) // 1000
        what = f"{self.facts.ticket} {part.kind}"
        self.bench.doing(Doing(what, elapsed_s, follower.calls, follower.last, self.facts.cost_usd))

    def _spawned(self, process: ProcessFacts) -> None:
        self.save(part_changed(self.facts, replace(self.facts.parts[-1], process=process)))

    def _look(self) -> Cause | None:
        """Between two waits: write down a renewal; end the part where the lease is not ours."""
        keeper = self._keeper
        if keeper is not None:
            if keeper.lease != self._written:
                self._written = keeper.lease
                self.save(replace(self.facts, lease=keeper.lease))
            if keeper.over() and not (
                keeper.lost == "moved" and self.facts.parts[-1].kind == "check"
            ):
                return "lease"
        return "stop" if self.bench.place.signals.count else None

    def _part_over(self, part: PartFacts, ended: Ended) -> None:
        facts = part_ended(self.facts, part.number, ended)
        if self._keeper is not None and self._keeper.lost in ("moved", "taken"):
            facts = replace(facts, lost=self._keeper.lost)
        self.save(facts)
        for line in telling.part_over(self.facts, part.number, ended):
            self.bench.emit(line)

    def _spoiled(self, spoiled: Spoiled) -> None:
        """What was changed behind our back counts for nothing; the session goes on without it."""
        facts = self.facts
        last = facts.parts[-1]
        problems = (str(spoiled),)
        self.bench.emit(telling.spoiled(facts, str(spoiled)))
        if spoiled.name == VERDICT:
            self.save(check_again(facts))
        elif spoiled.name == f"{last.folder}/{ANSWER}" and last.kind == "check":
            unread = VerdictFacts(last.number, "", valid=False, problems=problems)
            self.save(replace(facts, verdict=unread))
        else:
            worked = [part for part in facts.parts if part.kind != "check"]
            unread_report = ReportFacts(worked[-1].number, "", valid=False, problems=problems)
            self.save(replace(facts, report=unread_report, verdict=None))

    def validate(self, step: Validate) -> None:
        part = self.facts.parts[step.part - 1]
        raw = kept(self.bench.place.folder, f"{part.folder}/{ANSWER}", part.answer_sha256)
        data = load_json(raw.decode("utf-8", "replace"))
        if part.kind == "check":
            self._validate_verdict(part, data, raw)
        else:
            self._validate_report(part, data, raw)

    def _validate_report(self, part: PartFacts, data: Any, raw: bytes) -> None:
        found = (
            data
            if isinstance(data, Problems)
            else read_report(data, expected(self.facts), self.bench.report.check)
        )
        sha256 = self.bench.place.folder.write(REPORT, raw)
        if isinstance(found, Problems):
            report = ReportFacts(part.number, sha256, valid=False, problems=found.lines)
        else:
            report = ReportFacts(part.number, sha256, valid=True, complete=found.complete)
        self.save(replace(self.facts, report=report))
        for line in telling.report(self.facts):
            self.bench.emit(line)

    def _validate_verdict(self, part: PartFacts, data: Any, raw: bytes) -> None:
        report = report_of(self.bench, self.facts)
        found = (
            data
            if isinstance(data, Problems)
            else read_verdict(data, report, self.bench.verdict.check)
        )
        sha256 = self.bench.place.folder.write(VERDICT, raw)
        if isinstance(found, Problems):
            verdict = VerdictFacts(part.number, sha256, valid=False, problems=found.lines)
            self.save(replace(self.facts, verdict=verdict))
            lines = telling.refused_verdict(self.facts)
        else:
            ruled = rule(found, report)
            verdict = VerdictFacts(part.number, sha256, True, ruled.passed, ruled.overruled)
            self.save(replace(self.facts, verdict=verdict))
            lines = telling.verdict(self.facts, found, ruled)
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
        history = patiently(
            self.holder, lambda: self.holder.tracker.ticket(self.holder.ref), posting.PATIENCE_S
        )
        known = frozenset(self.bench.view.registry.projects)
        judged = judged_of(self.bench, self.facts)
        ruled = judged[1] if judged else None
        self.save(posting.compose(self.facts, step.occasion, ruled, history, known))

    def send(self, step: Send) -> None:
        lease = self.facts.lease
        sending = posting.Sending(lease.token if lease else None, self.facts.outbox)
        effect, line = posting.send(self.holder, sending, step.effect)
        self.save(effect_done(self.facts, effect))
        self.bench.emit(line)

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
        self._stop_if_asked()

    def _stop_if_asked(self) -> None:
        if self.bench.place.signals.count:
            raise Stopped(self.facts)


_STEPS: Final[Mapping[type, Callable[[Session, Any], None]]] = {
    Take: Session.take,
    Settle: Session.settle,
    RunPart: Session.run_part,
    Validate: Session.validate,
    Compose: Session.compose,
    Send: Session.send,
    Wait: Session.wait,
}
