"""What a person at this host asks for, as files in `control/` of the home: a pause, an order.

`pause` holds everything, `pause.<project>` one project, `order.<session>` says `stop` or `park`.
A thing that Colony would not have written (a link, a folder, other words, another user's file)
asks for nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

from colony.errors import ColonyError
from colony.host.chance import SESSION
from colony.host.files import make_own, write_own, write_problem
from colony.host.lock import lock_file
from colony.host.pauses import FOLDER, PAUSE, PAUSED, Pauses, names_in, pauses_of, word_of

Asked = Literal["stop", "park"]

_ORDER: Final = "order."
_LOCK: Final = ".lock"
_LOCK_WAIT_S: Final = 5.0
_WORDS: Final[Mapping[bytes, Asked]] = {b"stop\n": "stop", b"park\n": "park"}


class Control:
    """The folder `control/` of this home. Reading it makes nothing, and never fails."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._folder = home / FOLDER

    # --- pauses ------------------------------------------------------------------------------

    def pauses(self) -> Pauses:
        return pauses_of(self._home)

    def pause(self, project: str | None) -> None:
        """Pause a project, or everything. `NoSpace`, `CannotWrite`: nothing is paused by it."""
        self._write(_pause_name(project), PAUSED)

    def unpause(self, project: str | None) -> bool:
        """Take this pause away; False: there was none. `CannotWrite`: it holds."""
        return self._remove(_pause_name(project))

    # --- orders ------------------------------------------------------------------------------

    def of(self, session: str) -> Asked | None:
        """What is wanted of this session. One look at one name: cheap enough for every second."""
        return _WORDS.get(word_of(self._folder, f"{_ORDER}{session}"))

    def orders(self) -> dict[str, Asked]:
        """Every order that nobody has taken yet, by session."""
        names = [name.removeprefix(_ORDER) for name in names_in(self._folder, _ORDER)]
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
    return PAUSE if project is None else f"{PAUSE}.{project}"
