"""Memory of the control groups above this process: their limits, and what is held below each.

Group v2 first, then v1. Only what can be seen is judged: in a container the outermost group is the
container's own. A file that is missing is one that this kernel does not have; one that is there and
cannot be read is `Unreadable`, and never taken for room.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from colony.core.admission import Bound
from colony.core.held import held_v1, held_v2
from colony.core.lines import clip
from colony.errors import ColonyError

MOUNTED: Final = "/sys/fs/cgroup"
FILE_MAX: Final = 1024 * 1024
NO_LIMIT: Final = 1 << 60
"""v1 says 2**63 less a page where there is no limit; no machine has so much."""


class Unreadable(ColonyError):
    """Something that has to be known cannot be read."""

    code = "unreadable"


@dataclass(frozen=True, slots=True)
class Group:
    """A control group as it is judged, and what is only shown of it."""

    bound: Bound
    pressure: float | None
    kills: int | None


Reader = Callable[[Path], Bound | None]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a hierarchy is mounted, and the path of this process's group below it."""

    top: Path
    path: PurePosixPath

    @property
    def folders(self) -> Iterator[Path]:
        """The group and all above it that can be seen, the nearest first."""
        folders = (self.top / each for each in (self.path, *self.path.parents))
        return (each for each in folders if each.is_dir())


def groups_of(proc: Path, cgroup: Path) -> tuple[Group, ...]:
    """The groups above this process that tell of memory, the nearest first; none where no group
    does. `proc` and `cgroup` are the folders that are mounted as /proc and /sys/fs/cgroup."""
    return tuple(_each(folders_of(proc, cgroup, ""), _v2)) or tuple(
        _each(folders_of(proc, cgroup, "memory"), _v1)
    )


def folders_of(proc: Path, cgroup: Path, controller: str) -> tuple[Path, ...]:
    """This process's group in the hierarchy of a controller (empty: v2) and all above it that can
    be seen, the nearest first; none where there is no such hierarchy."""
    own = text_of(proc / "self" / "cgroup")
    if own is None:
        return ()
    mounts = (text_of(proc / "self" / "mountinfo") or "").splitlines()
    seen = _mounts(mounts, "cgroup" if controller else "cgroup2", controller)
    place = _place(_path_in(own, controller), seen, cgroup, cgroup / controller)
    return tuple(place.folders) if place is not None else ()


def _each(folders: Sequence[Path], read: Reader) -> Iterator[Group]:
    for folder in folders:
        bound = read(folder)
        if bound is not None:
            yield Group(bound, pressure_in(folder / "memory.pressure"), _kills(folder))


# --- where a group lies ----------------------------------------------------------------------


def _path_in(own: str, controller: str) -> str | None:
    """This process's group in the hierarchy of a controller; of v2 where that is empty."""
    for line in own.splitlines():
        words = line.split(":", 2)
        if len(words) == 3 and controller in words[1].split(","):
            return words[2]
    return None


def _mounts(lines: Sequence[str], kind: str, option: str) -> list[tuple[str, str]]:
    """Mounts of this kind: which group is seen at the top, and where."""
    found = []
    for line in lines:
        left, _, right = line.partition(" - ")
        words, more = left.split(" "), right.split(" ")
        if len(words) < 5 or more[0] != kind:
            continue
        if not option or option in more[-1].split(","):
            found.append((_plain(words[3]), _plain(words[4])))
    return found


def _plain(path: str) -> str:
    """Blanks and the like stand in octal there."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), path)


def _place(
    path: str | None, mounts: Sequence[tuple[str, str]], cgroup: Path, usual: Path
) -> _Place | None:
    """A container may see its own group at the top and still be told the host's path of it."""
    if path is None:
        return None
    own = PurePosixPath(path.lstrip("/"))
    for root, point in mounts:
        if not PurePosixPath(point).is_relative_to(MOUNTED):
            continue
        top, seen = cgroup / PurePosixPath(point).relative_to(MOUNTED), root.strip("/")
        inside = ".." not in own.parts and own.is_relative_to(seen)
        return _Place(top, own.relative_to(seen) if inside else PurePosixPath())
    return _Place(usual, PurePosixPath() if ".." in own.parts else own)


# --- what a group says -----------------------------------------------------------------------


def _v2(folder: Path) -> Bound | None:
    high, most = limit_in(folder / "memory.high"), limit_in(folder / "memory.max")
    limits = [each for each in (high, most) if each is not None]
    current = number_in(folder / "memory.current")
    if current is None:
        _need_none(folder, limits)
        return None
    held = held_v2(current, numbers_in(folder / "memory.stat"))
    by = "memory.high" if high is not None and high < (most or NO_LIMIT) else "cgroup"
    return Bound("cgroup v2", min(limits, default=None), held, by)


def _v1(folder: Path) -> Bound | None:
    limit = limit_in(folder / "memory.limit_in_bytes")
    usage = number_in(folder / "memory.usage_in_bytes")
    if usage is None:
        _need_none(folder, [] if limit is None else [limit])
        return None
    return Bound("cgroup v1", limit, held_v1(usage, numbers_in(folder / "memory.stat")))


def _need_none(folder: Path, limits: Sequence[int]) -> None:
    """A limit whose usage is not told cannot be judged, and must not be passed over."""
    if limits:
        raise Unreadable(f"the cgroup {clip(folder.name, 40)} has a limit and tells no usage")


def _kills(folder: Path) -> int | None:
    try:
        found = numbers_in(folder / "memory.events") or numbers_in(folder / "memory.oom_control")
    except Unreadable:
        return None
    return found.get("oom_kill")


def pressure_in(file: Path) -> float | None:
    """`some avg10=1.25 …`; it judges nothing, so that whatever is wrong with it is no trouble."""
    try:
        found = re.search(r"^some avg10=([0-9.]{1,8})\b", text_of(file) or "", re.MULTILINE)
        return float(found[1]) if found else None
    except (Unreadable, ValueError):
        return None


# --- files -----------------------------------------------------------------------------------


def text_of(file: Path) -> str | None:
    """None: there is no such file."""
    try:
        with file.open("rb") as opened:
            return opened.read(FILE_MAX).decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise Unreadable(f"{file.name} cannot be read: {problem.strerror}") from None


def number_in(file: Path) -> int | None:
    text = text_of(file)
    if text is None:
        return None
    if re.fullmatch(r"[0-9]{1,20}\s*", text, re.ASCII) is None:
        raise Unreadable(f"{file.name} says {clip(text, 20) or 'nothing'!r}, which is no number")
    return int(text)


def limit_in(file: Path) -> int | None:
    """None: there is no limit, or no such file."""
    if (text_of(file) or "").strip() == "max":
        return None
    limit = number_in(file)
    return None if limit is None or limit >= NO_LIMIT else limit


def numbers_in(file: Path) -> dict[str, int]:
    """`name 1234` or `name: 1234 kB`, by name, in bytes; other lines are passed over."""
    lines = (text_of(file) or "").splitlines()
    found = (re.fullmatch(r"([^\s:]+):?\s+([0-9]{1,20})( kB)?", each, re.ASCII) for each in lines)
    return {each[1]: int(each[2]) * (1024 if each[3] else 1) for each in found if each}
