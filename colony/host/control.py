"""What a person at this host asks for, as files in `control/` of the home: a pause, an order.

`pause` holds everything, `pause.<project>` one project, `order.<session>` says `stop` or `park`.
A thing that Colony would not have written (a link, a folder, other words, another user's file)
asks for nothing.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from colony.core.ticket import NAME_PATTERN
from colony.errors import ColonyError
from colony.host.chance import SESSION
from colony.host.files import Unsafe, make_own, read_own, write_own, write_problem
from colony.host.lock import lock_file

Asked = Literal["stop", "park"]

FOLDER: Final = "control"
_PAUSE: Final = "pause"
_PAUSED: Final = b"pause\n"
_ORDER: Final = "order."
_PROJECT: Final = re.compile(NAME_PATTERN, re.ASCII)
_LOCK: Final = ".lock"
_LOCK_WAIT_S: Final = 5.0
_WORDS: Final[Mapping[bytes, Asked]] = {b"stop\n": "stop", b"park\n": "park"}
_LIMIT: Final = 16
"""Bytes of a file: more than any word has."""


@dataclass(frozen=True, slots=True)
class Pauses:
    """What is paused: everything, or these projects."""

    everything: bool = False
    projects: frozenset[str] = frozenset()

    def holds(self, project: str) -> bool:
        return self.everything or project in self.projects


class Control:
    """The folder `control/` of this home. Reading it makes nothing, and never fails."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._folder = home / FOLDER

    # --- pauses ------------------------------------------------------------------------------

    def pauses(self) -> Pauses:
        found = [name for name in self._names() if self._word(name) == _PAUSED]
        start = f"{_PAUSE}."
        projects = (name.removeprefix(start) for name in found if name.startswith(start))
        return Pauses(_PAUSE in found, frozenset(filter(_PROJECT.fullmatch, projects)))

    def pause(self, project: str | None) -> None:
        """Pause a project, or everything. `NoSpace`, `CannotWrite`: nothing is paused by it."""
        self._write(_pause_name(project), _PAUSED)

    def unpause(self, project: str | None) -> bool:
        """Take this pause away; False: there was none. `CannotWrite`: it holds."""
        return self._remove(_pause_name(project))

    # --- orders ------------------------------------------------------------------------------

    def of(self, session: str) -> Asked | None:
        """What is wanted of this session. One look at one name: cheap enough for every second."""
        return _WORDS.get(self._word(f"{_ORDER}{session}"))

    def orders(self) -> dict[str, Asked]:
        """Every order that nobody has taken yet, by session."""
        names = [name.removeprefix(_ORDER) for name in self._names() if name.startswith(_ORDER)]
        asked = {name: self.of(name) for name in sorted(filter(SESSION.fullmatch, names))}
        return {session: word for session, word in asked.items() if word is not None}

    def order(self, session: str, asked: Asked) -> None:
        """Leave an order; it takes the place of an earlier one. `NoSpace`, `CannotWrite`."""
        with self.held():
            self._write(f"{_ORDER}{session}", f"{asked}\n".encode())

    def done(self, session: str, asked: Asked) -> None:
        """Take this order away. Another one that came meanwhile stays."""
        with contextlib.suppress(ColonyError), self.held():
            if self.of(session) == asked:
                self._remove(f"{_ORDER}{session}")

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Within the block no order comes or goes. `Busy`: somebody else has it held for long."""
        self._make()
        with lock_file(self._folder / _LOCK, f"folder {self._folder}", _LOCK_WAIT_S):
            yield

    # --- files -------------------------------------------------------------------------------

    def _names(self) -> list[str]:
        try:
            names = [path.name for path in self._folder.iterdir()]
        except OSError:
            return []
        return [name for name in names if name.startswith((_PAUSE, _ORDER))]

    def _word(self, name: str) -> bytes:
        try:
            return read_own(self._folder, name, _LIMIT) or b""
        except Unsafe:
            return b""

    def _make(self) -> None:
        make_own(self._home.resolve(), FOLDER)

    def _write(self, name: str, word: bytes) -> None:
        self._make()
        write_own(self._folder, name, word)

    def _remove(self, name: str) -> bool:
        try:
            (self._folder / name).unlink()
        except FileNotFoundError:
            return False
        except OSError as problem:
            raise write_problem(problem, f"{self._folder}/{name}", "removed") from None
        return True


def _pause_name(project: str | None) -> str:
    return _PAUSE if project is None else f"{_PAUSE}.{project}"
