"""`work`, `check`: begin a session or go on with one, and say how it ended."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from colony.coding.protocol import CodingAgent
from colony.core.allowlist import allowed
from colony.core.session import (
    End,
    Facts,
    Setup,
    Step,
    check_again,
    go_on_now,
    taken_up,
)
from colony.errors import Busy, Refused, Unreachable
from colony.flow.advance import Session
from colony.flow.bench import Bench, VersionProblem
from colony.flow.briefing import gather, wanted_by
from colony.flow.evidence import Spoiled, report_of
from colony.flow.observe import look_at
from colony.flow.take import refuse, salvage
from colony.flow.walls import Tried, trial_in
from colony.host.lock import lock_folder


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


def check_agents(bench: Bench, setup: Setup) -> None:
    """`Unreachable` where worker or controller could not run: missing, too old, no login."""
    for runner in dict.fromkeys((setup.worker, setup.controller)):
        check_agent(bench.agent_for(runner), bench.version_problem, bench.place.environ)


def check_agent(
    agent: CodingAgent, version_problem: VersionProblem, environ: Mapping[str, str]
) -> None:
    """`Unreachable` where this agent could not run: missing, too old, no login."""
    problem = version_problem(agent) or agent.login_problem(environ)
    if problem:
        raise Unreachable(problem)


def check_box(bench: Bench, facts: Facts) -> None:
    """`NoBox` where the worker's box could not be built, or does not hold."""
    walls, place = bench.walls, bench.place
    if walls is not None:
        env = allowed(place.environ, bench.pass_env)
        agent = bench.agent_for(facts.setup.worker)
        tried = Tried(agent, _stands_in(facts.setup), place.environ, env)
        trial = functools.partial(trial_in, walls=walls, tried=tried)
        place.boxes.try_out(place.containment, trial, place.clock)


def _stands_in(setup: Setup) -> Path:
    """Where the worker would be; the base in the place of a tree that is not there yet."""
    folder = Path(setup.folder)
    if setup.tree is not None and not folder.is_dir():
        return Path(setup.tree.repository)
    return folder


def rehearse(bench: Bench, facts: Facts) -> str:
    """Everything that can refuse a start, and the brief; nothing is written. The brief's text."""
    check_agents(bench, facts.setup)
    check_box(bench, facts)
    survey, history = look_at(bench.tracker, bench.view, facts.ticket)
    refuse(survey, history)
    made = gather(bench.sources, survey, history, wanted_by(facts))
    return bench.sources.templates.brief(made)


def run(bench: Bench, facts: Facts, *, again: bool = False) -> tuple[Session, Step]:
    """Advance a session whose run folder's lock is held. The dev folder is locked meanwhile.

    `again`: another process had it before.
    """
    session = Session(bench, facts)
    try:
        with dev_folder(facts), keeping(session):
            if again and facts.outcome is None:
                # Counted before it is tried: what kills its process is not tried without end.
                session.save(taken_up(facts))
            if facts.lease is not None and facts.outcome is None:
                session.regain()
            return session, session.advance()
    except (Refused, Busy):
        if session.facts.lease is None and not session.facts.parts:
            bench.place.folder.discard()
        raise


@contextlib.contextmanager
def keeping(session: Session) -> Iterator[None]:
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
    return facts.occasion is not None or judged or facts.asked == "stop"


@contextlib.contextmanager
def dev_folder(facts: Facts) -> Iterator[None]:
    """The dev folder is this session's alone, as long as an agent may run in it."""
    if only_posts(facts):
        yield
        return
    folder = facts.setup.folder
    with lock_folder(Path(folder), f"another session works in {folder}"):
        yield


def go_on(bench: Bench, facts: Facts, *, post: bool, wanted: bool = True) -> tuple[Session, Step]:
    """Go on with an unfinished session, now, with leave to post where it is given now.

    `wanted`: as in `go_on_now`.
    """
    facts = replace(facts, post=facts.post or post)
    if facts.asked is None:
        facts = go_on_now(facts, bench.place.clock.wall_ms(), wanted=wanted)
    return run(bench, facts, again=True)


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
    facts = taken_up(go_on_now(facts, bench.place.clock.wall_ms()))
    session = Session(bench, replace(facts, post=post))
    with dev_folder(facts), keeping(session):
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
    taken = salvage(session.holder, session.holder.tracker.ticket(session.holder.ref))
    if taken is None:
        session.save(replace(facts, lost="moved"))
    else:
        session.save(replace(facts, lease=taken.lease, lost=None))
        session.hold(taken)
