"""The box around a part: what makes sure that it ends whole.

Two tiers. `Namespaces`: bubblewrap with a PID namespace, whose first process takes everything with
it. `Subreaper`: a parent that kills what is left, where namespaces cannot be had.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, assert_never

from colony.core.lines import clip
from colony.errors import Refused
from colony.host.call import REAPER, CallResult, call
from colony.host.clock import Clock

ENVIRONMENT: Final = 5
"""The descriptor from which bubblewrap reads the agent's environment: its own stays clean, so that
no variable of a project changes how the box is built, and no value stands on a command line."""

WHOLE_MACHINE: Final = ("--dev-bind", "/", "/", "--proc", "/proc")
"""The mounts of a box that hides nothing but the processes outside."""

PROOF_S: Final = 10.0

_INSTALL: Final = "install bubblewrap (the package `bubblewrap`)"
_OR_OFF: Final = "or set COLONY_SANDBOX=off to run agents without a sandbox"


class NoBox(Refused):
    """A box could not be built; the message is bubblewrap's own last line."""

    code = "no_box"


@dataclass(frozen=True, slots=True)
class Namespaces:
    """A box of `bwrap`. `mounts` are bubblewrap's options that say what is seen inside."""

    bwrap: str
    mounts: tuple[str, ...] = WHOLE_MACHINE
    warning: str = ""
    """What a person must be told at every start; empty: nothing."""


@dataclass(frozen=True, slots=True)
class Subreaper:
    """No namespaces: a parent that kills what is left, and a sweep after it."""

    warning: str


Containment = Namespaces | Subreaper


def detect(
    mode: Literal["on", "off"], clock: Clock, search: str = "/usr/local/bin:/usr/bin:/bin"
) -> Containment:
    """The best containment of this machine, proved by using it. `search` is a PATH.

    `on` without namespaces is `Refused`. `off` drops the mounts only, never the containment.
    """
    problem = ""
    bwrap = shutil.which("bwrap", path=search)
    if bwrap is None:
        problem = "bwrap is not installed"
    else:
        problem = _problem(bwrap, clock)
    match mode:
        case "on":
            if bwrap is None or problem:
                remedy = _INSTALL if bwrap is None else "allow user namespaces here"
                raise NoBox(f"no sandbox: {problem}; {remedy}, {_OR_OFF}")
            return Namespaces(bwrap, warning="no mounts yet: agents see this machine's files")
        case "off":
            if bwrap is None or problem:
                return Subreaper(
                    "COLONY_SANDBOX=off: agents see this machine's files, and only a sweep ends "
                    f"what they leave running ({problem})"
                )
            return Namespaces(bwrap, warning="COLONY_SANDBOX=off: agents see this machine's files")
        case _:
            assert_never(mode)


def boxed(containment: Containment, folder: Path, argv: tuple[str, ...]) -> tuple[str, ...]:
    """The command line that runs `argv` in `folder`, contained.

    A bubblewrap box reads options, NUL after each, from the descriptor `ENVIRONMENT`.
    """
    match containment:
        case Namespaces(bwrap=bwrap):
            options = (*_options(containment), "--chdir", str(folder), "--args", str(ENVIRONMENT))
            return (bwrap, *options, "--", *argv)
        case Subreaper():
            return (sys.executable, *REAPER, str(os.getpid()), str(folder), *argv)
        case _:
            assert_never(containment)


def _options(box: Namespaces) -> tuple[str, ...]:
    return (
        *box.mounts,
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--die-with-parent",
        "--new-session",
    )


def _problem(bwrap: str, clock: Clock) -> str:
    """Why no box can be built here; empty where one was, and was a PID namespace of its own."""
    proof = ("/bin/sh", "-c", 'read -r pid rest </proc/self/stat; [ "$pid" = "$$" ] && echo "$$"')
    argv = (bwrap, *_options(Namespaces(bwrap)), "--", *proof)
    result = call(argv, {}, Path("/"), clock, timeout_s=PROOF_S)
    if result.stdout.strip() == b"2":
        return ""
    return f"bwrap cannot make namespaces here: {_last_line(result)}"


def _last_line(result: CallResult) -> str:
    lines = result.stderr.decode("utf-8", "replace").strip().splitlines()
    if lines:
        return clip(lines[-1], 200)
    return "it gave no answer in time" if result.timed_out else "it gave no reason"
