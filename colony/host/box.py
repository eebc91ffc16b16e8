"""The box around a part: what makes sure that it ends whole.

Two tiers. `Namespaces`: bubblewrap with a PID namespace, whose first process takes everything with
it. `Subreaper`: a parent that kills what is left, where namespaces cannot be had.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, TypeGuard, assert_never

from colony.core.lines import clip
from colony.core.mounts import Mount, closed, options_of
from colony.errors import Refused
from colony.host.call import REAPER, CallResult, call
from colony.host.clock import Clock
from colony.host.seccomp import filter_of

OPTIONS: Final = 5
"""The descriptor from which bubblewrap reads its options, the agent's environment among them: its
own environment stays clean, so that no variable of a project changes how the box is built, and what
is hidden from agents stands on no command line that they can read."""
FILTER: Final = 6
"""The descriptor from which bubblewrap reads the filter of system calls."""

WHOLE_MACHINE: Final = ("--dev-bind", "/", "/", "--proc", "/proc")
"""The mounts of a box that hides nothing but the processes outside."""

PROOF_S: Final = 10.0
PATH: Final = "/usr/local/bin:/usr/bin:/bin"

_INSTALL: Final = "install bubblewrap (the package `bubblewrap`)"
_OR_OFF: Final = "or set COLONY_SANDBOX=off to run agents without a sandbox"


class NoBox(Refused):
    """A box could not be built; the message is bubblewrap's own last line."""

    code = "no_box"


@dataclass(frozen=True, slots=True)
class Hardening:
    """What a box takes from the agent beside files (host.md, "The box"): capabilities, other users,
    and the system calls of `host.seccomp`."""

    filter: bytes
    """For the kernel; empty: none is known for this machine."""
    nested: bool = False
    """User namespaces inside: what a browser's own sandbox is made of."""
    old: bool = False
    """This bubblewrap cannot keep them out itself (before 0.8): the filter does."""


@dataclass(frozen=True, slots=True)
class Namespaces:
    """A box of `bwrap`. `mounts` are bubblewrap's options that say what is seen inside; with a
    hardening there are none until `sealed` names them, and nothing could run."""

    bwrap: str
    mounts: tuple[str, ...] = WHOLE_MACHINE
    warning: str = ""
    """What a person must be told at every start; empty: nothing."""
    hardening: Hardening | None = None
    """None: COLONY_SANDBOX=off."""


@dataclass(frozen=True, slots=True)
class Subreaper:
    """No namespaces: a parent that kills what is left, and a sweep after it."""

    warning: str


Containment = Namespaces | Subreaper


def search_path(environ: Mapping[str, str]) -> str:
    """Where bubblewrap is looked for."""
    return environ.get("PATH", PATH)


def detect(mode: Literal["on", "off"], clock: Clock, search: str = PATH) -> Containment:
    """The best containment of this machine, proved by using it. `search` is a PATH.

    `on` without namespaces is `Refused`. `off` drops the mounts only, never the containment.
    """
    problem = ""
    bwrap = shutil.which("bwrap", path=search)
    if bwrap is None:
        problem = "bwrap is not installed"
    else:
        problem = _problem(Namespaces(bwrap), clock)
    match mode:
        case "on":
            if bwrap is None or problem:
                remedy = _INSTALL if bwrap is None else "allow user namespaces here"
                raise NoBox(f"no sandbox: {problem}; {remedy}, {_OR_OFF}")
            return Namespaces(bwrap, mounts=(), hardening=_hardening(bwrap, clock))
        case "off":
            if bwrap is None or problem:
                return Subreaper(
                    "COLONY_SANDBOX=off: agents see this machine's files, and only a sweep ends "
                    f"what they leave running ({problem})"
                )
            return Namespaces(bwrap, warning="COLONY_SANDBOX=off: agents see this machine's files")
        case _:
            assert_never(mode)


def is_hardened(containment: Containment) -> TypeGuard[Namespaces]:
    """It is one that hides what is not named."""
    return isinstance(containment, Namespaces) and containment.hardening is not None


def sealed(box: Namespaces, mounts: Iterable[Mount], *, userns: bool) -> Namespaces:
    """The same box with these mounts. `userns`: user namespaces inside are allowed."""
    assert box.hardening is not None
    mounts = tuple(mounts)
    hardening = box.hardening
    if userns:
        hardening = replace(hardening, nested=True, filter=filter_of(userns=True))
    return replace(box, mounts=(*options_of(mounts), *closed(mounts)), hardening=hardening)


def _hardening(bwrap: str, clock: Clock) -> Hardening:
    """As far as this bubblewrap and this machine go. `NoBox`: too little to keep an agent in."""
    found = Hardening(filter_of(userns=False))
    if _problem(Namespaces(bwrap, hardening=replace(found, filter=b"")), clock):
        found = replace(found, old=True)
        if not found.filter:
            raise NoBox("no sandbox: bubblewrap 0.8 or newer is needed on this machine")
    return found


def boxed(containment: Containment, folder: Path, argv: tuple[str, ...]) -> tuple[str, ...]:
    """The command line that runs `argv` in `folder`, contained.

    A bubblewrap box reads options, NUL after each, from the descriptor `OPTIONS`: those of
    `box_options`, and those that set the environment.
    """
    match containment:
        case Namespaces(bwrap=bwrap):
            filter_ = containment.hardening.filter if containment.hardening else b""
            filtered = ("--seccomp", str(FILTER)) if filter_ else ()
            return (bwrap, "--args", str(OPTIONS), *filtered, "--", *argv)
        case Subreaper():
            return (sys.executable, *REAPER, str(os.getpid()), str(folder), *argv)
        case _:
            assert_never(containment)


def box_options(box: Namespaces, folder: Path) -> tuple[str, ...]:
    """bubblewrap's options for a box whose agent starts in `folder`; no filter is among them."""
    return (*_options(box), "--chdir", str(folder))


def _options(box: Namespaces) -> tuple[str, ...]:
    return (
        *box.mounts,
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        *_hard(box.hardening),
        "--die-with-parent",
        "--new-session",
    )


def _hard(hardening: Hardening | None) -> tuple[str, ...]:
    if hardening is None:
        return ()
    nested = hardening.nested or hardening.old
    return ("--unshare-user", *(() if nested else ("--disable-userns",)), "--cap-drop", "ALL")


def _problem(box: Namespaces, clock: Clock) -> str:
    """Why no box can be built here; empty where one was, and was a PID namespace of its own."""
    proof = ("/bin/sh", "-c", 'read -r pid rest </proc/self/stat; [ "$pid" = "$$" ] && echo "$$"')
    argv = (box.bwrap, *_options(box), "--", *proof)
    result = call(argv, {}, Path("/"), clock, timeout_s=PROOF_S)
    if result.stdout.strip() == b"2":
        return ""
    return f"bwrap cannot make namespaces here: {_last_line(result)}"


def _last_line(result: CallResult) -> str:
    lines = result.stderr.decode("utf-8", "replace").strip().splitlines()
    if lines:
        return clip(lines[-1], 200)
    return "it gave no answer in time" if result.timed_out else "it gave no reason"
