"""A real tracker behind a door where somebody stands: what fails there, or happens meanwhile.

`Meddled` passes every call on to the tracker it was given. Before and after each one it calls a
function of the test, which may raise (an answer that is lost, a process that dies) or let a
person write in between. It keeps a list of the writes that were asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from colony.core.ticket import Ref
from colony.errors import NoAnswer, NotFound
from colony.tracker.protocol import Tracker

WRITES: Final = frozenset({"create", "comment", "move", "edit", "block", "set_parent"})

NEWS: Final = frozenset({"put_session", "put_tail", "put_host"})
"""Told by threads of their own, at any time: they are no calls that a test could count."""

Moment = Literal["before", "after"]


class Crash(BaseException):
    """The process dies here. Nothing of the program catches it."""


@dataclass(frozen=True)
class Call:
    """One call of the tracker. `number` counts from 1: the writes, or else the reads."""

    name: str
    number: int
    args: tuple[Any, ...]
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        found: str = self.more.get("key", "")
        return found

    @property
    def writes(self) -> bool:
        return self.name in WRITES


Meddle = Callable[[Moment, Call], None]


def leave_alone(moment: Moment, call: Call) -> None:
    """Nothing happens."""


@dataclass
class Meddled:
    """A `Tracker` by its behaviour; `tracker_of` gives it as one."""

    inner: Tracker
    meddle: Meddle = leave_alone
    calls: list[Call] = field(default_factory=list)

    @property
    def writes(self) -> list[Call]:
        return [each for each in self.calls if each.writes]

    def __getattr__(self, name: str) -> Any:
        there = getattr(self.inner, name)
        if not callable(there) or name in ("close", "now_ms", "me", *NEWS):
            return there

        def passed_on(*args: Any, **more: Any) -> Any:
            alike = [each for each in self.calls if each.writes == (name in WRITES)]
            call = Call(name, len(alike) + 1, args, more)
            self.calls.append(call)
            self.meddle("before", call)
            answer = there(*args, **more)
            self.meddle("after", call)
            return answer

        return passed_on


def tracker_of(meddled: Meddled) -> Tracker:
    return cast(Tracker, meddled)


# --- what may happen ---------------------------------------------------------------------------


def at(
    moment: Moment, number: int, happens: Callable[[], object], *, writes: bool = True
) -> Meddle:
    """Before or after the write (or read) of this number, once."""

    def meddle(when: Moment, call: Call) -> None:
        if when == moment and call.writes == writes and call.number == number:
            happens()

    return meddle


def lost(*keys: str) -> Meddle:
    """The answer of every write is lost once, when it has happened; or only of these keys."""
    gone: set[str] = set()

    def meddle(when: Moment, call: Call) -> None:
        wanted = call.key in keys if keys else call.writes
        if when == "after" and wanted and call.key not in gone:
            gone.add(call.key)
            raise NoAnswer(f"the answer to {call.key} was lost")

    return meddle


def deleted(ref: Ref) -> Meddle:
    """There is no such ticket any more."""

    def meddle(when: Moment, call: Call) -> None:
        if when == "before" and ref in call.args:
            raise NotFound(f"there is no ticket {ref}")

    return meddle
