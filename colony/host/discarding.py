"""Removing run folders for good: put out of sight in one step first, then emptied.

A crash in between leaves a folder under another name, which no session is looked for under; the
next removal finishes it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from colony.host.chance import SESSION
from colony.host.ended import forget_ended
from colony.host.files import folder_at, write_problem
from colony.host.journal import RunFolder
from colony.host.removal import remove_own

AWAY: Final = ".removed-"
"""Begin of the name under which a run folder waits to be emptied."""


def put_away(folder: RunFolder) -> str:
    """Rename the folder out of the list of sessions, on the disk; its new name.

    Only while its lock and the home's are held. `CannotWrite`: it stands as it stood.
    """
    runs, session = folder.path.parent.resolve(), folder.session
    away = AWAY + session
    try:
        with folder_at(runs) as opened:
            os.rename(session, away, src_dir_fd=opened, dst_dir_fd=opened)
            os.fsync(opened)
    except OSError as problem:
        raise write_problem(problem, str(folder.path), "removed") from None
    forget_ended(runs, session)
    return away


def remove_away(runs: Path, away: str) -> None:
    """Empty and remove what was put away. `CannotWrite`: some of it stays."""
    remove_own(runs.resolve(), away)


def put_away_before(runs: Path) -> tuple[tuple[str, str], ...]:
    """What an earlier removal put away and did not finish: its name now, and its session."""
    try:
        with os.scandir(runs) as entries:
            names = sorted(entry.name for entry in entries if entry.name.startswith(AWAY))
    except OSError:
        return ()
    found = ((name, name.removeprefix(AWAY)) for name in names)
    return tuple((name, session) for name, session in found if SESSION.fullmatch(session))
