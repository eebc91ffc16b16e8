"""Places that were not there before a part, and must not be there after it: see `core.protected`.

A box can close what is there. For the rest its state is kept before the part and looked at after
it; no link is followed on the way.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.core.protected import on_the_way
from colony.errors import ColonyError
from colony.host.removal import remove_own

MISSING: Final = "missing"
THERE: Final = "there"
LINK: Final = "link to "


@dataclass(frozen=True, slots=True)
class Guarded:
    """Places of a folder, relative to it, that a part must not make or change."""

    folder: Path
    places: tuple[str, ...]


States = Mapping[str, str]
"""How each place, and each folder on the way to it, was before: `MISSING`, `THERE`, or a link."""


def states_of(guarded: Guarded) -> dict[str, str]:
    return {place: _state(guarded.folder / place) for place in on_the_way(guarded.places)}


def undo(guarded: Guarded, before: States) -> tuple[str, ...]:
    """Remove the places that were made, and links that were put in the way of one or changed; what
    was removed, or could not be, in a person's words."""
    told = []
    for place in on_the_way(guarded.places):
        now, was = _state(guarded.folder / place), before.get(place, MISSING)
        made = place in guarded.places and was == MISSING and now != MISSING
        led_away = now.startswith(LINK) and now != was
        if made or led_away:
            try:
                remove_own(guarded.folder, place)
                told.append(f"removed {place}: it would be run outside of the box")
            except ColonyError as error:
                told.append(f"{place} should go, and stays: {error.line}")
    return tuple(told)


def _state(path: Path) -> str:
    try:
        mode = path.lstat().st_mode
        return f"{LINK}{os.readlink(path)}" if stat.S_ISLNK(mode) else THERE  # noqa: PTH115
    except OSError:
        return MISSING
