"""What the operator of this host wants, as files in `control/` of the home, removed when done.

`pause` holds back starts everywhere, `pause-<project>` those of a project; `<session>.order` holds
`stop` or `park` for a session. A file that is none of these is left alone.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import Final, Literal

from colony.core.ticket import NAME_PATTERN
from colony.errors import ColonyError
from colony.host.chance import SESSION
from colony.host.files import PRIVATE_FOLDER, read_own, write_own, write_problem

FOLDER: Final = "control"
PAUSE: Final = "pause"
_PROJECT: Final = re.compile(f"{PAUSE}-({NAME_PATTERN})", re.ASCII)
_ORDER_MAX: Final = 64

Order = Literal["stop", "park"]


class Control:
    """The folder; it need not exist. Reading it is cheap enough for once a second."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

    def pause(self, project: str = "") -> None:
        """Empty: everywhere. `CannotWrite`."""
        self._write(f"{PAUSE}-{project}" if project else PAUSE, b"")

    def go_on(self, project: str = "") -> bool:
        """Take a pause away; without a project all of them. False: there was none."""
        names = [f"{PAUSE}-{project}"] if project else [PAUSE, *map(_named, self._projects())]
        found = [name for name in names if (self._folder / name).exists()]
        for name in found:
            self._remove(name)
        return bool(found)

    def paused(self) -> frozenset[str]:
        """Projects; the empty name stands for all of them."""
        everywhere = {""} if PAUSE in self._names() else set()
        return frozenset(everywhere | self._projects())

    def order(self, session: str, order: Order) -> None:
        """`CannotWrite`. A later order takes the place of an earlier one."""
        self._write(f"{session}.order", order.encode())

    def of(self, session: str) -> Order | None:
        """What is wanted of a session; an order that cannot be read is none."""
        if not SESSION.fullmatch(session):
            return None
        path = self._folder / f"{session}.order"
        if not path.exists():
            return None
        try:
            data = read_own(self._folder, path.name, _ORDER_MAX)
        except ColonyError:
            return None
        return "stop" if data == b"stop" else "park" if data == b"park" else None

    def done(self, session: str) -> None:
        """The order is on record with its session."""
        if SESSION.fullmatch(session):
            self._remove(f"{session}.order")

    def ordered(self) -> tuple[str, ...]:
        """Sessions for which there is an order."""
        names = (name.removesuffix(".order") for name in self._names() if name.endswith(".order"))
        return tuple(sorted(name for name in names if SESSION.fullmatch(name)))

    def _projects(self) -> set[str]:
        found = (_PROJECT.fullmatch(name) for name in self._names())
        return {one[1] for one in found if one}

    def _names(self) -> frozenset[str]:
        try:
            with os.scandir(self._folder) as entries:
                return frozenset(one.name for one in entries if one.is_file(follow_symlinks=False))
        except OSError:
            return frozenset()

    def _write(self, name: str, data: bytes) -> None:
        try:
            self._folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
        except OSError as problem:
            raise write_problem(problem, str(self._folder)) from None
        write_own(self._folder, name, data)

    def _remove(self, name: str) -> None:
        with contextlib.suppress(OSError):
            (self._folder / name).unlink()


def _named(project: str) -> str:
    return f"{PAUSE}-{project}"
