"""`work`, `check`: begin a session or go on with one, and say how it ended."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, assert_never

from colony.core.codec import CodecProblem, from_json
from colony.core.endings import BELONGS
from colony.core.lines import Line
from colony.core.ports import Range, free_ranges, show_range
from colony.core.session import (
    End,
    Facts,
    Outcome,
    Rest,
    Setup,
    Step,
    check_again,
    next_step,
    phase_of,
)
from colony.core.ticket import Ref
from colony.errors import Busy, Refused, Unreachable
from colony.flow.advance import Session
from colony.flow.bench import Bench
from colony.flow.briefing import Wanted, gather
from colony.flow.evidence import Spoiled, report_of
from colony.flow.observe import look_at
from colony.flow.take import refuse, salvage
from colony.host.ended import known_ended
from colony.host.journal import Garbage, RunFolder, list_runs
from colony.host.lock import is_locked, lock_file, lock_folder
from colony.host.ports import busy_ports

HOME_LOCK: Final = "home.lock"
HOME_LOCK_WAIT_S: Final = 10.0

Verb = Literal["work", "check"]


class Kept(Unreachable):
    """The tracker does not answer any more; the session is on disk and goes on from there."""

    def __init__(self, facts: Facts, why: str) -> None:
        ref = facts.ticket
        super().__init__(
            f"{ref}: {why}; session {facts.session} is kept:"
            f" colony work {ref.project} {ref.number} goes on"
        )
        self.posting = facts.occasion is not None


class KeptRefused(Refused):
    """As `Kept`, for what does not pass by itself."""

    def __init__(self, facts: Facts, why: str) -> None:
        super().__init__(Kept(facts, why).line)
        self.posting = facts.occasion is not None


class KeptBusy(Busy):
    """As `Kept`, for a tracker or a disk that is busy."""

    def __init__(self, facts: Facts, why: str) -> None:
        super().__init__(Kept(facts, why).line)
        self.posting = facts.occasion is not None


@dataclass(frozen=True, slots=True)
class Ended:
    """How a session stands after a command: its facts, and the exit status for them."""

    facts: Facts
    line: Line
    exit_code: int


# --- run folders -----------------------------------------------------------------------------


def facts_of(folder: RunFolder) -> Facts | Garbage | None:
    """What a run folder says; None where nothing was committed in it."""
    record = folder.load_json()
    if record is None or isinstance(record, Garbage):
        return record
    try:
        return from_json(Facts, record)
    except CodecProblem as problem:
        return Garbage(f"{folder.session}: session.json: {problem}")


def not_ended(runs: Path) -> tuple[RunFolder, ...]:
    """Run folders of sessions that have not ended, as far as is known without reading them."""
    ended = known_ended(runs)
    return tuple(folder for folder in list_runs(runs) if folder.session not in ended)


def left_behind(runs: Path, host: str) -> tuple[Facts, ...]:
    """This host's sessions that have not ended and that nobody works on, oldest first."""
    found = []
    for folder in not_ended(runs):
        facts = facts_of(folder)
        if not isinstance(facts, Facts) or facts.outcome is not None or facts.host != host:
            continue
        if not is_locked(folder.lock):
            found.append(facts)
    return tuple(sorted(found, key=lambda facts: (facts.started_ms, facts.session)))


def unreadable(runs: Path) -> tuple[Garbage, ...]:
    """Run folders whose record cannot be read: a person has to look, nothing else will."""
    found = (facts_of(folder) for folder in not_ended(runs))
    return tuple(each for each in found if isinstance(each, Garbage))


def drop_unborn(runs: Path) -> None:
    """Remove folders of sessions that were ended before they wrote anything down.

    Only while the home is locked: a session that is just being made is in it, too.
    """
    for folder in not_ended(runs):
        if facts_of(folder) is None and not is_locked(folder.lock):
            folder.discard()


def unfinished(runs: Path, ref: Ref, host: str) -> RunFolder | None:
    """The run folder of the newest session on this ticket that was left behind here."""
    mine = [facts for facts in left_behind(runs, host) if facts.ticket == ref]
    return RunFolder(runs / mine[-1].session) if mine else None


def interrupted(runs: Path, host: str, now_ms: int) -> Facts | None:
    """The oldest session left behind in the middle; one that rests with its result is not.

    One whose dev folder is gone cannot go on, and must not keep others from being started.
    """
    for facts in left_behind(runs, host):
        resting = isinstance(next_step(facts, now_ms), Rest)
        if not resting and Path(facts.setup.folder).is_dir():
            return facts
    return None


def taken_ports(runs: Path) -> Iterator[Range]:
    """Port ranges of the sessions that live on this host: whose lock is held."""
    for folder in not_ended(runs):
        if is_locked(folder.lock) and isinstance(facts := facts_of(folder), Facts):
            yield facts.setup.ports


@contextlib.contextmanager
def home_locked(home: Path) -> Iterator[None]:
    """One at a time in this home: for what is decided from all run folders together."""
    with lock_file(home / HOME_LOCK, "Colony's home", HOME_LOCK_WAIT_S):
        yield


def a_range(runs: Path, pool: Range, size: int) -> Range:
    """The lowest range of the pool that no live session has and whose ports can be bound."""
    for block in free_ranges(pool, size, taken_ports(runs)):
        if not busy_ports(block):
            return block
    raise Busy(f"no free range of {size} ports in {show_range(pool)}")


# --- beginning and going on ------------------------------------------------------------------


def check_agents(bench: Bench, setup: Setup) -> None:
    """`Unreachable` where worker or controller could not run: missing, too old, no login."""
    for runner in dict.fromkeys((setup.worker, setup.controller)):
        agent = bench.agent_for(runner)
        problem = bench.version_problem(agent) or agent.login_problem(bench.place.environ)
        if problem:
            raise Unreachable(problem)


