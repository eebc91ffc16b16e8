"""Checks made one after the other: none can hang the rest, or keep it from being made."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from colony.core.doctor import Diagnosis, fail
from colony.core.lines import clip
from colony.errors import ColonyError

LIMIT_S: Final = 20.0

Look = Callable[[], tuple[Diagnosis, ...]]


@dataclass(frozen=True, slots=True)
class Check:
    """`look` finds things out; what it raises becomes a failing line of this name."""

    name: str
    look: Look


def examine(checks: Iterable[Check], limit_s: float = LIMIT_S) -> Iterator[Diagnosis]:
    """What each check found, as soon as it is known."""
    for check in checks:
        yield from _within(check, limit_s)


def _within(check: Check, limit_s: float) -> tuple[Diagnosis, ...]:
    """A look that takes too long is left behind: it ends with the process."""
    answers: queue.SimpleQueue[tuple[Diagnosis, ...]] = queue.SimpleQueue()
    thread = threading.Thread(
        target=lambda: answers.put(_looked(check)), name=f"check {check.name}", daemon=True
    )
    thread.start()
    try:
        return answers.get(timeout=limit_s)
    except queue.Empty:
        todo = "look at what it stands on (a server, a network disk)"
        return (fail(check.name, f"no answer within {limit_s:g} s", todo),)


def _looked(check: Check) -> tuple[Diagnosis, ...]:
    try:
        return check.look()
    except ColonyError as problem:
        return (fail(check.name, clip(problem.line, 400)),)
    except OSError as problem:
        parts = (problem.filename, problem.strerror or problem)
        return (fail(check.name, clip(": ".join(str(part) for part in parts if part), 400)),)
    except Exception as bug:  # noqa: BLE001 - the others are still to be made
        said = clip(f"{type(bug).__name__}: {bug}", 200)
        return (fail(check.name, f"a bug in Colony, the check itself failed ({said})"),)
