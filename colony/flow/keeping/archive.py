"""The form of a backup: a plain tar file, whose last member names every other with its hash.

    colony.db                       the tracker's database
    librarian/...                   the librarian's folder
    runs/<session>/session.json     and report.json, verdict.json, brief.md, parts/*/answer.json
    colony-backup.json              {"version": 1, "atMs": ..., "files": {name: sha256}}

Whoever reads one trusts nothing in it: names, kinds, sizes and hashes are held against this form
before anything outside a staging place is touched.
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Final, Self

from colony.core.lines import Json, clip, printable
from colony.core.strict_json import Problems, dump_json, load_json
from colony.errors import Refused
from colony.host.chance import SESSION

DATABASE: Final = "colony.db"
LIBRARIAN: Final = "librarian"
RUNS: Final = "runs"
LIST: Final = "colony-backup.json"
VERSION: Final = 1

FILE_MAX: Final = 64 * 1024 * 1024
"""Bytes of any file but the database."""
FILES_MAX: Final = 100_000
_CHUNK: Final = 1024 * 1024

_RUN_FILE: Final = re.compile(
    r"session\.json|report\.json|verdict\.json|brief\.md|parts/[0-9]{1,6}-[a-z]{1,20}/answer\.json"
)
_PART: Final = re.compile(r"[^/\0.][^/\0]{0,199}")
_HEADER_MAX: Final = 64 * 1024
"""Bytes of an extension header (a long name): the reader holds it in memory whole."""
_HEADERS: Final = frozenset({
    tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
})  # fmt: skip


def is_run_file(name: str) -> bool:
    """Whether a file of a run folder is one that posting its report needs."""
    return _RUN_FILE.fullmatch(name) is not None


def is_librarian_file(name: str) -> bool:
    """A path inside the librarian's folder, without hidden parts, `.` and `..`, that can be shown
    as it is."""
    parts = name.split("/")
    return (
        printable(name) == name and len(parts) <= 8 and all(_PART.fullmatch(part) for part in parts)
    )


class Writer:
    """Writes a backup into an open file."""

    def __init__(self, file: IO[bytes], at_ms: int) -> None:
        self._tar = tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115
        self._at_ms = at_ms
        self.hashes: dict[str, Json] = {}

    def add(self, name: str, data: bytes) -> None:
        self._add(name, io.BytesIO(data), len(data))

    def add_file(self, name: str, path: Path) -> None:
        """A file that nobody changes meanwhile."""
        with path.open("rb") as file:
            self._add(name, file, path.stat().st_size)

    def finish(self) -> None:
        listed: dict[str, Json] = {
            "version": VERSION, "atMs": self._at_ms, "files": dict(self.hashes),
        }  # fmt: skip
        self.add(LIST, dump_json(listed).encode())
        self._tar.close()

    def _add(self, name: str, file: IO[bytes], size: int) -> None:
        info = tarfile.TarInfo(name)
        info.size, info.mode, info.mtime = size, 0o600, self._at_ms // 1000
        hashed = _Hashed(file)
        self._tar.addfile(info, hashed)
        self.hashes[name] = hashed.sha256.hexdigest()


class _Hashed(io.RawIOBase):
    """A file whose bytes are hashed as they are read."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file = file
        self.sha256 = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.sha256.update(data)
        return data


def unpack(file: IO[bytes], place: Callable[[str], IO[bytes]], shown: str) -> tuple[str, ...]:
    """Write each file of a backup to where `place` opens one; their names.

    `Refused`: it is no whole backup of this form.
    """
    hashes: dict[str, str] = {}
    listed: bytes | None = None
    try:
        for name, content in _members(file):
            if listed is not None:
                raise _Strange(f"{_said(name)}: stands after the list of files")
            if name == LIST:
                listed = b"".join(content)
                continue
            if name in hashes:
                raise _Strange(f"{_said(name)}: stands there twice")
            hashed = hashlib.sha256()
            with place(name) as target:
                for chunk in content:
                    hashed.update(chunk)
                    target.write(chunk)
            hashes[name] = hashed.hexdigest()
        _check_list(listed, hashes)
    except _Strange as problem:
        raise Refused(f"{shown}: {problem}; nothing was put back") from None
    except (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError) as problem:
        why = clip(str(problem), 100)
        raise Refused(f"{shown}: is no whole backup ({why}); nothing was put back") from None
    return tuple(hashes)


class _Strange(Exception):
    """The file is not of the form."""


class _Member(tarfile.TarInfo):
    """A header that is refused before the reader follows it into memory."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        info = super().frombuf(buf, encoding, errors)
        if info.type in _HEADERS and not 0 <= info.size <= _HEADER_MAX:
            raise _Strange(f"a header in it is larger than {_HEADER_MAX} bytes")
        if info.type == tarfile.GNUTYPE_SPARSE:
            raise _Strange(f"{_said(info.name)}: is no file")
        return info

    def _proc_gnusparse_10(self, next: tarfile.TarInfo, *_: object) -> None:
        # The library's own reads a list of any length from the member before anybody can look.
        raise _Strange(f"{_said(next.name)}: is no file")


def _members(file: IO[bytes]) -> Iterator[tuple[str, Iterator[bytes]]]:
    with tarfile.open(fileobj=file, mode="r:", tarinfo=_Member) as tar:
        for count, info in enumerate(tar):
            if count >= FILES_MAX:
                raise _Strange(f"holds more than {FILES_MAX} files")
            if info.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or info.issparse():
                raise _Strange(f"{_said(info.name)}: is no file")
            if not _is_known(info.name):
                raise _Strange(f"{_said(info.name)}: does not belong into a backup")
            if info.size > FILE_MAX and info.name != DATABASE:
                raise _Strange(f"{_said(info.name)}: is larger than {FILE_MAX} bytes")
            content = tar.extractfile(info)
            assert content is not None
            yield info.name, _chunks(content, info)
            # What was read stays in the list of members: a long backup must not fill the memory.
            tar.members = []  # type: ignore[attr-defined]


def _chunks(content: IO[bytes], info: tarfile.TarInfo) -> Iterator[bytes]:
    left = info.size
    while left > 0:
        chunk = content.read(min(left, _CHUNK))
        if not chunk:
            raise _Strange(f"{_said(info.name)}: is cut short")
        left -= len(chunk)
        yield chunk


def _is_known(name: str) -> bool:
    if name in (DATABASE, LIST):
        return True
    top, _, rest = name.partition("/")
    if top == LIBRARIAN:
        return is_librarian_file(rest)
    session, _, inner = rest.partition("/")
    return top == RUNS and SESSION.fullmatch(session) is not None and is_run_file(inner)


def _check_list(listed: bytes | None, hashes: dict[str, str]) -> None:
    if listed is None:
        raise _Strange("ends before its list of files: it was cut short, or is no backup")
    value = load_json(listed.decode("utf-8"), FILE_MAX)
    if isinstance(value, Problems) or not isinstance(value, dict):
        raise _Strange(f"{LIST}: cannot be read")
    if value.get("version") != VERSION:
        raise _Strange(f"{LIST}: version {value.get('version')!a}, this Colony reads {VERSION}")
    if value.get("files") != hashes:
        raise _Strange("its files are not those that were written")
    if DATABASE not in hashes:
        raise _Strange("holds no database")


def _said(name: str) -> str:
    return clip(name, 80)
