"""Looking at this machine for a box: which places are there, where links lead, what is private."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.core.mounts import Covered, Mount, View, mounts_of
from colony.errors import Refused
from colony.host.protection import Guarded

SYSTEM: Final = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/sys",
    "/nix/store", "/gnu/store",
)  # fmt: skip
"""The system, read-only (seed 002, "Sandbox"); NixOS and Guix have their own places for it."""
EMPTY: Final = ("/run", "/tmp", "/var")  # noqa: S108 - of the box
RESOLVER: Final = Path("/etc/resolv.conf")
RESOLVED: Final = Path("/run/systemd/resolve")
"""Written anew while a box stands: seen as a folder, so that the new file is."""

PRIVATE_DEPTH: Final = {"/etc": 8, "/opt": 2}
"""How deep what only its owner may read is looked for."""
DOTENV_DEPTH: Final = 6
DOTENV_PASSED: Final = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", "target"})
"""Folders in which nobody keeps a project's variables, and in which very much lies."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a part is to see, as it is named; everything is absolute."""

    folder: Path
    """Where it works."""
    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    guarded: tuple[Guarded, ...] = ()
    """Places that stay as they are: read-only in the box where they are there."""
    own: tuple[tuple[Path, Path], ...] = ()
    """(what, where it is seen): writable places of the session's own in the place of others."""
    secrets: tuple[Path, ...] = ()
    """Never seen, whether they are there or not, wherever they lie."""
    user_home: Path = Path("/nonexistent")
    """The home folder of the user: of it, nothing is seen that is not named."""
    empty_file: Path = Path("/dev/null")
    userns: bool = False
    """User namespaces may be made inside."""


def mounts_for(wanted: Wanted) -> tuple[Mount, ...]:
    """The mounts of a box. `Refused`: it cannot be built so that what must be hidden is."""
    folder = wanted.folder.resolve()
    if wanted.user_home.resolve().is_relative_to(folder):
        raise Refused(f"the dev folder {folder} holds your home folder: no box can keep that apart")
    return mounts_of(
        View(
            system=(*_system(), Mount("empty", str(wanted.user_home))),
            read=_both(wanted.read),
            own=tuple(Mount("write", str(at), str(what.resolve())) for what, at in wanted.own),
            write=(*_both((folder, *wanted.write)), *_git(folder)),
            fixed=tuple(_closed(wanted.guarded)),
            covered=tuple(_covered(wanted, folder)),
            links=tuple(_links((wanted.folder, wanted.user_home, *wanted.read, *wanted.write))),
            empty_file=str(wanted.empty_file),
        )
    )


def _system() -> Iterator[Mount]:
    for name in SYSTEM:
        path = Path(name)
        if path.is_symlink():
            yield Mount("link", name, str(path.readlink()))
        elif path.is_dir():
            yield Mount("read", name, name)
    yield Mount("proc", "/proc")
    yield Mount("dev", "/dev")
    for name in EMPTY:
        yield Mount("empty", name)
    resolver = RESOLVER.resolve()
    if resolver.is_relative_to(RESOLVED):
        yield Mount("read", str(RESOLVED), str(RESOLVED))
    elif resolver != RESOLVER and resolver.is_file() and not resolver.is_relative_to("/etc"):
        yield Mount("read", str(resolver), str(resolver))


def _both(paths: Iterable[Path]) -> tuple[str, ...]:
    """Those that are there, under their own names; a link is seen as what it leads to is."""
    return tuple(dict.fromkeys(str(path.resolve()) for path in paths if _is_there(path)))


def _is_there(path: Path) -> bool:
    """For this user: what he cannot reach his box cannot show."""
    return os.access(path, os.F_OK)


def _is_link(path: Path) -> bool:
    try:
        return path.is_symlink()
    except OSError:
        return False


def _links(paths: Iterable[Path]) -> Iterator[Mount]:
    """The links on the way to these places, each as it is on this machine."""
    for path in paths:
        for each in (*reversed(path.parents), path):
            if _is_link(each):
                yield Mount("link", str(each), str(each.resolve()))


def _git(folder: Path) -> tuple[str, ...]:
    """The repository is a mount of its own: it cannot be moved away, with what is closed in it."""
    git = folder / ".git"
    return (str(git),) if git.is_dir() and not git.is_symlink() else ()


def _closed(guarded: Iterable[Guarded]) -> Iterator[str]:
    """What is there of them, where links lead, as long as it lies in their folder."""
    for each in guarded:
        folder = each.folder.resolve()
        for path in (folder / place for place in each.places):
            if _is_there(path) and path.resolve().is_relative_to(folder):
                yield str(path.resolve())


def _covered(wanted: Wanted, folder: Path) -> Iterator[Covered]:
    for path in wanted.secrets:
        real = path.resolve()
        if _is_there(real):
            yield Covered(str(real), real.is_dir())
    for top, depth in PRIVATE_DEPTH.items():
        yield from _private(Path(top), depth)
    for each in dict.fromkeys((folder, *(path.resolve() for path in wanted.read))):
        if not each.is_relative_to("/usr"):
            yield from _dotenv(each, DOTENV_DEPTH)


def _private(folder: Path, depth: int) -> Iterator[Covered]:
    """What not everybody may read, and this user may: a box has his rights to files."""
    for entry in _entries(folder):
        if entry.is_symlink():
            continue
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            if mode & (stat.S_IROTH | stat.S_IXOTH) != stat.S_IROTH | stat.S_IXOTH:
                if os.access(entry.path, os.X_OK):
                    yield Covered(entry.path, folder=True)
            elif depth > 1:
                yield from _private(Path(entry.path), depth - 1)
        elif not mode & stat.S_IROTH and os.access(entry.path, os.R_OK):
            yield Covered(entry.path, folder=False)


def _dotenv(folder: Path, depth: int) -> Iterator[Covered]:
    """`.env*` but for examples: a project's variables, its secrets among them."""
    for entry in _entries(folder):
        real = Path(entry.path).resolve() if is_dotenv(entry.name) else None
        if real is not None and real.is_file():
            if real.is_relative_to(folder):
                yield Covered(str(real), folder=False)
        elif depth > 1 and entry.name not in DOTENV_PASSED and entry.is_dir(follow_symlinks=False):
            yield from _dotenv(Path(entry.path), depth - 1)


def emptied_in(folder: Path) -> tuple[str, ...]:
    """Files of this folder, relative to it, that a box shows as empty and that are not."""
    top = folder.resolve()
    found = (Path(each.path) for each in _dotenv(top, DOTENV_DEPTH))
    return tuple(sorted({str(path.relative_to(top)) for path in found if path.stat().st_size}))


def is_dotenv(name: str) -> bool:
    return name.startswith(".env") and not name.endswith((".example", ".sample", ".template"))


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        yield from sorted(entries, key=lambda each: each.name)
