"""`colony cycle`: the next ticket, worked, checked, and with --post written down; once."""

from __future__ import annotations

from colony.cli.next import show as show_next
from colony.cli.options import WORK, DryRun, Post
from colony.cli.sessions_desk import outfit_of, refusals, warn_of_guard
from colony.cli.verb import Context, verb, verbs
from colony.cli.work import Ports, ports_of
from colony.core.allowance import Seat, seat_of
from colony.core.last_line import Ended
from colony.core.lines import Line
from colony.core.opening import closed
from colony.core.pick import pick
from colony.core.session import Facts
from colony.core.ticket import Ref
from colony.errors import Busy, Refused
from colony.flow.observe import look
from colony.flow.runs import folder_taken, interrupted
from colony.flow.starting import Order, rehearse, work_on
from colony.flow.wiring.account import Standing, standing_of
from colony.flow.wiring.hours import opening_of
from colony.flow.wiring.sessions import Outfit
from colony.host.clock import SystemClock

app = verbs()


@verb(app, ("hours", *(name for name in WORK if name != "ports")))
def cycle(
    context: Context, post: Post = False, dry_run: DryRun = False, ports: Ports = None
) -> int:
    """Pick the next ticket, run a worker on it, have it checked, and with --post write it down.

    A session that was interrupted on this host goes on first, also outside of --hours.
    """
    span = ports_of(ports)
    with refusals(context, "work", None), outfit_of(context) as outfit:
        warn_of_guard(context)
        left = interrupted(
            outfit.settings.place.runs_dir, outfit.view.host, SystemClock().wall_ms()
        )
        standing = standing_of(outfit.settings, outfit.view.registry, outfit.environ)
        if left is not None:
            need_account(standing, seat_of(left))
        if left is not None and dry_run:
            text = f"— {left.ticket} would go on with session {left.session}"
            context.show.line(Line("cycle.dry_run", text, str(left.ticket), left.session))
            return 0
        ended = go_on(context, outfit, left, post=post) if left else None
        if ended is None:
            ref = choose(context, outfit, standing)
            until_ms = opening_of(outfit.settings).closed_until_ms(SystemClock().wall_ms())
            if ref is None or until_ms is not None:
                why = f": {closed(until_ms)}" if ref is not None and until_ms is not None else ""
                context.show.line(Line("cycle.nothing", f"nothing to do{why}"))
                return 0
            order = Order(ref, post, span)
            with refusals(context, "work", str(ref)):
                if dry_run:
                    context.show.line(rehearse(outfit, order))
                    context.show.line(Line("cycle.dry_run", f"— {ref}", str(ref)))
                    return 0
                ended = work_on(outfit, order)
    tell(context, ended)
    return ended.exit_code


def go_on(context: Context, outfit: Outfit, left: Facts, *, post: bool) -> Ended | None:
    """The session that was interrupted here, to its end. One that cannot be taken up is told, and
    keeps nobody from starting something else."""
    try:
        return work_on(outfit, Order(left.ticket, post))
    except (Refused, Busy) as why:
        text = f"— {left.ticket} does not go on: {why.line}"
        context.show.line(Line("work.refused", text, str(left.ticket), left.session))
        return None


def need_account(standing: Standing, seat: Seat) -> None:
    """`Busy`: the account lets nothing begin now, until when, and why."""
    why = standing.against(seat)
    if why is not None:
        raise Busy(f"nothing is started: {why[1]}")


def choose(context: Context, outfit: Outfit, standing: Standing) -> Ref | None:
    """The next ticket whose folder is free, after saying which is next and why the others wait.
    `Busy`: their account is held."""
    found = pick(look(outfit.tracker, outfit.view))
    seats = [standing.quota.seat_of(one.ticket.ref.project) for one in found.eligible]
    free = [seat for seat in seats if standing.against(seat) is None]
    if seats and not free:
        need_account(standing, seats[0])
    show_next(context, found)
    for one, seat in zip(found.eligible, seats, strict=True):
        if seat not in free:
            continue
        place = outfit.settings.place
        taken = folder_taken(outfit.view.registry, place.home, place.runs_dir, one.ticket.ref)
        if taken is None:
            return one.ticket.ref
        text = f"{one.ticket.ref} waits: {taken.text}"
        context.show.line(Line("next.waits", text, str(one.ticket.ref), facts={"code": "busy"}))
    return None


def tell(context: Context, ended: Ended) -> None:
    """The outcome of the work, what it cost, and how the cycle ended."""
    facts = ended.facts
    ref, session = str(facts.ticket), facts.session
    context.show.line(ended.line, "bold")
    worker, checked = facts.cost_of("work", "finalize", "fix"), facts.cost_of("check")
    text = f"${facts.cost_usd:.4f} (worker ${worker:.4f} + controller ${checked:.4f})"
    costs = {"costUsd": facts.cost_usd, "workerUsd": worker, "controllerUsd": checked}
    context.show.line(Line("cycle.cost", text, ref, session, facts=costs))
    outcome = str(facts.outcome) if facts.outcome else _unposted(facts)
    context.show.line(
        Line("cycle.end", f"— {ref}: {outcome}", ref, session, facts={"outcome": outcome})
    )


def _unposted(facts: Facts) -> str:
    """The words for a session that has not ended."""
    if facts.parked is not None:
        return "parked"
    if facts.verdict is None or not facts.verdict.valid:
        return "no verdict"
    return f"verdict {'pass' if facts.verdict.passed else 'fail'}, not posted"
