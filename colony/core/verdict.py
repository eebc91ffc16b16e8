"""The verdict: what the controller found, and what code makes of it.

Shape is `templates/verdict.schema.json`. Code may turn a pass into a fail, never a fail into a
pass.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal

from colony.core.codec import CodecProblem, from_json
from colony.core.lines import Json, clip
from colony.core.report import (
    DECIDED_MAX,
    Report,
    properties_of,
    whose_problems,
    without_dialect,
)
from colony.core.strict_json import Check, Problems, problems

FindingStatus = Literal["ok", "false", "no evidence", "not checked"]
RulingWord = Literal["ask", "decided", "trivial", "internal", "packed"]


@dataclass(frozen=True, slots=True)
class Finding:
    claim: str
    about: Literal["verified", "done", "other"]
    status: FindingStatus
    check: str


@dataclass(frozen=True, slots=True)
class Ruling:
    """What becomes of the report's question `index`."""

    index: int
    ruling: RulingWord
    reason: str
    answer: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """A valid verdict on one report."""

    ticket: str
    session: str
    verdict: Literal["pass", "fail"]
    findings: tuple[Finding, ...]
    questions: tuple[Ruling, ...]
    summary: str


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing that spoke against a report, in the words of the controller or the worker."""

    kind: Literal["not true", "not shown", "packed", "summary"]
    text: str


@dataclass(frozen=True, slots=True)
class Ruled:
    """The verdict as it counts."""

    passed: bool
    overruled: bool
    """The controller said pass, code says fail."""
    why: tuple[Reason, ...]
    """Never empty where it did not pass; the gravest first."""
    report: Report
    """Without the questions that were answered or dropped; their answers are under `decided`."""


def read_verdict(data: Json, report: Report, check: Check) -> Verdict | Problems:
    """The verdict on `report`, or every problem it has. `check` holds it against its schema."""
    found = (
        *check(data),
        *whose_problems(data, report.ticket, report.session),
        *_ruling_problems(data, report),
    )
    if found:
        return problems(found)
    try:
        return from_json(Verdict, data, "verdict")
    except CodecProblem as error:
        # The schema is a file that people may edit: it may ask for less than this program reads.
        return problems((f"{error} (the schema in templates/ does not ask for it)",))


def rule(verdict: Verdict, report: Report) -> Ruled:
    """What counts: any finding that is false or without evidence, any packed question, and a pass
    that confirms nothing at all, fail the report, whatever the controller called it. `not checked`
    beside something confirmed does not."""
    why = _against(verdict, report)
    passed = verdict.verdict == "pass" and not why
    if verdict.verdict == "fail" and not why:
        why = (Reason("summary", verdict.summary),)
    return Ruled(
        passed=passed,
        overruled=verdict.verdict == "pass" and not passed,
        why=why,
        report=_answered(verdict, report),
    )


def agent_schema(schema: Json, report: Report) -> Json:
    """The verdict's schema as a controller gets it: ticket and session are fixed, and there is
    one ruling for each question. Without `$schema`, as in `report.agent_schema`."""
    known = properties_of(schema)
    count = len(report.questions)
    if isinstance(rulings := known.get("questions"), dict):
        known["questions"] = {**rulings, "minItems": count, "maxItems": count}
    known |= {"ticket": {"const": report.ticket}, "session": {"const": report.session}}
    return {**without_dialect(schema), "properties": known}


def _ruling_problems(data: Json, report: Report) -> list[str]:
    listed = data.get("questions") if isinstance(data, dict) else None
    if not isinstance(listed, list):
        return []
    said = Counter(
        each["index"]
        for each in listed
        if isinstance(each, dict) and type(each.get("index")) in (int, float)
    )
    asked = {question.index: question.title for question in report.questions}
    return [
        *(
            f"questions: no ruling on question {index} ('{clip(title, 60)}')"
            for index, title in asked.items()
            if index not in said
        ),
        *(f"questions: {n} rulings on question {index}" for index, n in said.items() if n > 1),
        *(f"questions: the report has no question {index}" for index in said if index not in asked),
    ]


def _against(verdict: Verdict, report: Report) -> tuple[Reason, ...]:
    titles = {question.index: question.title for question in report.questions}
    against = (
        *_findings(verdict, "false", "not true"),
        *_findings(verdict, "no evidence", "not shown"),
        *(
            Reason("packed", titles.get(each.index, ""))
            for each in verdict.questions
            if each.ruling == "packed"
        ),
    )
    confirmed = any(each.status == "ok" for each in verdict.findings)
    if against or confirmed or verdict.verdict == "fail":
        return against
    return (Reason("not shown", "the check confirmed nothing of what the report claims"),)


def _findings(
    verdict: Verdict, status: FindingStatus, kind: Literal["not true", "not shown"]
) -> list[Reason]:
    return [
        Reason(kind, f"{each.claim} — {each.check}")
        for each in verdict.findings
        if each.status == status
    ]


def _answered(verdict: Verdict, report: Report) -> Report:
    """The report with dropped questions gone and their answers under `decided`."""
    answers = {
        each.index: each.answer
        for each in verdict.questions
        if each.ruling not in ("ask", "packed")
    }
    return replace(
        report,
        questions=tuple(each for each in report.questions if each.index not in answers),
        decided=(
            *report.decided,
            *(
                clip(f"{each.title} — {answers[each.index]}", DECIDED_MAX)
                for each in report.questions
                if each.index in answers
            ),
        ),
    )
