"""What a part of a kind is: its agent, its prompt, its schema, its tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from colony.coding.protocol import CodingAgent, PartOrder
from colony.core import report as reports
from colony.core import verdict as verdicts
from colony.core.allowlist import allowed, masked, of_session
from colony.core.brief.check import CheckFacts
from colony.core.brief.quote import clean
from colony.core.brief.resumed import AskedForReport, Resumed
from colony.core.endings import refusal_of
from colony.core.lines import Json
from colony.core.people import NOBODY, People
from colony.core.report import Report
from colony.core.session import Facts, PartFacts, Runner, on_account
from colony.core.ticket import Event
from colony.core.transcript import transcript_of_parts
from colony.flow.bench import Bench
from colony.flow.evidence import BRIEF, REPORT, brief_of, expected, kept
from colony.flow.part import PartRun, stream_of
from colony.host.cgroup import Limits
from colony.host.streams import STREAM

CHECK_PROMPT: Final = "controller-prompt.md"
FINALIZE_PROMPT: Final = "finalize.md"

READ_ONLY: Final = ("Edit", "Write", "NotebookEdit")
"""Tools that a controller does not get: it reads and runs again."""

AGAIN: Final = (
    "> Note: an earlier start of this very session was interrupted before it could report. The"
    " folder may hold what it had done by then: look at it first, then go on from there.\n\n"
)


@dataclass(frozen=True, slots=True)
class Since:
    """What came in between, for an agent whose session is taken up again."""

    news: tuple[Event, ...] = ()
    people: People = NOBODY


def worker_run(bench: Bench, facts: Facts, part: PartFacts, since: Since) -> PartRun:
    """The worker: with the brief where it begins, else with a word about what to do now."""
    schema = reports.agent_schema(bench.report.value, expected(facts))
    return _run(bench, facts, part, prompt=_prompt(bench, facts, part, since), schema=schema)


def _prompt(bench: Bench, facts: Facts, part: PartFacts, since: Since) -> str:
    """The name of the prompt's file, which is written where it is not the brief."""
    earlier = [each for each in facts.worked if each.number < part.number]
    if part.kind in ("finalize", "fix"):
        name, text = FINALIZE_PROMPT, _report_prompt(bench, facts, part)
    elif part.resumes:
        name = f"resume-{sum(each.resumes for each in facts.worked)}.md"
        ref, ports = facts.ticket, facts.setup.ports
        told = Resumed(ref, facts.session, ports, since.news, since.people)
        text = bench.sources.templates.resumed(told)
    elif earlier:
        name, text = f"again-{part.number}.md", AGAIN + brief_of(bench, facts)
    else:
        return BRIEF
    bench.place.folder.write(name, clean(text).text.encode())
    return name


def _report_prompt(bench: Bench, facts: Facts, part: PartFacts) -> str:
    before = [each for each in facts.worked if each.number < part.number]
    assert before[-1].ended is not None
    kind: Literal["finalize", "fix"] = "fix" if part.kind == "fix" else "finalize"
    refused = facts.report is not None and not facts.report.valid
    problems = facts.report.problems if facts.report is not None and refused else ()
    asked = AskedForReport(kind, facts.ticket, facts.session, before[-1].ended, problems)
    return bench.sources.templates.asked_for_report(asked)


def controller_run(bench: Bench, facts: Facts, part: PartFacts, report: Report) -> PartRun:
    """The controller: report, transcript and brief, and no tool that writes."""
    folder = bench.place.folder
    worker = bench.agent_for(facts.setup.worker)
    text = kept(folder, REPORT, facts.report.sha256 if facts.report else "")
    schema = verdicts.agent_schema(bench.verdict.value, report)
    prompt = bench.sources.templates.controller_prompt(
        CheckFacts(
            ref=facts.ticket,
            session=facts.session,
            report=text.decode(),
            questions=len(report.questions),
            transcript=_transcript(folder.path, worker, facts, bench),
            brief=brief_of(bench, facts),
            verdict_schema=json.dumps(schema, indent=1, ensure_ascii=False),
            live_url=facts.setup.live,
            salvaged=facts.salvaged_after is not None,
        )
    )
    folder.write(CHECK_PROMPT, clean(prompt).text.encode())
    return _run(bench, facts, part, prompt=CHECK_PROMPT, schema=schema)


