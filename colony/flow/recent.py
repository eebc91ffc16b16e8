"""The parts of this home's sessions: of those that have not ended, and of the last day's.

A run folder that has not changed costs a look at its record's time and size, not a read.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.core.account import Used, used_of
from colony.core.session import Facts
from colony.core.spending import DAY_MS
from colony.flow.runs import facts_of
from colony.host.ended import known_ended
from colony.host.journal import RECORD, RunFolder, list_runs

SINCE_MS: Final = DAY_MS
"""An ended session that was not touched for so long says nothing of today, nor of the account."""

Stamp = tuple[int, int, int]
"""Time of change, size and number of a file: another record has another one."""


@dataclass(frozen=True, slots=True)
class _Seen:
    stamp: Stamp
    parts: tuple[Used, ...]


class Recent:
    """The parts as they were last read. In memory alone: without it every record is read once."""

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self._seen: dict[str, _Seen] = {}

    def parts(self, now_ms: int) -> tuple[Used, ...]:
        """`Refused`: the run folders cannot be listed. A record that says nothing of use has no
        parts."""
        ended = known_ended(self._runs)
        before, self._seen = self._seen, {}
        for folder in list_runs(self._runs):
            stamp = _stamp(folder)
            old = folder.session in ended and now_ms - stamp[0] // 1_000_000 > SINCE_MS
            if old or not stamp[1]:
                continue
            known = before.get(folder.session)
            if known is None or known.stamp != stamp:
                known = _Seen(stamp, _parts(folder))
            self._seen[folder.session] = known
        return tuple(part for seen in self._seen.values() for part in seen.parts)


def _stamp(folder: RunFolder) -> Stamp:
    try:
        found = os.lstat(folder.path / RECORD)
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino


def _parts(folder: RunFolder) -> tuple[Used, ...]:
    facts = facts_of(folder)
    return tuple(used_of(facts)) if isinstance(facts, Facts) else ()
