"""How a session stands after a command: the last line, and the exit status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, assert_never

from colony.core.endings import BELONGS
from colony.core.lines import Line
from colony.core.markers import utc
from colony.core.session import End, Facts, Outcome, Parked, ParkFacts, Rest, Step, phase_of
from colony.core.texts.lease import ParkReason
from colony.core.ticket import State

Verb = Literal["work", "check", "salvage"]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a session stands after a command: its facts, and the exit status for them."""

    facts: Facts
    line: Line
    exit_code: int


def ended(facts: Facts, step: Step, verb: Verb) -> Ended:
    """The outcome, which is the last line, and the exit status."""
    match step:
        case Parked(park):
            return Ended(facts, _parked(facts, park), 0)
        case Rest(judged=True):
            word, text, code = _rests(facts)
        case Rest():
            text = f"no verdict. Try again: colony check runs/{facts.session} --post"
            word, code = "controller_failed", 1
        case End(outcome):
            word, text, code = _by_outcome(facts, outcome)
        case _:
            raise AssertionError(f"a session does not stop at {step}")
    line = Line(
        f"{verb}.{word}",
        f"— {facts.ticket} {text}",
        str(facts.ticket),
        facts.session,
        facts={
            "outcome": str(facts.outcome) if facts.outcome else None,
            "phase": phase_of(facts),
            "costUsd": facts.cost_usd,
        },
    )
    return Ended(facts, line, code)


def _parked(facts: Facts, park: ParkFacts) -> Line:
    ref = facts.ticket
    why, when = PARKED[park.reason], utc(park.resume_ms)
    again = "until it is asked to go on" if park.reason == "asked" else f"until {when}"
    if park.reason == "stop":
        again = "until Colony is back"
    text = f"— {ref} {again}: {why}; session {facts.session} is kept:"
    text += f" colony work {ref.project} {ref.number}{' --post' if not facts.post else ''} goes on"
    told = {"reason": park.reason, "resumeMs": park.resume_ms, "told": park.told}
    return Line("parked", text, str(ref), facts.session, facts={**told, "costUsd": facts.cost_usd})


PARKED: Final[Mapping[ParkReason, str]] = {
    "limit": "the account has used up its limit",
    "provider": "the model's provider did not answer",
    "login": "the coding agent is not logged in",
    "stop": "it was stopped",
    "asked": "it was parked by hand",
}
"""Why a session is parked, for the operator."""

_LEFT_AS: Final[Mapping[Outcome, State]] = {
    Outcome.POSTED: "review",
    Outcome.READY: "progress",
    Outcome.HALF_DONE: "open",
}
"""The state in which an outcome leaves its ticket."""


def told_later(told: Ended, state: State) -> Ended:
    """Of a session that was posted long ago: not how it left its ticket, but what that is now."""
    facts = told.facts
    if facts.outcome is None or _LEFT_AS.get(facts.outcome, state) == state:
        return told
    text = f"— {facts.ticket} posted earlier; {facts.ticket} is {state} since"
    return replace(told, line=replace(told.line, text=text))


def _rests(facts: Facts) -> tuple[str, str, int]:
    assert facts.verdict is not None
    said = "pass" if facts.verdict.passed else "fail"
    post = f"colony check runs/{facts.session} --post"
    return "ok", f"valid report, controller: {said}, NOT posted: {post}", 1 - facts.verdict.passed


def _by_outcome(facts: Facts, outcome: Outcome) -> tuple[str, str, int]:
    match outcome:
        case Outcome.POSTED:
            return "done", "is in review: its creator can try it", 0
        case Outcome.READY:
            return "done", "is built, waits for the deploy", 0
        case Outcome.HALF_DONE:
            if any(each.state == "pending" for each in facts.outbox):
                return "half_done", f"its creator is asked how to go on: {_question(facts)}", 0
            return "half_done", "is open again: the next worker continues", 0
        case Outcome.SENT_BACK:
            return "failed", "was sent back: its check failed", 1
        case Outcome.QUESTION:
            none = f"no result ({why_no_result(facts)})"
            why = "failed its check" if facts.report is not None else none
            return "failed", f"{why}, its creator is asked: {_question(facts)}", 1
        case Outcome.NO_VERDICT:
            asked = f"its creator is asked: {_question(facts)}"
            return "controller_failed", f"has a report that nobody could check; {asked}", 1
        case Outcome.NO_REPORT:
            return "failed", f"is open again: no valid report ({why_no_result(facts)})", 1
        case Outcome.GIVEN_BACK:
            return "failed", f"is open again: {why_no_result(facts)}", _given_back_code(facts)
        case Outcome.MOVED:
            return _moved(facts)
        case Outcome.LATE:
            return "failed", f"was taken by another session{_filed(facts)}", 1
        case Outcome.GONE:
            return "failed", "is gone from the tracker; the report stays in the run folder", 1
        case _:
            assert_never(outcome)


def _moved(facts: Facts) -> tuple[str, str, int]:
    if any(each.kind == "comment" and each.status == "done" for each in facts.outbox):
        return "done", "was moved by a person and stays so; the outcome is in a comment", 0
    return "failed", "was moved by a person and stays so; nothing was posted", 1


def _filed(facts: Facts) -> str:
    filed = any(each.kind == "comment" and each.status == "done" for each in facts.outbox)
    return ": the report is filed as late" if filed else "; nothing was posted"


def _question(facts: Facts) -> str:
    made = [each.made for each in facts.outbox if each.kind == "create" and each.made]
    return str(made[-1]) if made else "no question could be filed"


def why_no_result(facts: Facts) -> str:
    """How the work ended that brought no result, in a few words."""
    worked = [part for part in facts.parts if part.kind != "check"]
    if facts.report is not None and not facts.report.valid:
        return f"bad report: {facts.report.problems[0]}"
    return facts.ran_out or worked[-1].how if worked else "nothing was started"


def _given_back_code(facts: Facts) -> int:
    worked = [part for part in facts.parts if part.kind != "check"]
    last = worked[-1].ended if worked else None
    return 4 if last is not None and BELONGS[last] == "account" else 1
