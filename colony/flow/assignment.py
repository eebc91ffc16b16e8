"""What a part of a kind is: its agent, its prompt, its schema, its tools."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

from colony.coding.protocol import CodingAgent, PartOrder
from colony.core import report as reports
from colony.core import verdict as verdicts
from colony.core.allowlist import allowed, masked, of_session
from colony.core.brief.check import CheckFacts
from colony.core.brief.quote import clean
from colony.core.lines import Json
from colony.core.report import Report
from colony.core.session import Facts, PartFacts, Runner
from colony.core.transcript import transcript_of_parts
from colony.flow.bench import Bench
from colony.flow.evidence import BRIEF, REPORT, brief_of, expected, kept
from colony.flow.part import PartRun, stream_of
from colony.host.streams import STREAM

CHECK_PROMPT: Final = "controller-prompt.md"

READ_ONLY: Final = ("Edit", "Write", "NotebookEdit")
"""Tools that a controller does not get: it reads and runs again."""

AGAIN: Final = (
    "> Note: an earlier start of this very session was interrupted before it could report. The"
    " folder may hold what it had done by then: look at it first, then go on from there.\n\n"
)


def worker_run(bench: Bench, facts: Facts, part: PartFacts) -> PartRun:
    """The worker: the brief, and where it is a second start, a word about the first."""
    prompt = BRIEF
    if any(each.number < part.number for each in facts.parts):
        prompt = f"again-{part.number}.md"
        bench.place.folder.write(prompt, (AGAIN + brief_of(bench, facts)).encode())
    schema = reports.agent_schema(bench.report.value, expected(facts))
    return _run(bench, facts, part, prompt=prompt, schema=schema)


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
        )
    )
    folder.write(CHECK_PROMPT, clean(prompt).text.encode())
    return _run(bench, facts, part, prompt=CHECK_PROMPT, schema=schema)


def _transcript(folder: Path, worker: CodingAgent, facts: Facts, bench: Bench) -> str:
    parts = [
        ("the worker", worker.steps(stream_of(folder / part.folder / STREAM)))
        for part in facts.parts
        if part.kind != "check"
    ]
    return masked(transcript_of_parts(parts), bench.secrets)


def settled_run(bench: Bench, facts: Facts, part: PartFacts) -> PartRun:
    """For reading what a part left, whatever it was asked."""
    return _run(bench, facts, part, prompt=BRIEF, schema={})


def _run(bench: Bench, facts: Facts, part: PartFacts, *, prompt: str, schema: Json) -> PartRun:
    runner = facts.setup.runner(part.kind)
    tmp = bench.place.folder.path / "tmp" / str(part.number)
    return PartRun(
        agent=bench.agent_for(runner),
        runner=runner,
        order=_order(facts, part, runner, json.dumps(schema)),
        prompt=prompt,
        env={
            **allowed(bench.place.environ, bench.pass_env),
            **bench.secrets,
            **of_session(facts.session, facts.setup.ports, str(tmp)),
        },
        secrets=bench.secrets,
        cwd=Path(facts.setup.folder),
        ports=facts.setup.ports,
    )


def _order(facts: Facts, part: PartFacts, runner: Runner, schema: str) -> PartOrder:
    order = PartOrder(
        schema=schema,
        agent_session=part.agent_session,
        resume=part.resumes,
        model=runner.model,
        max_turns=runner.max_turns,
        permission_mode=runner.permission_mode,
        allowed_tools=runner.allowed_tools,
        max_budget_usd=runner.max_budget_usd,
        project_settings=facts.setup.project_settings,
    )
    return replace(order, disallowed_tools=READ_ONLY) if part.kind == "check" else order
