"""Remove run folders that nobody needs any more, one at a time, each behind its locks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from colony.core.lines import Json, Line
from colony.core.prune import Bounds, closing, needed, spared
from colony.core.spans import show_bytes
from colony.core.ticket import Ref, Ticket
from colony.errors import Busy, ColonyError
from colony.flow.runs import home_locked
from colony.flow.sightings import Here, Unreadable, sighted, sightings
from colony.host.discarding import put_away, put_away_before, remove_away
from colony.host.journal import RunFolder
from colony.host.lock import lock_found
from colony.host.sizes import Size, size_of


@dataclass(frozen=True, slots=True)
class Sweep:
    """What one call removes: where, by what bounds, seen at what time."""

    home: Path
    runs: Path
    tickets: Mapping[Ref, Ticket]
    """Every row of the tracker."""
    bounds: Bounds
    now_ms: int
    dry_run: bool


class Needed(ColonyError):
    """Looked at again behind its locks, the folder has to stay."""


def prune(sweep: Sweep) -> Iterator[Line]:
    """A line for each folder, oldest first, then how many; `failed` in the last one counts what
    stays though it should not. `Busy`: the home is locked for too long."""
    pruning = _Pruning(sweep)
    yield from pruning.finish()
    found = sightings(sweep.runs)
    for at, one in enumerate(found):
        yield pruning.judged(one, len(found) - at - 1)
    yield pruning.total()


class _Pruning:
    """One call, with its counts so far."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._removed = self._kept = self._failed = 0
        self._freed = Size()

    def finish(self) -> Iterator[Line]:
        """What an earlier call put away, and was ended before it had emptied it."""
        for away, session in put_away_before(self._sweep.runs):
            size = size_of(self._sweep.runs / away)
            yield self._remove(session, "an earlier removal was cut off", away, size)

    def judged(self, one: Here | Unreadable, newer: int) -> Line:
        if isinstance(one, Unreadable):
            return self._keep(one, f"it cannot be read: {one.reason}")
        why = self._why_kept(one, newer)
        if not _is_plain(RunFolder(self._sweep.runs / one.session).lock) and (
            one.running or not why
        ):
            why = "its lock is no file: nobody can tell whether it is running"
        if why:
            return self._keep(one, why)
        folder = RunFolder(self._sweep.runs / one.session)
        what = closing(one.facts, self._sweep.tickets, self._sweep.now_ms)
        if self._sweep.dry_run:
            return self._gone(one.session, what, size_of(folder.path), str(one.facts.ticket))
        try:
            away = self._put_away(folder, newer)
        except Needed as needs:
            return self._keep(one, needs.line)
        except Busy:
            raise
        except ColonyError as problem:
            return self._fail(one.session, problem.line)
        size = size_of(self._sweep.runs / away)
        return self._remove(one.session, what, away, size, str(one.facts.ticket))

    def _put_away(self, folder: RunFolder, newer: int) -> str:
        """Renamed while nobody can start, take up or check a session in it."""
        with home_locked(self._sweep.home), _session_locked(folder):
            again = sighted(folder)
            if isinstance(again, Unreadable):
                raise Needed(f"it cannot be read: {again.reason}")
            why = self._why_kept(Here(again.facts, running=False), newer)
            if why:
                raise Needed(why)
            return put_away(folder)

    def _why_kept(self, one: Here, newer: int) -> str:
        if one.running:
            return "it is running"
        why = needed(one.facts, self._sweep.tickets)
        return why or spared(one.facts, newer, self._sweep.bounds, self._sweep.now_ms)

    def _remove(self, session: str, why: str, away: str, size: Size, ticket: str = "") -> Line:
        if not self._sweep.dry_run:
            try:
                remove_away(self._sweep.runs, away)
            except ColonyError as problem:
                return self._fail(session, problem.line)
        return self._gone(session, why, size, ticket)

    # --- lines -------------------------------------------------------------------------------

    def _gone(self, session: str, why: str, size: Size, ticket: str) -> Line:
        self._removed += 1
        self._freed += size
        word = "would be removed" if self._sweep.dry_run else "removed"
        facts: dict[str, Json] = {
            "removed": not self._sweep.dry_run, "why": why, "bytes": size.on_disk,
        }  # fmt: skip
        text = f"{session} {word} ({_bytes(size)}): {why}"
        return Line("session", text, ticket or None, session, facts=facts)

    def _keep(self, one: Here | Unreadable, why: str) -> Line:
        self._kept += 1
        ticket = str(one.facts.ticket) if isinstance(one, Here) else None
        facts: dict[str, Json] = {"removed": False, "why": why}
        return Line("session", f"{one.session} kept: {why}", ticket, one.session, facts=facts)

    def _fail(self, session: str, why: str) -> Line:
        self._failed += 1
        facts: dict[str, Json] = {"removed": False, "why": why}
        return Line("session", f"{session} NOT removed: {why}", None, session, facts=facts)

    def total(self) -> Line:
        dry = self._sweep.dry_run
        told = f"{self._removed} {'would be removed' if dry else 'removed'}, {self._kept} kept"
        if self._failed:
            told += f", {self._failed} NOT removed"
        if self._removed:
            told += f"; {_bytes(self._freed)} {'to be freed' if dry else 'freed'}"
        facts: dict[str, Json] = {
            "removed": self._removed, "kept": self._kept, "failed": self._failed,
            "freedBytes": self._freed.on_disk, "dryRun": dry,
        }  # fmt: skip
        return Line("sessions", told, facts=facts)


def _is_plain(lock: Path) -> bool:
    return not lock.is_symlink() and (lock.is_file() or not lock.exists())


@contextlib.contextmanager
def _session_locked(folder: RunFolder) -> Iterator[None]:
    try:
        lock = lock_found(folder.lock, f"run folder {folder.session}")
    except Busy as busy:
        raise Needed(f"somebody works on it: {busy.line}") from None
    with lock:
        yield


def _bytes(size: Size) -> str:
    told = show_bytes(size.on_disk)
    return told if size.whole else f"at least {told}"
