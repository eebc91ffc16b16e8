"""From a ticket's name to a session that runs: a new one, or the one that was left unfinished."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from colony.config.parts import WorkSettings
from colony.core.admission import life_of
from colony.core.codec import to_json
from colony.core.deaths import died_elsewhere
from colony.core.last_line import Ended, ended, told_later
from colony.core.lines import Line
from colony.core.ports import Range
from colony.core.session import Facts, phase_of
from colony.core.ticket import Ref
from colony.errors import Busy, ColonyError, Refused
from colony.flow import runs, work
from colony.flow.advance import Session
from colony.flow.bench import Bench
from colony.flow.briefing import project_of
from colony.flow.recent import Recent
from colony.flow.room import Newcomer, NoRoom
from colony.flow.wiring.sessions import Outfit, bench_of, setup_of, tree_setup
from colony.host.journal import RunFolder
from colony.host.lock import is_locked, lock_file
from colony.host.trees import Start

LOCK_WAIT_S: Final = 0.5
"""Whoever asks whether a folder is locked holds its lock for an instant."""


@dataclass(frozen=True, slots=True)
class Order:
    """What was asked for on the command line."""

    ref: Ref
    post: bool
    ports: Range | None = None
    """None: a free range of the pool."""
    session: str | None = None
    """None: one is made up."""


def work_on(outfit: Outfit, order: Order) -> Ended:
    """One session on one ticket, to its end. Errors are refusals: nothing was written."""
    place = outfit.settings.place
    for garbage in runs.unreadable(place.runs_dir):
        outfit.emit(Line("warning", f"— passed over: {garbage.reason}"))
    folder = runs.unfinished(place.runs_dir, order.ref, place.host, order.session)
    if folder is not None:
        return _go_on(outfit, order, folder)
    with _begun(outfit, order) as (bench, facts):
        session, step = work.run(bench, facts)
        return ended(session.facts, step, "work")


def rehearse(outfit: Outfit, order: Order) -> Line:
    """Every check that could refuse the start, and nothing else."""
    place = outfit.settings.place
    left = runs.unfinished(place.runs_dir, order.ref, place.host, order.session)
    if left is not None:
        return _rehearse_again(outfit, order, runs.facts_at(left), left)
    ports = order.ports or outfit.settings.work.ports
    facts = _facts(outfit, order, ports)
    bench = bench_of(outfit, facts, RunFolder(outfit.settings.place.runs_dir / facts.session))
    brief = work.rehearse(bench, facts)
    _need_folder(outfit, facts)
    _need_unlocked(facts)
    _admitted(outfit, facts)
    worker = facts.setup.worker
    text = (
        f"— would lease {order.ref} and run {worker.agent} (model {worker.model}, at most"
        f" {worker.max_turns} steps, {worker.timeout_s} s) in {facts.setup.folder};"
        f" brief of {len(brief):,} characters"
    )
    return Line("work.dry_run", text, str(order.ref), facts={"briefChars": len(brief)})


def _rehearse_again(outfit: Outfit, order: Order, facts: Facts, folder: RunFolder) -> Line:
    """As `rehearse`, for a session that was left unfinished on the ticket: it would go on."""
    if not work.only_posts(facts):
        bench = bench_of(outfit, facts, folder)
        work.check_agents(bench, facts.setup)
        work.check_box(bench, facts)
        _need_unlocked(facts)
        _admitted(outfit, facts)
    text = f"— {order.ref} would go on with session {facts.session} ({phase_of(facts)})"
    return Line("work.dry_run", text, str(order.ref), facts.session)


def _need_unlocked(facts: Facts) -> None:
    """`Busy`: another session works in the dev folder."""
    if is_locked(Path(facts.setup.folder)):
        raise Busy(f"another session works in {facts.setup.folder}")


def _need_folder(outfit: Outfit, facts: Facts) -> None:
    """`Busy`: another session is parked in the dev folder."""
    keeps = runs.parked_in(outfit.settings.place.runs_dir, facts.setup.folder)
    if keeps is not None:
        raise Busy(
            f"session {keeps.session} ({keeps.ticket}) is parked in {keeps.setup.folder}:"
            f" colony resume {keeps.session}, or colony stop {keeps.session}"
        )


def _go_on(outfit: Outfit, order: Order, folder: RunFolder) -> Ended:
    with lock_file(folder.lock, f"run folder {folder.session}", LOCK_WAIT_S):
        facts = runs.facts_of(folder)
        if not isinstance(facts, Facts) or facts.outcome is not None:
            raise Busy(f"session {folder.session} was just taken up by another process")
        facts = _with_ports(outfit, order, facts, folder)
        bench = bench_of(outfit, facts, folder)
        posts = ", and posts its outcome" if facts.post or order.post else ""
        text = f"— {order.ref} goes on with session {facts.session} ({phase_of(facts)}){posts}"
        outfit.emit(Line("work.again", text, str(order.ref), facts.session))
        # The loop names the ports: it has asked the account, and would again.
        wanted = order.ports is None
        session, step = work.go_on(bench, facts, post=order.post, wanted=wanted)
        return ended(session.facts, step, "work")


def pool_of(settings: WorkSettings) -> runs.Pool:
    return runs.Pool(settings.port_pool, settings.ports_per_session)


def _with_ports(outfit: Outfit, order: Order, facts: Facts, folder: RunFolder) -> Facts:
    """A session that may run an agent again needs room again, and gets ports again: its own where
    they are still free. Both are on record before anybody else asks."""
    if work.only_posts(facts):
        return facts
    place = outfit.settings.place
    with runs.home_locked(place.home):
        ports = runs.ports_for(place.runs_dir, pool_of(outfit.settings.work), order.ports, facts)
        facts = _admitted(outfit, replace(facts, setup=replace(facts.setup, ports=ports)))
        record = to_json(facts)
        assert isinstance(record, dict)
        folder.save_json(record)
    return facts


def _admitted(outfit: Outfit, facts: Facts) -> Facts:
    """`NoRoom`: it does not fit. In the home's lock, where its run folder is to follow."""
    guard, now_ms = outfit.settings.guard, outfit.machine.clock.wall_ms()
    one = Newcomer(facts.setup.folder, life_of(facts).memory, facts.session)
    reads: list[Line] = []
    full = outfit.admission(reads.append).room_for(guard, one, now_ms)
    if full is not None:
        # Whoever starts one session is told what was read only where that keeps it from starting.
        for line in reads:
            outfit.emit(line)
        raise NoRoom(full.text)
    return replace(facts, admitted_ms=now_ms) if guard.on else facts


