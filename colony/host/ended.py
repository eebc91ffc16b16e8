"""Which sessions have ended: a list beside the run folders, so that not each record is read.

It is a cache: `session.json` alone says whether a session has ended. A name that is missing here
costs a look, and the whole list can be deleted.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

from colony.host.files import PRIVATE_FILE, PRIVATE_FOLDER

FOLDER: Final = ".ended"


def note_ended(runs: Path, session: str) -> None:
    """Remember that this session has ended. One that cannot be noted is looked at again."""
    try:
        (runs / FOLDER).mkdir(PRIVATE_FOLDER, exist_ok=True)
        flags = os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        os.close(os.open(runs / FOLDER / session, flags, PRIVATE_FILE))
    except OSError:
        return


def forget_ended(runs: Path, session: str) -> None:
    """Forget a session whose run folder is gone. One that stays noted does no harm."""
    with contextlib.suppress(OSError):
        (runs / FOLDER / session).unlink()


def known_ended(runs: Path) -> frozenset[str]:
    """The sessions that were noted as ended."""
    try:
        return frozenset(each.name for each in (runs / FOLDER).iterdir())
    except OSError:
        return frozenset()