def _transcript(folder: Path, worker: CodingAgent, facts: Facts, bench: Bench) -> str:
    parts = [
        (_title(part), worker.steps(stream_of(folder / part.folder / STREAM)))
        for part in facts.worked
    ]
    return masked(transcript_of_parts(parts), bench.secrets)


def _title(part: PartFacts) -> str:
    match part.kind:
        case "finalize":
            return "the step that only asked for the report"
        case "fix":
            return "the step that had the report put right"
        case _:
            return "the worker, going on after a pause" if part.resumes else "the worker"


def paid_by(facts: Facts, run: PartRun, environ: Mapping[str, str]) -> Facts:
    """The facts with the account that the newest part, which is this run, will use."""
    return on_account(facts, run.agent.account(environ), run.agent.login_mark(environ))


def settled_run(bench: Bench, facts: Facts, part: PartFacts) -> PartRun:
    """For reading what a part left, whatever it was asked."""
    return _run(bench, facts, part, prompt=BRIEF, schema={})


def _run(bench: Bench, facts: Facts, part: PartFacts, *, prompt: str, schema: Json) -> PartRun:
    runner = facts.setup.runner(part.kind)
    agent = bench.agent_for(runner)
    first = next(each for each in facts.parts if each.agent_session == part.agent_session)
    tmp = f"tmp/{first.number}"
    return PartRun(
        agent=agent,
        runner=runner,
        order=_order(facts, part, runner, json.dumps(schema)),
        prompt=prompt,
        env={
            **allowed(bench.place.environ, bench.pass_env),
            **bench.secrets,
            **of_session(facts.session, facts.setup.ports, str(bench.place.folder.path / tmp)),
        },
        secrets=bench.secrets,
        cwd=Path(facts.setup.folder),
        ports=facts.setup.ports,
        tmp=tmp,
        stall_s=facts.setup.stall_s,
        refused_before=_refused_before(bench, facts, part, agent),
        walls=bench.walls,
        reads=_reads(bench, facts, part),
        deploy=facts.setup.deploy and part.kind != "check",
        limits=Limits(facts.setup.memory_max, facts.setup.pids_max),
    )


def _reads(bench: Bench, facts: Facts, part: PartFacts) -> tuple[Path, ...]:
    """A controller reads its own run folder; a worker that of the attempt its brief tells of."""
    own = bench.place.folder.path
    if part.kind == "check":
        return (own,)
    return (own.parent / facts.earlier,) if facts.earlier else ()


def _refused_before(bench: Bench, facts: Facts, part: PartFacts, agent: CodingAgent) -> str:
    """What the provider refused about this conversation when it was last sent."""
    before = [
        each
        for each in facts.parts
        if each.agent_session == part.agent_session and each.number < part.number
    ]
    if not before:
        return ""
    stream = bench.place.folder.path / before[-1].folder / STREAM
    return refusal_of(agent.read(stream_of(stream)))


def _order(facts: Facts, part: PartFacts, runner: Runner, schema: str) -> PartOrder:
    order = PartOrder(
        schema=schema,
        agent_session=part.agent_session,
        resume=part.resumes,
        model=runner.model,
        max_turns=runner.max_turns,
        permission_mode=runner.permission_mode,
        allowed_tools=runner.allowed_tools,
        max_budget_usd=facts.limit_usd(part),
        project_settings=facts.setup.project_settings,
    )
    return replace(order, disallowed_tools=READ_ONLY) if part.kind == "check" else order
