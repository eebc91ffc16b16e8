"""What a part of a session sees of the machine: an allowlist, made into mounts (seed 002, #18).

Nothing is seen that is not named. Where one place lies in another the inner one is mounted later,
so that a folder inside a covered one is seen, and a cover inside a folder that is seen covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from colony.errors import Refused

Kind = Literal["read", "write", "link", "empty", "cover folder", "cover file", "dev", "proc"]


@dataclass(frozen=True, slots=True)
class Mount:
    """`at` is seen as `source`: a path of this machine, or a link's target.

    *empty*: a folder of the box's own, in memory. *cover*: nothing is seen there, and nothing can
    be written; a covered file is seen as the empty file `source`.
    """

    kind: Kind
    at: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Covered:
    """A place that no agent may see, wherever it lies. All links of `path` are resolved."""

    path: str
    folder: bool


@dataclass(frozen=True, slots=True)
class View:
    """Absolute paths. What is written in several lists is seen as the later one says."""

    system: tuple[Mount, ...]
    """The system's folders, and the box's own empty ones."""
    read: tuple[str, ...]
    own: tuple[Mount, ...]
    """Places that stand for others: home, scratch space, the agent's own folders."""
    write: tuple[str, ...]
    fixed: tuple[str, ...]
    """Read-only places inside of what can be written."""
    covered: tuple[Covered, ...]
    links: tuple[Mount, ...]
    """Links that lead to places under their own names, where the box would not show them anyway."""
    empty_file: str
    """An empty file of this machine, which is seen in the place of each covered one."""


_SHOWN: Final = frozenset({"read", "write"})


def mounts_of(view: View) -> tuple[Mount, ...]:
    """The mounts, each after what it lies in. `Refused`: what must be covered is what is to be
    written, so that one of the two cannot be."""
    places = {mount.at: mount for mount in view.system}
    places |= {path: Mount("read", path, path) for path in view.read}
    places |= {mount.at: mount for mount in view.own}
    places |= {path: Mount("write", path, path) for path in view.write}
    places |= {path: Mount("read", path, path) for path in view.fixed}
    for covered in view.covered:
        if covered.path in view.write:
            raise Refused(f"{covered.path} must stay hidden from agents, and is where they work")
    for link in view.links:
        if not _is_seen(link.at, places):
            places[link.at] = link
    for covered in sorted(view.covered, key=lambda each: _depth(each.path)):
        if _is_seen(covered.path, places):
            places[covered.path] = _cover(covered, view.empty_file)
    return tuple(places[path] for path in sorted(places, key=_depth))


def _cover(covered: Covered, empty_file: str) -> Mount:
    if covered.folder:
        return Mount("cover folder", covered.path)
    return Mount("cover file", covered.path, empty_file)


def _is_seen(path: str, places: Mapping[str, Mount]) -> bool:
    """It lies in something that is shown: elsewhere a cover would only tell that it exists."""
    nearest = next((places[each] for each in _outward(path) if each in places), None)
    return nearest is not None and nearest.kind in _SHOWN


def _depth(path: str) -> tuple[int, str]:
    return path.count("/"), path


def _outward(path: str) -> Iterator[str]:
    """The path, then each folder that it lies in, up to the root."""
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield "/"


def options_of(mounts: Iterable[Mount]) -> tuple[str, ...]:
    """bubblewrap's options for these mounts."""
    words: list[str] = []
    for mount in mounts:
        match mount.kind:
            case "read" | "cover file":
                words += ("--ro-bind", mount.source, mount.at)
            case "write":
                words += ("--bind", mount.source, mount.at)
            case "link":
                words += ("--symlink", mount.source, mount.at)
            case "empty":
                words += ("--tmpfs", mount.at)
            case "cover folder":
                words += ("--tmpfs", mount.at)
            case "dev" | "proc":
                words += (f"--{mount.kind}", mount.at)
    return tuple(words)


def closed(mounts: Iterable[Mount]) -> tuple[str, ...]:
    """bubblewrap's options that close covered folders to writing, and the box's own root, to be
    given after all mounts: what is mounted inside one needs a place there first."""
    covers = (mount.at for mount in mounts if mount.kind == "cover folder")
    return tuple(word for at in (*covers, "/") for word in ("--remount-ro", at))