@contextlib.contextmanager
def _begun(outfit: Outfit, order: Order) -> Iterator[tuple[Bench, Facts]]:
    """A new run folder, locked, with its facts; everything that can refuse is asked before."""
    place, settings = outfit.settings.place, outfit.settings.work
    first = _after_deaths(outfit, _facts(outfit, order, order.ports or settings.ports))
    work.rehearse(bench_of(outfit, first, RunFolder(place.runs_dir / first.session)), first)
    # Room is asked for, and the run folder stands, before the tree is made: whoever makes room
    # meanwhile sees for whom.
    place.home.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as held:
        with runs.home_locked(place.home):
            asked = place.runs_dir / first.session
            if asked.exists():
                raise Refused(f"{asked}: the run folder exists already")
            runs.drop_unborn(place.runs_dir)
            _need_folder(outfit, first)
            ports = runs.ports_for(place.runs_dir, pool_of(settings), order.ports)
            facts = _admitted(outfit, replace(first, setup=replace(first.setup, ports=ports)))
            folder = RunFolder.make(place.runs_dir, facts.session)
            held.enter_context(lock_file(folder.lock, f"run folder {facts.session}"))
            bench = bench_of(outfit, facts, folder)
            Session(bench, facts).save(facts)
        _with_tree(outfit, facts, folder)
        yield bench, facts


def _with_tree(outfit: Outfit, facts: Facts, folder: RunFolder) -> None:
    """The tree is there, made where it is missing. `Refused`, `Busy`: nothing of the session is
    left, and its ticket was not touched."""
    tree = facts.setup.tree
    if tree is None:
        return
    try:
        start = Start(tree.branch, tree.into, tree.base)
        outfit.trees.make(tree.name, Path(tree.repository), start)
    except ColonyError:
        folder.discard()
        raise


def _after_deaths(outfit: Outfit, facts: Facts) -> Facts:
    """Whether the agent's own death would be news, as far as this home's sessions tell."""
    parts = Recent(outfit.settings.place.runs_dir).parts(facts.started_ms)
    died = died_elsewhere(parts, facts.setup.worker.agent, facts.ticket)
    return replace(facts, agent_died=died)


def _facts(outfit: Outfit, order: Order, ports: Range) -> Facts:
    settings = outfit.settings
    project = project_of(outfit.view.registry, order.ref.project)
    if not project.workers:
        raise Refused(f"project {project.name} takes no workers")
    now_ms = outfit.machine.clock.wall_ms()
    tree = tree_setup(outfit.trees, settings, project, order.ref)
    return Facts(
        session=order.session or outfit.machine.chance.session_id(now_ms),
        ticket=order.ref,
        host=settings.place.host,
        post=order.post,
        started_ms=now_ms,
        setup=setup_of(settings, project, ports, tree),
    )


def check_session(outfit: Outfit, folder: Path, *, post: bool, again: bool) -> Ended:
    """The controller for a session that has a report; with `post`, its outcome."""
    run = RunFolder(folder)
    facts = runs.facts_at(run)
    with lock_file(run.lock, f"run folder {run.session}", LOCK_WAIT_S):
        session, step = work.check(bench_of(outfit, facts, run), facts, post=post, again=again)
        told = ended(session.facts, step, "check")
    if facts.outcome is None:
        return told
    return told_later(told, outfit.tracker.ticket(facts.ticket).ticket.state)
