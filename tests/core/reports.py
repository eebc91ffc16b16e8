"""Reports, verdicts and closings for tests: good ones, to be changed in one place each."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from colony.core.outbox import Closing
from colony.core.report import Expect, Report, read_report
from colony.core.schema import compiled
from colony.core.ticket import Event, Ref
from colony.core.verdict import Verdict, read_verdict

TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
REPORT_SCHEMA: Any = json.loads((TEMPLATES / "report.schema.json").read_text(encoding="utf-8"))
VERDICT_SCHEMA: Any = json.loads((TEMPLATES / "verdict.schema.json").read_text(encoding="utf-8"))
REPORT_CHECK = compiled(REPORT_SCHEMA, "report.schema.json")
VERDICT_CHECK = compiled(VERDICT_SCHEMA, "verdict.schema.json")

SESSION = "s-20260131T1819-abc123"
TICKET = Ref("shop", 3)
EXPECT = Expect(TICKET, SESSION, live=False)
LIVE = Expect(TICKET, SESSION, live=True)
SHA256 = "0123456789ab" + "0" * 52


def raw_issue(**changes: Any) -> dict[str, Any]:
    issue = {
        "project": "till",
        "subject": "The sum is wrong",
        "repro": "Add 1 and 2",
        "observed": "4",
        "expected": "3",
        "blocks": False,
    }
    return {**issue, **changes}


def raw_report(**changes: Any) -> dict[str, Any]:
    report = {
        "ticket": str(TICKET),
        "session": SESSION,
        "result": "The basket keeps what was put into it.",
        "complete": True,
        "test": ["Put something into the basket", "Reload the page: it is still there"],
        "done": ["basket.py stores its lines"],
        "verified": [{"claim": "it stays", "command": "pytest", "output": "3 passed"}],
        "open": [],
        "issues": [],
        "questions": [],
        "running": [],
        "refused": [],
        "decided": [],
    }
    return {**report, **changes}


def report(**changes: Any) -> Report:
    made = read_report(raw_report(**changes), EXPECT, REPORT_CHECK)
    assert isinstance(made, Report), made
    return made


def raw_verdict(**changes: Any) -> dict[str, Any]:
    verdict = {
        "ticket": str(TICKET),
        "session": SESSION,
        "verdict": "pass",
        "findings": [finding("ok")],
        "questions": [],
        "summary": "All of it was seen.",
    }
    return {**verdict, **changes}


def verdict(of: Report, **changes: Any) -> Verdict:
    made = read_verdict(raw_verdict(**changes), of, VERDICT_CHECK)
    assert isinstance(made, Verdict), made
    return made


def finding(status: str, claim: str = "it stays") -> dict[str, str]:
    return {"claim": claim, "about": "verified", "status": status, "check": "ran pytest"}


def ruling(index: int, word: str, answer: str = "") -> dict[str, Any]:
    return {"index": index, "ruling": word, "reason": "because", "answer": answer}


def closing(**changes: Any) -> Closing:
    made = Closing(
        ticket=TICKET,
        url="https://tickets.example/t/shop/3",
        state="progress",
        session=SESSION,
        host="box1",
        known=frozenset({"shop", "till"}),
        sha256=SHA256,
        cost_usd=1.84,
        runs=2,
        steps=40,
    )
    return replace(made, **changes)


def comment_by(author: str, text: str) -> Event:
    return Event(7, "comment", author, "u7", machine=False, at_ms=1, text=text)
