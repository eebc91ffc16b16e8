"""Deliberate bugs of the product, each of which the simulation has to find.

A mutant replaces one rule of the real program by a wrong one. One that no run finds would mean that
nothing guards that rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final
from unittest.mock import patch

from colony.core import plan as plans
from colony.core.session import changes
from colony.core.turn import Turn
from colony.flow import (
    assignment,
    hold,
    kept,
    leases,
    looking,
    meter,
    parking,
    posting,
    run,
    runs,
    take,
)
from colony.flow.hold import Keeper
from colony.flow.take import Hold
from colony.tracker.protocol import ANY
from colony.tracker.service import Service

Patches = tuple[tuple[Any, str, Any], ...]
YEAR_MS: Final = 365 * 86_400_000


@dataclass(frozen=True)
class Mutant:
    name: str
    patches: Callable[[], Patches]
    found_by: int = 0
    """A seed that found it."""

    @contextmanager
    def in_place(self) -> Iterator[None]:
        with ExitStack() as stack:
            for target, name, wrong in self.patches():
                stack.enter_context(patch.object(target, name, wrong))
            yield


def _never(*_: object, **__: object) -> bool:
    return False


def _always(*_: object, **__: object) -> bool:
    return True


def _no_watchdog() -> Patches:
    """Who lost its lease, or its trust in it, works on."""
    return ((Keeper, "over", _never), (Keeper, "_look", lambda self: None))


def _no_renewals() -> Patches:
    def renew(self: Any) -> float:
        self.trusted_s = self._holder.clock.boot_s() + self._holder.trust_s
        return float(self._heartbeat_s)

    return ((Keeper, "_renew", renew), (Keeper, "_look", lambda self: None))


def _expires_the_living() -> Patches:
    return (
        (plans, "is_silent", _leased),
        (run, "is_silent", _leased),
        (leases, "is_dead", _always),
    )


def _leased(row: Any, now_ms: int) -> bool:
    return bool(row.state == "progress" and row.lease is not None and row.lease.kind != "ready")


def _unguarded_take() -> Patches:
    real = take._write

    def write(holder: Any, *rest: Any) -> Any:
        class Loose:
            features = holder.tracker.features

            def move(self, *args: Any, guard: Any, **more: Any) -> Any:
                return holder.tracker.move(*args, guard=ANY, **more)

        return real(replace(holder, tracker=Loose()), *rest)

    return ((take, "_write", write),)


def _new_key_for_each_try() -> Patches:
    counter = iter(range(10**9))
    return ((posting, "_key", lambda holder, name: f"{holder.session}:{name}:{next(counter)}"),)


def _whatever_stands_is_mine() -> Patches:
    def mine(*_: object) -> str:
        return "mine"

    return (
        (hold.standings, "standing_of", mine), (posting, "standing_of", mine),
        (take, "standing_of", mine), (parking, "standing_of", mine), (posting, "is_mine", _always),
        (posting, "_may_move", _always),
    )  # fmt: skip


def _no_slots() -> Patches:
    return (
        (plans._Hands, "_slot", lambda self: None),
        (plans._Hands, "_folder", lambda self, folder: None),
    )


def _ports_twice() -> Patches:
    def first(pool: Any, size: int, taken: Any) -> Any:
        return iter([(pool[0], pool[0] + size - 1)])

    return ((plans, "free_ranges", first), (runs, "taken_ports", lambda folder: iter(())))


def _cost_counted_twice() -> Patches:
    return ((changes, "part_cost", lambda turn, counted: turn.total_cost_usd),)


def _one_is_forgotten() -> Patches:
    real = plans.pick

    def pick(survey: Any) -> Any:
        found = real(survey)
        return replace(found, eligible=found.eligible[:-1])

    return ((plans, "pick", pick),)


def _parked_for_ever() -> Patches:
    real = plans._Hands.resumes

    def resumes(self: Any, survey: Any) -> Iterator[Any]:
        parked = {one.session for one in self._sessions if one.state == "parked"}
        for action in real(self, survey):
            if isinstance(action, plans.Resume) and action.session in parked:
                yield plans.Wait(action.ref, "parked", "for ever", action.session)
            else:
                yield action

    return ((plans._Hands, "resumes", resumes),)


def _answers_of_the_dead_are_lost() -> Patches:
    from colony.flow import part, parts

    def settle(place: Any, one: Any, how: Any) -> Any:
        return replace(part.settle_part(place, one, how), turn=Turn(), answer_sha256="")

    return ((parts, "settle_part", settle),)


def _left_alone() -> Patches:
    """What a death left in the middle is never taken up again."""
    real = kept._kept

    def found(*args: Any, **more: Any) -> Any:
        one = real(*args, **more)
        return replace(one, state="resting") if one.state == "left" else one

    return ((kept, "_kept", found),)


def _limit_holds_nobody() -> Patches:
    return ((meter, "holds_of", lambda *_: ()),)


def _everything_is_allowed() -> Patches:
    return ((assignment, "allowed", lambda environ, *_: dict(environ)),)


def _keys_are_forgotten() -> Patches:
    real = Service.write

    def write(self: Any, me: Any, ref: Any, what: Any, *, key: str, guard: Any) -> Any:
        return real(
            self, me, ref, what, key=f"{key}:{next(_NUMBERS)}", guard=replace(guard, event=None)
        )

    return ((Service, "write", write),)


_NUMBERS: Final = iter(range(10**9))


def _goes_on_unsaid() -> Patches:
    """A parked session goes on without telling the ticket."""

    def gone_on(holder: Any, facts: Any) -> Any:
        park = facts.parks[-1]
        facts = changes.park_changed(facts, replace(park, told=True, over=True))
        return facts, Hold(facts.lease, holder.clock.boot_s() + YEAR_MS)

    return ((parking, "gone_on", gone_on), *_no_watchdog())


def _sees_no_change() -> Patches:
    return ((looking._Feed, "follow", _always),)


def _tries_at_once() -> Patches:
    return ((kept.Tries, "due_ms", property(lambda _: 0)),)


def _posts_nothing() -> Patches:
    real = posting.send

    def send(holder: Any, sending: Any, effect: Any) -> Any:
        if effect.kind != "comment":
            return real(holder, sending, effect)
        return real(holder, sending, replace(effect, text="Done.", late_text="Done."))

    return ((posting, "send", send),)


FOUND_BY: Final = {
    _no_watchdog: 13,
    _no_renewals: 1,
    _expires_the_living: 1,
    _unguarded_take: 1,
    _new_key_for_each_try: 17,
    _whatever_stands_is_mine: 1,
    _ports_twice: 1,
    _answers_of_the_dead_are_lost: 3,
    _goes_on_unsaid: 8,
    _tries_at_once: 15,
}
"""Where it takes a moment that is not in the first seed: one to begin with."""

MUTANTS: Final = tuple(
    Mutant(work.__name__.strip("_").replace("_", " "), work, FOUND_BY.get(work, 0))
    for work in (
        _no_watchdog,
        _no_renewals,
        _expires_the_living,
        _unguarded_take,
        _new_key_for_each_try,
        _whatever_stands_is_mine,
        _no_slots,
        _ports_twice,
        _cost_counted_twice,
        _one_is_forgotten,
        _parked_for_ever,
        _answers_of_the_dead_are_lost,
        _left_alone,
        _limit_holds_nobody,
        _everything_is_allowed,
        _keys_are_forgotten,
        _goes_on_unsaid,
        _sees_no_change,
        _tries_at_once,
        _posts_nothing,
    )
)
