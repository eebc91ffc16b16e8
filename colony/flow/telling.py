"""What a session says while it goes on: facts as lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from colony.core.endings import BELONGS, Ending
from colony.core.lines import Line, clip
from colony.core.markers import utc
from colony.core.ports import show_range
from colony.core.session import Facts, PartFacts, PartKind
from colony.core.texts.memory import ran_out
from colony.core.verdict import Ruled, Verdict

FINDINGS_MAX: Final = 40

CLEANUP: Final[dict[PartKind, str]] = {
    "work": "work.cleanup",
    "finalize": "finalize.cleanup",
    "fix": "finalize.cleanup",
    "check": "controller.cleanup",
}
USAGE: Final[dict[PartKind, str]] = {
    "work": "usage",
    "finalize": "finalize.usage",
    "fix": "finalize.usage",
    "check": "controller.usage",
}
WHY: Final[dict[Ending, str]] = {
    Ending.OUT_OF_STEPS: "the worker ran out of steps",
    Ending.OUT_OF_TIME: "the worker ran out of time",
    Ending.STALLED: "the worker was silent for too long",
    Ending.NEAR_LIMIT: "the account is near its limit",
    Ending.NO_REPORT: "the worker gave no report",
    Ending.BAD_REPORT: "the worker had its report refused",
    Ending.REPORT: "the worker had its report refused",
}
"""Why the report is asked for."""


def leased(facts: Facts) -> Line:
    assert facts.lease is not None
    text = f"{facts.ticket} until {utc(facts.lease.until_ms)} (session {facts.session})"
    return _line(facts, "work.leased", text, until=facts.lease.until_ms, token=facts.lease.token)


def part(facts: Facts, one: PartFacts, agent: str) -> Line:
    """A part begins."""
    checking = one.kind == "check"
    runner = facts.setup.runner(one.kind)
    ports = show_range(facts.setup.ports)
    again = " again" if one.resumes and one.kind == "work" else ""
    text = (
        f"{one.kind}{again} by {agent} ({clip(runner.model, 60)}) · up to {runner.max_turns} steps,"
        f" {runner.timeout_s} s" + ("" if checking else f" · ports {ports}")
    )
    kind = "controller.part" if checking else "work.part"
    return _line(facts, kind, text, part=one.number, agent=agent, model=runner.model, ports=ports)


def anew(facts: Facts, one: PartFacts) -> Line | None:
    """The work begins anew because its conversation cannot be taken up; None: it does not."""
    if one.kind != "work" or one.resumes or _before(facts, one) is not Ending.POISONED:
        return None
    text = "— its agent's session cannot be taken up any more: the work begins anew, with the brief"
    return _line(facts, "warning", text, part=one.number)


def finalize(facts: Facts, one: PartFacts) -> Line:
    """A part begins that only asks for the report."""
    why = WHY.get(_before(facts, one), "it was stopped")
    what = "to put its report right" if one.kind == "fix" else "for its report"
    text = f"— {why}; its session {one.agent_session} is asked once {what}"
    return _line(facts, "work.finalize", text, part=one.number)


def _before(facts: Facts, one: PartFacts) -> Ending:
    before = [part for part in facts.worked if part.number < one.number]
    return before[-1].ended or Ending.STOPPED if before else Ending.STOPPED


def part_over(facts: Facts, number: int) -> Iterator[Line]:
    """A part has ended: what it cost, and what a person should know of it."""
    one = facts.parts[number - 1]
    for told in one.cleanup:
        yield _line(facts, CLEANUP[one.kind], told)
    yield from _mode_warning(facts, one)
    yield _usage(facts, one)
    if one.resumes:
        yield _resumed_cost(facts, one)
    if one.kind in ("finalize", "fix") and not one.answer_sha256:
        yield _line(facts, "work.finalize", f"FAILED — no report: {one.ended}", part=number)


def _resumed_cost(facts: Facts, one: PartFacts) -> Line:
    """Of a resumed part the agent reports what its whole session has cost so far."""
    kind = "resume.cost" if one.kind == "work" else "finalize.cost"
    total = one.total_cost_usd
    told = (
        f"the agent reports ${total:.4f} for its whole session" if total is not None else "untold"
    )
    part = f"${one.cost_usd:.4f}" if one.cost_known else "unknown"
    text = f"{part} for this part ({told})"
    return _line(facts, kind, text, part=one.number, costUsd=one.cost_usd, totalUsd=total)


def _mode_warning(facts: Facts, one: PartFacts) -> Iterator[Line]:
    runner = facts.setup.runner(one.kind)
    asked, used = runner.permission_mode, one.permission_mode
    same = {"manual": "default"}
    if used and same.get(asked, asked) != same.get(used, used):
        text = f'asked for permission mode "{asked}", the agent reports "{used}"'
        yield _line(facts, "warning", text, asked=asked, used=used)


def _usage(facts: Facts, one: PartFacts) -> Line:
    seconds = ((one.ended_ms or one.started_ms) - one.started_ms) / 1000
    used = one.usage
    tokens = used.input_tokens + used.output_tokens
    from_cache = used.cache_read_tokens + used.cache_write_tokens
    cached = f" (+{from_cache} cached)" if from_cache else ""
    cost = f"${one.cost_usd:.4f}" if one.cost_known else "cost unknown"
    denied = ""
    if one.denials:
        denied = f" · {len(one.denials)} denied ({clip(one.denials[0], 60)})"
    model = ", ".join(one.models) or "no model answered"
    text = (
        f"{cost} · {one.steps} steps · {seconds:.1f} s · tokens {tokens}{cached}"
        f" · {clip(model, 120)}{denied} · ended: {one.ended}"
    )
    if one.ended is Ending.OUT_OF_MEMORY:
        text += f" — {ran_out(one.peak_bytes, facts.setup.memory_max)}"
    elif one.said:
        text += f" — {one.said}"
    return _line(
        facts,
        USAGE[one.kind],
        text,
        part=one.number,
        costUsd=one.cost_usd,
        costKnown=one.cost_known,
        steps=one.steps,
        ended=str(one.ended),
        peakBytes=one.peak_bytes or None,
        owner=BELONGS[one.ended] if one.ended else "",
    )


def report(facts: Facts) -> Iterator[Line]:
    """The report as validated: OK, or every problem it has."""
    assert facts.report is not None
    if facts.report.valid:
        complete = "" if facts.report.complete else ", NOT complete"
        yield _line(facts, "report.ok", f"{facts.ticket} {facts.session}{complete}")
        return
    count = len(facts.report.problems)
    yield _line(facts, "report.refused", f"{facts.ticket}: {count} problem(s)", problems=count)
    for problem in facts.report.problems:
        yield _line(facts, "report.problem", problem)


def spoiled(facts: Facts, what: str) -> Line:
    return _line(facts, "warning", f"— {what}: it counts for nothing")


def refused_verdict(facts: Facts) -> Iterator[Line]:
    assert facts.verdict is not None
    problems = facts.verdict.problems
    text = f"the verdict cannot be used: {problems[0]}"
    yield _line(facts, "controller.refused", text, problems=len(problems))


def verdict(facts: Facts, said: Verdict, ruled: Ruled) -> Iterator[Line]:
    """The verdict as it counts, then one line a finding."""
    summary = clip(said.summary, 300)
    if ruled.overruled:
        summary = f"(the controller said pass; code says fail) {summary}"
    kind = "verdict.pass" if ruled.passed else "verdict.fail"
    yield _line(facts, kind, summary, overruled=ruled.overruled)
    for finding in said.findings[:FINDINGS_MAX]:
        text = f"[{finding.status}] {clip(finding.claim, 160)} — {clip(finding.check, 160)}"
        yield _line(facts, "verdict.finding", text, status=finding.status)
    for ruling in said.questions[:FINDINGS_MAX]:
        text = f"[{ruling.ruling}] question {ruling.index + 1} — {clip(ruling.reason, 160)}"
        yield _line(facts, "verdict.finding", text, ruling=ruling.ruling)


def _line(facts: Facts, kind: str, text: str, **more: bool | int | float | str | None) -> Line:
    return Line(kind, text, str(facts.ticket), facts.session, facts=more)
