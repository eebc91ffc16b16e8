"""What this process remembers of its writes, for a server that keeps no idempotency keys."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from colony.errors import Invalid

WriteT = TypeVar("WriteT")
AnswerT = TypeVar("AnswerT")

KEPT_MAX: Final = 2000
"""Keys; the oldest are forgotten. Sessions repeat theirs within minutes."""


@dataclass(frozen=True, slots=True)
class Tried(Generic[WriteT, AnswerT]):
    """A write under its key."""

    body: WriteT
    since: int
    """What was known right before the first try whose answer was lost: an event's id, or a time."""
    answer: AnswerT | None = None
    """None: no answer came so far."""


class Remembered(Generic[WriteT, AnswerT]):
    """Writes by path and key. Threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tried: OrderedDict[tuple[str, str], Tried[WriteT, AnswerT]] = OrderedDict()

    def find(self, path: str, key: str, body: WriteT) -> Tried[WriteT, AnswerT] | None:
        """Invalid: the key was used for something else. A try that nobody heard of used none: a
        renewal that did not come through is asked for again with another time in it."""
        with self._lock:
            found = self._tried.get((path, key))
        if found is None or found.body == body:
            return found
        if found.answer is None:
            return None
        raise Invalid("Idempotency-Key: it was used before, for something else")

    def trying(self, path: str, key: str, body: WriteT, since: int) -> None:
        """Right before it is sent. What was known before the first try stays."""
        with self._lock:
            found = self._tried.get((path, key))
            if found is None or found.body != body:
                self._tried[path, key] = Tried(body, since)
            while len(self._tried) > KEPT_MAX:
                self._tried.popitem(last=False)

    def answered(self, path: str, key: str, body: WriteT, answer: AnswerT) -> None:
        with self._lock:
            self._tried[path, key] = Tried(body, 0, answer)

    def refused(self, path: str, key: str) -> None:
        """It surely did not happen: the key is free."""
        with self._lock:
            self._tried.pop((path, key), None)