def rehearse(bench: Bench, facts: Facts) -> str:
    """Everything that can refuse a start, and the brief; nothing is written. The brief's text."""
    check_agents(bench, facts.setup)
    survey, history = look_at(bench.tracker, bench.view, facts.ticket)
    refuse(survey, history)
    worker = facts.setup.worker
    wanted = Wanted(facts.session, facts.setup.ports, worker.max_turns, worker.timeout_s)
    made = gather(bench.sources, survey, history, wanted)
    return bench.sources.templates.brief(made)


def run(bench: Bench, facts: Facts) -> tuple[Session, Step]:
    """Advance a session whose run folder's lock is held. The dev folder is locked meanwhile."""
    session = Session(bench, facts)
    try:
        with dev_folder(facts), _keeping(session):
            if facts.lease is not None and facts.outcome is None:
                session.regain()
            return session, session.advance()
    except (Refused, Busy):
        if session.facts.lease is None and not session.facts.parts:
            bench.place.folder.discard()
        raise


@contextlib.contextmanager
def _keeping(session: Session) -> Iterator[None]:
    """Whatever does not answer, a session that has begun is kept, and the error says so."""
    try:
        yield
    except Unreachable as error:
        raise Kept(session.facts, error.line) from error
    except Refused as error:
        if session.facts.lease is None:
            raise
        raise KeptRefused(session.facts, error.line) from error
    except Busy as error:
        if session.facts.lease is None:
            raise
        raise KeptBusy(session.facts, error.line) from error


def only_posts(facts: Facts) -> bool:
    """What is left of the session runs no agent: it needs neither folder nor credentials."""
    judged = facts.verdict is not None and facts.verdict.valid
    return facts.occasion is not None or judged


@contextlib.contextmanager
def dev_folder(facts: Facts) -> Iterator[None]:
    """The dev folder is this session's alone, as long as an agent may run in it."""
    if only_posts(facts):
        yield
        return
    folder = facts.setup.folder
    with lock_folder(Path(folder), f"another session works in {folder}"):
        yield


def go_on(bench: Bench, facts: Facts, *, post: bool) -> tuple[Session, Step]:
    """Go on with an unfinished session, with leave to post where it is given now."""
    return run(bench, replace(facts, post=facts.post or post))


def check(bench: Bench, facts: Facts, *, post: bool, again: bool) -> tuple[Session, Step]:
    """The controller for a session with a valid report; then, with `post`, the outcome."""
    if facts.report is None or not facts.report.valid:
        raise Refused(f"session {facts.session} has no valid report to check")
    if facts.outcome is not None:
        if again:
            raise Refused(f"session {facts.session} has ended: {facts.outcome}")
        return Session(bench, facts), End(facts.outcome)
    _need_report(bench, facts)
    if facts.occasion is None and (again or facts.verdict is None or not facts.verdict.valid):
        facts = check_again(facts)
    session = Session(bench, replace(facts, post=post))
    with dev_folder(facts), _keeping(session):
        session.tell_verdict()
        if post:
            _lease_for_posting(session)
        return session, session.advance()


def _need_report(bench: Bench, facts: Facts) -> None:
    """Who asks for a check by hand can put a file back: nothing is given up for them."""
    if facts.occasion is None:
        try:
            report_of(bench, facts)
        except Spoiled as spoiled:
            raise Refused(f"session {facts.session}: {spoiled}") from None


def _lease_for_posting(session: Session) -> None:
    """The session's own lease; where it has ended, a new one, in states that allow it."""
    session.regain()
    facts = session.facts
    if facts.outcome is not None or facts.occasion is not None or facts.lost is None:
        return
    taken = salvage(session.desk, session.desk.tracker.ticket(session.desk.ref))
    if taken is None:
        session.save(replace(facts, lost="moved"))
    else:
        session.save(replace(facts, lease=taken.lease, lost=None))
        session.hold(taken)


# --- the last line ---------------------------------------------------------------------------


def ended(session: Session, step: Step, verb: Verb) -> Ended:
    """The outcome, which is the last line, and the exit status."""
    facts = session.facts
    match step:
        case Rest(judged=True):
            word, text, code = _rests(facts)
        case Rest():
            text = f"no verdict. Try again: colony check {_shown(session)} --post"
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


def _shown(session: Session) -> str:
    return f"runs/{session.facts.session}"


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
            return "half_done", "is open again: the next worker continues", 0
        case Outcome.SENT_BACK:
            return "failed", "was sent back: its check failed", 1
        case Outcome.QUESTION:
            return "failed", f"failed its check, its creator is asked: {_question(facts)}", 1
        case Outcome.NO_VERDICT:
            asked = f"its creator is asked: {_question(facts)}"
            return "controller_failed", f"has a report that nobody could check; {asked}", 1
        case Outcome.NO_REPORT:
            return "failed", f"is open again: no valid report ({_last(facts)})", 1
        case Outcome.GIVEN_BACK:
            return "failed", f"is open again: {_last(facts)}", _given_back_code(facts)
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


def _last(facts: Facts) -> str:
    worked = [part for part in facts.parts if part.kind != "check"]
    if facts.report is not None and not facts.report.valid:
        return f"bad report: {facts.report.problems[0]}"
    return str(worked[-1].ended) if worked else "nothing was started"


def _given_back_code(facts: Facts) -> int:
    worked = [part for part in facts.parts if part.kind != "check"]
    last = worked[-1].ended if worked else None
    return 4 if last is not None and BELONGS[last] == "account" else 1
