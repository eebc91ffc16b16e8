"""The parts of a session as this process runs them: begun on record, watched, written down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from colony.core.endings import Cause
from colony.core.session import (
    Ended,
    Facts,
    PartFacts,
    ProcessFacts,
    RunPart,
    Settle,
    answered,
    part_changed,
    part_ended,
    part_started,
)
from colony.flow import telling
from colony.flow.assignment import Since, controller_run, paid_by, settled_run, worker_run
from colony.flow.evidence import report_of
from colony.flow.following import Doing, Follower
from colony.flow.part import PartRun, Watch, run_part, settle_part
from colony.flow.session_record import Record
from colony.flow.tenure import Tenure


class Parts:
    """`stops` says whether this process is asked to stop. What tenure says of the lease ends a
    part; what follows is for the session to say."""

    def __init__(self, record: Record, tenure: Tenure, stops: Callable[[], bool]) -> None:
        self._record = record
        self._bench = record.bench
        self._tenure = tenure
        self._stops = stops

    @property
    def _facts(self) -> Facts:
        return self._record.facts

    def settle(self, step: Settle) -> None:
        """A part that an earlier process of this session began, and did not see to its end."""
        part = self._facts.parts[step.part - 1]
        run = settled_run(self._bench, self._facts, part)
        self._over(part, settle_part(self._bench.place, part, run))

    def run(self, step: RunPart, since: Since) -> None:
        """`since`: what a worker that goes on is told of what people wrote meanwhile."""
        bench = self._bench
        talk, resumes = step.resumes or bench.chance.uuid4(), bool(step.resumes)
        now_ms = bench.place.clock.wall_ms()
        facts = part_started(self._facts, step.kind, talk, now_ms, resumes=resumes)
        part = facts.parts[-1]
        run = self._run_of(facts, part, since)
        self._record.save(paid_by(facts, run, bench.place.environ))
        if part.kind in ("finalize", "fix"):
            bench.emit(telling.finalize(facts, part))
        if (anew := telling.anew(facts, part)) is not None:
            bench.emit(anew)
        bench.emit(telling.part(facts, part, run.agent.name))
        follower = self._record.news.follow(run.agent, part)

        def look() -> Cause | None:
            self._show(part, follower)
            return self._look()

        try:
            ended = run_part(bench.place, part, run, Watch(self._spawned, look))
        finally:
            bench.doing(None)
        self._over(part, ended)

    def _run_of(self, facts: Facts, part: PartFacts, since: Since) -> PartRun:
        if part.kind == "check":
            return controller_run(self._bench, facts, part, report_of(self._bench, self._facts))
        return worker_run(self._bench, facts, part, since)

    def _show(self, part: PartFacts, follower: Follower) -> None:
        follower.look()
        if follower.answered and not self._facts.parts[-1].answered:
            self._record.save(answered(self._facts))
        facts = self._facts
        self._record.news.looked(facts, follower)
        elapsed_s = max(0, self._bench.place.clock.wall_ms() - part.started_ms) // 1000
        what = f"{facts.ticket} {part.kind}"
        self._bench.doing(Doing(what, elapsed_s, follower.calls, follower.last, facts.cost_usd))

    def _spawned(self, process: ProcessFacts) -> None:
        last = replace(self._facts.parts[-1], process=process)
        self._record.save(part_changed(self._facts, last))

    def _look(self) -> Cause | None:
        """Between two waits: write down a renewal; end the part where the lease is not ours."""
        renewed = self._tenure.renewed()
        if renewed is not None:
            self._record.save(replace(self._facts, lease=renewed))
        moved = self._tenure.lost == "moved" and self._facts.parts[-1].kind == "check"
        if self._tenure.over and not moved:
            return "lease"
        return "stop" if self._stops() or self._bench.orders.of(self._facts.session) else None

    def _over(self, part: PartFacts, ended: Ended) -> None:
        facts = part_ended(self._facts, part.number, ended)
        if self._tenure.lost in ("moved", "taken"):
            facts = replace(facts, lost=self._tenure.lost)
        self._record.save(facts)
        for line in telling.part_over(self._facts, part.number):
            self._bench.emit(line)
