"""Judging the machine: interpreter, home, disk, ports, sessions left behind."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from colony.core.admission import Reading, Reserved, judge, reads, stands
from colony.core.doctor import Diagnosis, fail, ok, warn
from colony.core.guard import Guard
from colony.core.lines import clip
from colony.core.ports import Range, free_ranges, show_range
from colony.core.ticket import Ref
from colony.core.trees import Stays, TreeSeen

OLDEST_PYTHON: Final = (3, 11)
SESSION_BYTES: Final = 2048 * 1_000_000
"""What one session may need on the disk."""
HARDLY_BYTES: Final = 200 * 1_000_000
"""With less, not even reports and the tracker have room for long."""
NAMED_MAX: Final = 5
"""Of many alike, as many are named."""


def judge_python(version: tuple[int, int, int]) -> Diagnosis:
    text = ".".join(map(str, version))
    if version[:2] < OLDEST_PYTHON:
        needs = ".".join(map(str, OLDEST_PYTHON))
        return fail("python", f"{text} is too old", f"install Python {needs} or newer")
    return ok("python", text)


@dataclass(frozen=True, slots=True)
class HomeSeen:
    """The home as it is on the disk."""

    path: str
    kind: str
    """`folder`, empty where nothing is, else what a person calls it."""
    writable: bool
    """The home itself; where it is not there, the folder that it would be made in."""
    mode: int
    open_files: tuple[str, ...] = ()
    """Those of Colony's private files that other users may read or write."""


def judge_home(seen: HomeSeen) -> Diagnosis:
    other = "name another one with --home or COLONY_HOME"
    if seen.kind not in ("", "folder"):
        return fail("home", f"{seen.path} is {seen.kind}, not a folder", other)
    if not seen.writable:
        return fail("home", f"{seen.path} cannot be written", f"make it yours, or {other}")
    if not seen.kind:
        return ok("home", f"{seen.path} (`colony init` makes it)")
    if seen.mode & 0o022:
        return fail("home", f"others may write in {seen.path}", f"`chmod go-w {seen.path}`")
    if seen.open_files:
        files = " ".join(seen.open_files)
        return warn("home", f"others may read Colony's private files in it: `chmod go= {files}`")
    return ok("home", seen.path)


def judge_disk(free_bytes: int) -> Diagnosis:
    text = f"{free_bytes / 1e9:.1f} GB free"
    if free_bytes < HARDLY_BYTES:
        return fail("disk", text, "make room where the home lies")
    if free_bytes < SESSION_BYTES:
        need = SESSION_BYTES / 1e9
        return warn("disk", text, f"make room where the home lies: a session may need {need:.0f}")
    return ok("disk", text)


def judge_ports(pool: Range, size: int, busy: Collection[int], ours: Sequence[Range]) -> Diagnosis:
    """`busy` cannot be bound now; `ours` are the ranges of sessions that live here."""
    foreign = [port for port in busy if not any(low <= port <= high for low, high in ours)]
    total = pool[1] - pool[0] + 1
    held = [*ours, *((port, port) for port in foreign)]
    free = len(list(free_ranges(pool, size, held)))
    shown = f"{len(foreign)} of {total} ports in {show_range(pool)} taken by others"
    if not free and foreign:
        change = f"end what listens on {_named(foreign)}, or set COLONY_PORT_POOL to another range"
        return fail("ports", f"{shown}, no range of {size} is left", change)
    room = f"room for {free} more session{'' if free == 1 else 's'} in {show_range(pool)}"
    if foreign:
        return warn("ports", f"{shown} ({_named(foreign)}); {room}")
    return ok("ports", room)


def judge_room(reading: Reading | None, guard: Guard, before: Reserved) -> Diagnosis:
    """Whether one more session would be started now, and by what numbers."""
    if not guard.on:
        told = "COLONY_GUARD=off: nothing asks whether one more session fits"
        return warn("room", told, "take that setting out")
    if reading is None:
        return ok("room", "this is not Linux, so every session fits")
    full = judge(reading, guard, before, guard.session_memory)
    read = reads(reading, guard).removeprefix("on: ")
    if full is None:
        return ok("room", f"one more session fits: {stands(reading, guard, before)}; {read}")
    if full.cause == "unknown":
        return fail("room", full.text, "make it readable; COLONY_GUARD=off starts without asking")
    return warn("room", f"{full.text}; {read}", "let sessions end, or make room")


@dataclass(frozen=True, slots=True)
class Left:
    """A session of this host that has not ended and that nobody works on."""

    session: str
    ref: Ref
    phase: str


def judge_runs(unreadable: Sequence[str], left: Sequence[Left]) -> tuple[Diagnosis, ...]:
    found = [warn("runs", clip(why, 200), "look into that folder") for why in unreadable]
    found += [
        warn(
            "runs",
            f"session {one.session} on {one.ref} was left unfinished ({one.phase})",
            f"`colony work {one.ref.project} {one.ref.number} --post` goes on with it",
        )
        for one in left
    ]
    return tuple(found) or (ok("runs", "no session was left unfinished"),)


def judge_trees(
    stays: Sequence[Stays], go: Sequence[TreeSeen], unreadable: str = ""
) -> tuple[Diagnosis, ...]:
    """Trees that nothing but a person can free are said one by one, with the reason."""
    if unreadable:
        return (warn("trees", unreadable, "make it readable"),)
    if not stays:
        free = f"{len(go)} may be removed to make room" if go else "there are none"
        return (ok("trees", free),)
    counted = f"{len(stays)} kept, {len(go)} may be removed to make room"
    told = [ok("trees", f"{each.name} stays: {clip(each.why, 200)}") for each in stays]
    return (ok("trees", counted), *told)


def _named(ports: Sequence[int]) -> str:
    more = f" and {len(ports) - NAMED_MAX} more" if len(ports) > NAMED_MAX else ""
    return ", ".join(map(str, ports[:NAMED_MAX])) + more
