"""The answer of a part that has ended: read, judged by code, and written down beside the facts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from colony.core.lines import Line
from colony.core.report import read_report
from colony.core.session import Facts, PartFacts, ReportFacts, VerdictFacts, check_again
from colony.core.strict_json import Problems, load_json
from colony.core.verdict import read_verdict, rule
from colony.flow import telling
from colony.flow.bench import Bench
from colony.flow.evidence import REPORT, VERDICT, Spoiled, expected, kept, report_of
from colony.flow.part import ANSWER


def validated(bench: Bench, facts: Facts, part: PartFacts) -> tuple[Facts, Iterable[Line]]:
    """The facts with this part's report or verdict, and what to say of it. `Spoiled`."""
    raw = kept(bench.place.folder, f"{part.folder}/{ANSWER}", part.answer_sha256)
    data = load_json(raw.decode("utf-8", "replace"))
    if part.kind == "check":
        return _verdict(bench, facts, part, (data, raw))
    return _report(bench, facts, part, (data, raw))


def _report(
    bench: Bench, facts: Facts, part: PartFacts, answer: tuple[Any, bytes]
) -> tuple[Facts, Iterable[Line]]:
    data, raw = answer
    found = (
        data
        if isinstance(data, Problems)
        else read_report(data, expected(facts), bench.report.check)
    )
    sha256 = bench.place.folder.write(REPORT, raw)
    if isinstance(found, Problems):
        report = ReportFacts(part.number, sha256, valid=False, problems=found.lines)
    else:
        report = ReportFacts(part.number, sha256, valid=True, complete=found.complete)
    facts = replace(facts, report=report)
    return facts, telling.report(facts)


def _verdict(
    bench: Bench, facts: Facts, part: PartFacts, answer: tuple[Any, bytes]
) -> tuple[Facts, Iterable[Line]]:
    data, raw = answer
    report = report_of(bench, facts)
    found = data if isinstance(data, Problems) else read_verdict(data, report, bench.verdict.check)
    sha256 = bench.place.folder.write(VERDICT, raw)
    if isinstance(found, Problems):
        verdict = VerdictFacts(part.number, sha256, valid=False, problems=found.lines)
        facts = replace(facts, verdict=verdict)
        return facts, telling.refused_verdict(facts)
    ruled = rule(found, report)
    verdict = VerdictFacts(part.number, sha256, True, ruled.passed, ruled.overruled)
    facts = replace(facts, verdict=verdict)
    return facts, telling.verdict(facts, found, ruled)


def without(facts: Facts, spoiled: Spoiled) -> Facts:
    """What was changed behind our back counts for nothing; the session goes on without it."""
    last = facts.parts[-1]
    problems = (str(spoiled),)
    if spoiled.name == VERDICT:
        return check_again(facts)
    if spoiled.name == f"{last.folder}/{ANSWER}" and last.kind == "check":
        unread = VerdictFacts(last.number, "", valid=False, problems=problems)
        return replace(facts, verdict=unread)
    unread_report = ReportFacts(facts.worked[-1].number, "", valid=False, problems=problems)
    return replace(facts, report=unread_report, verdict=None)
