"""How a session's process left it: read from the run folder, not from the process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from colony.core.admission import Full
from colony.core.last_line import PARKED, why_no_result
from colony.core.lines import Json, Line, clip
from colony.core.markers import utc
from colony.core.ports import show_range
from colony.core.session import Facts, Outcome, Rest, next_step
from colony.flow.kept import stood_at
from colony.flow.runs import facts_of
from colony.flow.supervise import Gone
from colony.host.journal import Garbage, RunFolder


@dataclass(frozen=True, slots=True)
class Closing:
    """`refused`: no session was begun, and why. `stood`: where one stands that this process has
    neither ended nor parked; empty for all others. `no_room`: it did not fit, which says nothing of
    it, so that both are empty."""

    line: Line
    refused: str = ""
    stood: str = ""
    no_room: Full | None = None


def closing_of(runs: Path, gone: Gone) -> Closing:
    """`SESSION END <ref> <session> · posted · cost $x (worker $a + controller $b) · …`"""
    member = gone.member
    facts = facts_of(RunFolder(runs / member.session))
    if not isinstance(facts, Facts):
        return _not_begun(gone, facts)
    how, stood = _how(facts, gone)
    worker, checked = facts.cost_of("work", "finalize", "fix"), facts.cost_of("check")
    known = all(part.cost_known for part in facts.parts)
    least = "" if known else "at least "
    text = (
        f"{member.ref} {member.session} · {how} · cost {least}${facts.cost_usd:.4f}"
        f" (worker ${worker:.4f} + controller ${checked:.4f})"
    )
    if member.ports is not None:
        text += f" · ports {show_range(member.ports)} freed"
    told: dict[str, Json] = {
        "outcome": str(facts.outcome) if facts.outcome else None,
        "costUsd": facts.cost_usd,
        "workerUsd": worker,
        "controllerUsd": checked,
        "costKnown": known,
    }
    full = Full.of(_why(gone)) if stood else None
    return Closing(_line(gone, text, told), stood="" if full else stood, no_room=full)


def _how(facts: Facts, gone: Gone) -> tuple[str, str]:
    if facts.outcome is not None:
        why = f" ({why_no_result(facts)})" if _brought_nothing(facts) else ""
        return f"{facts.outcome}{why}", ""
    park, stood = facts.parked, stood_at(facts)
    if park is not None:
        until = "" if park.reason in ("stop", "asked") else f" until {utc(park.resume_ms)}"
        how = f"parked{until}: {PARKED[park.reason]}"
        # The pause that it was taken up from: this process has not brought it on.
        return (f"{_left(gone)}, still {how}", stood) if gone.member.stood == stood else (how, "")
    if facts.occasion is None and isinstance(next_step(facts, 0), Rest):
        return "its result is kept, not posted", ""
    return f"{_left(gone)}, to be taken up", stood


def _left(gone: Gone) -> str:
    exit_ = gone.exit
    if exit_ is not None and exit_.signal is not None:
        return f"its process was killed by signal {exit_.signal}"
    if exit_ is not None and exit_.code:
        words = f": {clip(gone.last_words, 200)}" if gone.last_words else ""
        return f"its process ended with status {exit_.code}{words}"
    return "its process ended"


def _brought_nothing(facts: Facts) -> bool:
    """What its outcome does not say itself is how the work ended."""
    asked = facts.outcome is Outcome.QUESTION and facts.report is None
    return asked or facts.outcome in (Outcome.NO_REPORT, Outcome.GIVEN_BACK)


def _not_begun(gone: Gone, found: Garbage | None) -> Closing:
    if isinstance(found, Garbage):
        why = found.reason
    else:
        why = clip(_why(gone) or "its process said nothing", 200)
    text = f"{gone.member.ref} {gone.member.session} · not started: {why}"
    line = _line(gone, text, {"outcome": None, "refused": why})
    full = Full.of(why)
    return Closing(line, refused="" if full else why, no_room=full)


def _why(gone: Gone) -> str:
    """What its last line gave as the reason; all of it, where it was no refusal."""
    _, _, why = gone.last_words.partition("— ")
    return why or gone.last_words


def _line(gone: Gone, text: str, facts: dict[str, Json]) -> Line:
    return Line("session.end", text, str(gone.member.ref), gone.member.session, facts=facts)
