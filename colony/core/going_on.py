"""Where a session stands, in a person's words, and what to do for it to go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from colony.core.last_line import PARKED
from colony.core.lines import clip
from colony.core.markers import utc
from colony.core.records import SessionRecord
from colony.core.session import RESTS, Facts, Rest, next_step, phase_of
from colony.core.spans import show_span

SILENT_MS: Final = 10 * 60_000
"""A host tells of a session that runs at least once a minute; after so long nobody may be there."""


@dataclass(frozen=True, slots=True)
class Stand:
    """`word` is short, for a column; `text` a sentence; `remedy` a command with its purpose."""

    word: str
    text: str
    remedy: str = ""


def stand_of(facts: Facts, host: str, now_ms: int, *, running: bool) -> Stand:
    """`running`: somebody holds the session's lock now. `host` is this host."""
    ref = facts.ticket
    if facts.outcome is not None:
        return Stand(str(facts.outcome), f"ended: {facts.outcome}")
    if running:
        return Stand("running", "it is running", f"watch it: colony tail {facts.session}")
    there = "" if facts.host.casefold() == host.casefold() else f" on {facts.host}"
    rest = _rest(facts, now_ms)
    if rest is not None:
        post = f"colony check runs/{facts.session} --post"
        if rest.judged:
            return Stand("not posted", "its result is kept and not posted", f"post it: {post}")
        return Stand("no verdict", "its report got no verdict", f"have it checked: {post}")
    posts = " --post" if not facts.post else ""
    park = facts.parked
    if park is not None:
        until = "" if park.reason in ("asked", "stop") else f" until {utc(park.resume_ms)}"
        why = f"parked{there}{until}: {PARKED[park.reason]}"
        work = f"colony work {ref.project} {ref.number}{posts}"
        return Stand("parked", why, f"go on at once{there}: {work}")
    text = f"it was left unfinished{there}: {phase_of(facts)}"
    return Stand(
        "unfinished", text, f"go on with it{there}: colony work {ref.project} {ref.number}{posts}"
    )


def told_stand_of(record: SessionRecord, now_ms: int) -> Stand:
    """Where a session of another host stands, as far as the tracker was told of it."""
    ref, host = record.ref, clip(record.host, 60)
    if record.ended_ms is not None or record.phase == "ended":
        said = clip(record.outcome, 60)
        return Stand(clip(record.outcome, 20) or "ended", f"ended: {said or 'no outcome was told'}")
    if record.step == RESTS:
        return _rests_there(record, host)
    silent_ms = now_ms - record.updated_ms
    if silent_ms > SILENT_MS:
        text = f"silent: {host} told nothing of it for {show_span(silent_ms)}"
        return Stand("silent", text, f"look at it there: colony sessions {clip(record.id, 40)}")
    return Stand("running", "it is running", f"watch it: colony tail {ref.project} {ref.number}")


def _rests_there(record: SessionRecord, host: str) -> Stand:
    ref = record.ref
    post = f"colony check runs/{clip(record.id, 40)} --post"
    match record.phase:
        case "judged":
            return Stand("not posted", "its result is kept and not posted", f"on {host}: {post}")
        case "reported":
            return Stand("no verdict", "its report got no verdict", f"on {host}: {post}")
        case "parked":
            go_on = f"on {host}: colony work {ref.project} {ref.number} --post"
            return Stand("parked", f"parked on {host}", go_on)
        case phase:
            go_on = f"on {host}: colony work {ref.project} {ref.number} --post"
            return Stand("unfinished", f"it was left unfinished: {clip(phase, 40)}", go_on)


def _rest(facts: Facts, now_ms: int) -> Rest | None:
    # What is being posted does not rest; and only then the next step needs facts that fit together.
    step = None if facts.occasion is not None else next_step(facts, now_ms)
    return step if isinstance(step, Rest) else None
