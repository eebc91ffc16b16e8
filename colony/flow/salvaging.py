"""Salvage: an ended session, whose worker ran out before it could report, is asked for its report.

Nothing is on record before the ticket is taken: a death in between leaves a lease of this session,
which the next salvage adopts, and which otherwise runs out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from colony.core.eligible import no_work_ever
from colony.core.endings import Ending
from colony.core.last_line import Ended, ended
from colony.core.lines import Line
from colony.core.markers import utc
from colony.core.ports import Range
from colony.core.session import Facts, salvaged
from colony.core.standing import standing_of
from colony.core.ticket import History
from colony.errors import Refused
from colony.flow import runs, work
from colony.flow.advance import Session
from colony.flow.bench import Bench
from colony.flow.hold import patiently
from colony.flow.starting import LOCK_WAIT_S, pool_of
from colony.flow.take import ANSWER_S, salvage
from colony.flow.wiring.sessions import Outfit, bench_of
from colony.host.journal import RunFolder
from colony.host.lock import lock_file

RAN_OUT: Final = frozenset({Ending.OUT_OF_STEPS, Ending.OUT_OF_TIME, Ending.STALLED})
"""How the worker must have ended: it had something to report, and no chance to."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for on the command line."""

    folder: Path
    post: bool
    ports: Range | None = None


def salvage_session(outfit: Outfit, wish: Wish) -> Ended:
    """The report of an ended session, its check, and with `post` the outcome. `Refused`: it is no
    such session, or its ticket is not to be had; nothing was written."""
    run = RunFolder(wish.folder)
    with lock_file(run.lock, f"run folder {run.session}", LOCK_WAIT_S):
        facts = runs.facts_at(run)
        bench = bench_of(outfit, facts, run)
        if facts.outcome is None and facts.salvaged_after is not None:
            session, step = work.go_on(bench, facts, post=wish.post)
            return ended(session.facts, step, "salvage")
        _need_salvageable(facts)
        facts = _prepared(outfit, wish, facts)
        work.check_agents(bench, facts.setup)
        with work.dev_folder(facts):
            session = _taken(bench, facts)
            with work.keeping(session):
                step = session.advance()
                return ended(session.facts, step, "salvage")


def _need_salvageable(facts: Facts) -> None:
    """`Refused`, in the order in which a person would ask."""
    session, ref = facts.session, facts.ticket
    if facts.outcome is None:
        raise Refused(
            f"session {session} has not ended: colony work {ref.project} {ref.number} goes on"
        )
    if facts.report is not None and facts.report.valid:
        raise Refused(f"session {session} has ended with a report: {facts.outcome}")
    if any(part.kind in ("finalize", "fix") for part in facts.parts):
        raise Refused(f"session {session} was asked for its report already")
    last = facts.worked[-1] if facts.worked else None
    if last is None or last.ended not in RAN_OUT:
        how = last.ended if last is not None else "nothing was started"
        raise Refused(f"the worker of session {session} did not run out of steps or time ({how})")
    if not last.met:
        raise Refused(f"the conversation of session {session} cannot be taken up again")


def _prepared(outfit: Outfit, wish: Wish, facts: Facts) -> Facts:
    """The facts as they go on, with the settings of today for what is still to be done."""
    place, settings = outfit.settings.place, outfit.settings.work
    with runs.home_locked(place.home):
        ports = runs.ports_for(place.runs_dir, pool_of(settings), wish.ports, facts)
    setup = replace(
        facts.setup,
        ports=ports,
        finalize_max_turns=settings.finalize_max_turns,
        finalize_timeout_s=settings.finalize_timeout,
    )
    if setup.finalize_max_turns == 0:
        raise Refused("--finalize-max-turns 0: there would be no step for the report")
    return replace(salvaged(facts), setup=setup, post=wish.post, left=False)


def _taken(bench: Bench, facts: Facts) -> Session:
    """The ticket is taken again, by the same session. `Busy`, `Refused`: it is not to be had."""
    session = Session(bench, facts)
    holder = session.holder
    history = patiently(holder, lambda: holder.tracker.ticket(holder.ref), ANSWER_S)
    _need_free(facts, history)
    held = salvage(holder, history)
    if held is None:
        raise Refused(f"{facts.ticket} is {history.ticket.state}: only an open one is salvaged")
    session.save(replace(facts, lease=held.lease))
    session.hold(held)
    text = f"{facts.ticket} until {utc(held.lease.until_ms)} (session {facts.session})"
    bench.emit(Line("salvage.leased", text, str(facts.ticket), facts.session))
    return session


def _need_free(facts: Facts, history: History) -> None:
    never = no_work_ever(history.ticket)
    if never:
        raise Refused(f"{facts.ticket} is {never}")
    if history.ticket.state != "progress":
        return
    token = facts.lease.token if facts.lease is not None else 0
    if standing_of(history, facts.session, token) != "mine":
        raise Refused(f"{facts.ticket} is in progress: only an open one is salvaged")


def costs(facts: Facts) -> Line:
    """`SALVAGE COST: finalize $a + controller $b (the worker before: $c; whole session now $d)`"""
    report, checked = facts.cost_of("finalize", "fix"), facts.cost_of("check")
    worker = facts.cost_of("work")
    text = (
        f"finalize ${report:.4f} + controller ${checked:.4f}"
        f" (the worker before: ${worker:.4f}; whole session now ${facts.cost_usd:.4f})"
    )
    told = {"finalizeUsd": report, "controllerUsd": checked, "workerUsd": worker}
    ref, session = str(facts.ticket), facts.session
    return Line("salvage.cost", text, ref, session, facts={**told, "costUsd": facts.cost_usd})
