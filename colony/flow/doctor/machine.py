"""Looking at the machine: home, disk, ports, run folders, git, containment."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from colony.core.doctor import Diagnosis, fail, ok, warn
from colony.core.doctor.machine import (
    HomeSeen,
    Left,
    judge_disk,
    judge_home,
    judge_ports,
    judge_room,
    judge_runs,
    judge_trees,
)
from colony.core.guard import Guard
from colony.core.lines import clip
from colony.core.ports import Range
from colony.core.session import phase_of
from colony.errors import ColonyError
from colony.flow.reaping import Reaper
from colony.flow.room import Admission
from colony.flow.runs import left_behind, taken_ports, unreadable
from colony.host.box import Namespaces, Subreaper, detect
from colony.host.call import call
from colony.host.clock import Clock
from colony.host.files import kind_of
from colony.host.ports import busy_ports

PATH: Final = "/usr/local/bin:/usr/bin:/bin"
CALL_S: Final = 10.0


def look_at_home(home: Path, private: tuple[Path, ...]) -> tuple[Diagnosis, ...]:
    """`private`: files that are nobody else's to read."""
    place = _standing(home)
    mode = place.stat().st_mode
    kind = ("folder" if stat.S_ISDIR(mode) else kind_of(mode)) if place == home else ""
    writable = os.access(place, os.W_OK | os.X_OK) and stat.S_ISDIR(mode)
    seen = HomeSeen(str(home), kind, writable or kind not in ("", "folder"), mode, _open(private))
    return (judge_home(seen),)


def look_at_disk(home: Path) -> tuple[Diagnosis, ...]:
    return (judge_disk(shutil.disk_usage(_standing(home)).free),)


def look_at_ports(runs: Path, pool: Range, size: int) -> tuple[Diagnosis, ...]:
    ours = tuple(span for _, span in taken_ports(runs))
    return (judge_ports(pool, size, busy_ports(pool), ours),)


def look_at_room(admission: Admission, guard: Guard, clock: Clock) -> tuple[Diagnosis, ...]:
    """As a session would be asked that is started now."""
    before = admission.reserved(guard, clock.wall_ms())
    return (judge_room(admission.read(""), guard, before),)


def look_at_runs(runs: Path, host: str) -> tuple[Diagnosis, ...]:
    left = [Left(each.session, each.ticket, phase_of(each)) for each in left_behind(runs, host)]
    return judge_runs([each.reason for each in unreadable(runs)], left)


def look_at_trees(reaper: Reaper) -> tuple[Diagnosis, ...]:
    """Which of them would stay where the disk is full, and why."""
    try:
        stays, go = reaper.stays()
    except ColonyError as error:
        return judge_trees((), (), error.line)
    return judge_trees(stays, go)


def look_at_git(environ: Mapping[str, str], clock: Clock) -> tuple[Diagnosis, ...]:
    path = environ.get("PATH", PATH)
    program = shutil.which("git", path=path)
    if program is None:
        why = "install git: what sessions change in a project can then be seen and undone"
        return (warn("git", "not found", why),)
    done = call((program, "--version"), {"PATH": path}, Path("/"), clock, timeout_s=CALL_S)
    said = done.stdout.decode("utf-8", "replace").removeprefix("git version").strip()
    if done.exit.code != 0 or not said:
        return (warn("git", f"{program} does not work", "install git anew"),)
    return (ok("git", said),)


def look_at_sandbox(
    sandbox: bool, environ: Mapping[str, str], clock: Clock
) -> tuple[Diagnosis, ...]:
    """Proved by using it. `NoBox` says what is missing, and what to do."""
    found = detect("on" if sandbox else "off", clock, environ.get("PATH", PATH))
    if found.warning:
        return (warn("sandbox", found.warning),)
    match found:
        case Namespaces():
            return (
                ok(
                    "sandbox",
                    "bubblewrap works: agents see what is named, all they start ends with them",
                ),
            )
        case Subreaper():
            return (ok("sandbox", "a sweep ends what agents leave running"),)


def look_at_boxes(
    commands: Mapping[str, tuple[str, ...]], environ: Mapping[str, str], clock: Clock
) -> tuple[Diagnosis, ...]:
    """By project: the command that tries out its box, as before each session."""
    out = []
    for name, argv in commands.items():
        done = call(argv, environ, Path("/"), clock, timeout_s=CALL_S)
        said = clip((done.stdout or done.stderr).decode("utf-8", "replace").strip(), 300)
        text = said.partition(" — ")[2] or said
        out.append(ok(f"box {name}", text) if done.exit.code == 0 else fail(f"box {name}", text))
    return tuple(out)


def _standing(path: Path) -> Path:
    """The path itself, or the nearest folder above it that is there."""
    return next(each for each in (path, *path.parents) if os.path.lexists(each))


def _open(private: tuple[Path, ...]) -> tuple[str, ...]:
    """Those that others may read."""
    out = []
    for path in private:
        try:
            mode = path.stat().st_mode
        except OSError:
            continue
        if mode & 0o077:
            out.append(str(path))
    return tuple(out)
