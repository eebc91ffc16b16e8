"""What was found out about one thing that Colony needs here, and how that is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from colony.core.lines import Line

State = Literal["ok", "warn", "fail"]
WORDS: Final[dict[State, str]] = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`check` is the thing; `todo` follows `fact` and says what to do, empty where nothing is."""

    check: str
    state: State
    fact: str
    todo: str = ""


def ok(check: str, fact: str) -> Diagnosis:
    return Diagnosis(check, "ok", fact)


def warn(check: str, fact: str, todo: str = "") -> Diagnosis:
    """Colony works as it is, but somebody should know."""
    return Diagnosis(check, "warn", fact, todo)


def fail(check: str, fact: str, todo: str = "") -> Diagnosis:
    """Colony cannot work before this is mended."""
    return Diagnosis(check, "fail", fact, todo)


def row(finding: Diagnosis) -> Line:
    said = f"{finding.fact}: {finding.todo}" if finding.todo else finding.fact
    facts = {"check": finding.check, "state": finding.state, "todo": finding.todo}
    return Line("doctor.row", f"{WORDS[finding.state]} {finding.check} — {said}", facts=dict(facts))


def summary(findings: Sequence[Diagnosis]) -> Line:
    """The last line: what to mend first, in the order in which it was found."""
    failed = list(dict.fromkeys(each.check for each in findings if each.state == "fail"))
    warned = sum(each.state == "warn" for each in findings)
    if failed:
        things = "1 thing" if len(failed) == 1 else f"{len(failed)} things"
        text = f"{things} to mend first: {', '.join(failed)}"
    else:
        also = f" ({warned} warning{'s' if warned > 1 else ''})" if warned else ""
        text = f"all in order{also}"
    return Line("doctor", text, facts={"failed": len(failed), "warned": warned})
