"""One session of this home, for a person who wants something of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from colony.core.codec import to_json
from colony.core.session import Facts
from colony.errors import NotFound, Refused
from colony.flow.runs import facts_of
from colony.host.journal import Garbage, RunFolder
from colony.host.lock import lock_file


def session_here(runs: Path, session: str) -> tuple[RunFolder, Facts]:
    """Its folder and facts. `NotFound`: there is none; `Refused`: it cannot be read, or has
    ended."""
    folder = RunFolder(runs / session)
    facts = facts_of(folder)
    if facts is None:
        raise NotFound(f"there is no session {session} in this home")
    if isinstance(facts, Garbage):
        raise Refused(facts.reason)
    if facts.outcome is not None:
        raise Refused(f"session {session} has ended: {facts.outcome}")
    return folder, facts


def changed(runs: Path, session: str, change: Callable[[Facts], Facts]) -> Facts:
    """Change what is on record of a session that nobody works on. `Busy`: somebody does."""
    folder, _ = session_here(runs, session)
    with lock_file(folder.lock, f"session {session} is running"):
        _, facts = session_here(runs, session)
        facts = change(facts)
        record = to_json(facts)
        assert isinstance(record, dict)
        folder.save_json(record)
    return facts
