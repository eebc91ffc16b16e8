"""A token in a file of its own: read again when the file changes, and never shown.

What a person may swap while a session runs is read like this: the first reading must succeed, and
after that a file that is being written, or is gone, leaves the token as it was.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Final

from colony.errors import Refused
from colony.host.files import Unsafe, read_text

SIZE_MAX: Final = 4096
TOKEN: Final = re.compile(r"tkt_[\x21-\x7e]{1,500}", re.ASCII)

_Seen = tuple[int, int, int]


class NoTokenThere(Refused):
    """The file that is to hold a token holds none."""


class TokenFile:
    """The token that lies at `path`; `setting` is the variable that names the file."""

    def __init__(self, path: Path, setting: str) -> None:
        """NoTokenThere, by name: there is no token at that place."""
        self._path = path
        self.name = f"{setting} {path}"
        self._seen = self._look()
        self._secret = self._read()

    def secret(self, *, again: bool = False) -> str:
        """The token as it is now. `again`: the last one is no good, so look whatever it seems."""
        seen = self._look()
        if seen is not None and (again or seen != self._seen):
            try:
                self._secret = self._read()
                self._seen = seen
            except Refused:
                # Half written: the next request looks once more.
                pass
        return self._secret

    def open_to_all(self) -> bool:
        """Whether every user of this machine can read it."""
        try:
            return bool(self._path.stat().st_mode & stat.S_IROTH)
        except OSError:
            return False

    def _look(self) -> _Seen | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _read(self) -> str:
        try:
            text = read_text(self._path, SIZE_MAX)
        except Unsafe as problem:
            raise NoTokenThere(f"{self.name.partition(' ')[0]} {problem}") from None
        if text is None:
            raise NoTokenThere(f"{self.name}: does not exist")
        if not text.strip():
            raise NoTokenThere(f"{self.name}: is empty")
        token = text.strip()
        if TOKEN.fullmatch(token) is None:
            raise NoTokenThere(f"{self.name}: holds no token (one line that begins with tkt_)")
        return token


class NoToken:
    """No file is named: requests go without a token. `setting` would name one."""

    def __init__(self, setting: str) -> None:
        self.name = f"{setting} names no file"

    def secret(self, *, again: bool = False) -> None:  # noqa: ARG002
        return None
