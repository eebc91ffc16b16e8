"""A person stops, parks or resumes a session: by an order to its process, or where there is none,
by going on with it from here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from colony.core.codec import to_json
from colony.core.lease import is_mine
from colony.core.lines import Line
from colony.core.session import (
    UNTIL_ASKED_MS,
    Facts,
    Occasion,
    Outcome,
    go_on_now,
    park_changed,
)
from colony.errors import Busy, NotFound, Refused
from colony.flow import runs, work
from colony.flow.bench import Bench
from colony.host.control import Asked, Control
from colony.host.journal import Garbage, RunFolder
from colony.host.lock import is_locked, lock_file
from colony.host.wake import wake_holder

WAIT_S: Final = 10.0
"""How long the session's process is given to do as asked, before this command says so and ends."""
GIVEN_BACK: Final = "is given back: it is open, and a running colony run starts it again"
ASKS: Final = "has cost all that it may: its creator is asked"
LOOK_S: Final = 0.1
LOCK_WAIT_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Desk:
    """What lies here, and how to wait."""

    runs: Path
    control: Control
    now_ms: Callable[[], int]
    pause: Callable[[float], object]


def open_session(desk: Desk, session: str) -> tuple[RunFolder, Facts]:
    """A session of this home that has not ended. `NotFound`, `Refused`."""
    folder = RunFolder(desk.runs / session)
    if folder.path.is_symlink() or not folder.path.is_dir():
        raise NotFound(f"there is no session {session} in {desk.runs}")
    facts = runs.facts_of(folder)
    if isinstance(facts, Garbage):
        raise Refused(f"{folder.path} cannot be read: {facts.reason}")
    if facts is None:
        raise Busy(f"session {session} has just begun and wrote nothing down yet")
    _open(facts)
    return folder, facts


def ask(desk: Desk, folder: RunFolder, asked: Asked) -> Line | None:
    """Order it of the process that works on the session. None: nobody works on it (any more)."""
    if not is_locked(folder.lock):
        return None
    session, control = folder.session, desk.control
    control.order(session, asked)
    with control.held():
        # The process takes the order away only after this block: so it knows what woke it.
        pid = wake_holder(folder.lock) if control.of(session) == asked else None
    until_ms = desk.now_ms() + round(WAIT_S * 1000)
    while is_locked(folder.lock) and desk.now_ms() < until_ms:
        desk.pause(LOOK_S)
    facts = runs.facts_of(folder)
    if not isinstance(facts, Facts):
        control.done(session, asked)
        raise NotFound(f"session {session} ended before it began")
    if is_locked(folder.lock):
        who = f"process {pid}" if pid is not None else "its process"
        text = f"{session} — asked; {who} has not done it yet: colony sessions {session} shows it"
        return _line(facts, text, "asked")
    if facts.outcome is not None or facts.parked is not None:
        control.done(session, asked)
    return outcome_line(facts, asked)


def outcome_line(facts: Facts, asked: Asked) -> Line | None:
    """What became of it; None: it was left with the order undone."""
    if facts.outcome is Outcome.GIVEN_BACK and asked == "stop":
        return _line(facts, f"{facts.session} — {facts.ticket} {GIVEN_BACK}", "given back")
    if facts.outcome is Outcome.QUESTION and facts.occasion is Occasion.STOPPED:
        return _line(facts, f"{facts.session} — {facts.ticket} {ASKS}", "question")
    if facts.outcome is not None:
        text = f"{facts.session} — had ended before: {facts.outcome}"
        return _line(facts, text, str(facts.outcome))
    if facts.parked is not None and asked == "park":
        again = f"colony resume {facts.session}"
        return _line(facts, f"{facts.session} — parked until: {again}", "parked")
    return None


def park_here(desk: Desk, folder: RunFolder) -> Line | None:
    """A session that is parked already stays so until it is asked to go on. None: it is not."""
    with lock_file(folder.lock, f"run folder {folder.session}", LOCK_WAIT_S):
        facts = _read(folder)
        if facts.parked is None:
            return None
        park = replace(facts.parked, reason="asked", resume_ms=desk.now_ms() + UNTIL_ASKED_MS)
        facts = park_changed(replace(facts, asked=None), park)
        _save(folder, facts)
    return outcome_line(facts, "park")


def act_here(bench_of: Callable[[Facts], Bench], folder: RunFolder, asked: Asked) -> Line:
    """Do it in this process: nobody else works on the session."""
    with lock_file(folder.lock, f"run folder {folder.session}", LOCK_WAIT_S):
        facts = _read(folder)
        if facts.occasion is not None:
            ref = facts.ticket
            raise Refused(
                f"session {facts.session} is posting its outcome, which is kept whole:"
                f" colony work {ref.project} {ref.number} goes on"
            )
        bench = bench_of(facts)
        if facts.lease is None and not _has_taken(bench, facts):
            folder.discard()
            text = f"{facts.session} — it had not taken {facts.ticket} yet; nothing is left of it"
            return _line(facts, text, "discarded")
        session, _ = work.go_on(bench, replace(facts, asked=asked), post=False)
        done = outcome_line(session.facts, asked)
    if done is None:
        raise Busy(f"session {facts.session} did not come to it: colony sessions {facts.session}")
    return done


def resume(desk: Desk, session: str) -> Line:
    """The parked session's time is now. `Refused`: it is not parked."""
    folder, _ = open_session(desk, session)
    with lock_file(folder.lock, f"run folder {session}", LOCK_WAIT_S):
        facts = _read(folder)
        if facts.parked is None:
            raise Refused(f"session {session} is not parked: colony sessions {session} shows it")
        _save(folder, go_on_now(facts, desk.now_ms()))
        desk.control.done(session, "park")
    ref = facts.ticket
    text = (
        f"{session} — its time is now: a running colony run takes it up;"
        f" without one: colony work {ref.project} {ref.number} --session {session}"
    )
    return Line("resume", text, str(ref), session)


def _has_taken(bench: Bench, facts: Facts) -> bool:
    """Its take landed, and the answer to it was lost."""
    history = bench.tracker.ticket(facts.ticket)
    return is_mine(history.ticket.state, history.events, facts.session)


def _read(folder: RunFolder) -> Facts:
    facts = runs.facts_of(folder)
    if not isinstance(facts, Facts):
        raise Refused(f"{folder.path} cannot be read any more")
    _open(facts)
    return facts


def _open(facts: Facts) -> None:
    if facts.outcome is not None:
        raise Refused(f"session {facts.session} has ended: {facts.outcome}")


def _save(folder: RunFolder, facts: Facts) -> None:
    record = to_json(facts)
    assert isinstance(record, dict)
    folder.save_json(record)


def _line(facts: Facts, text: str, became: str) -> Line:
    return Line("stop", text, str(facts.ticket), facts.session, facts={"became": became})
