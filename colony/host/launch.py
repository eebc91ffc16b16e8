"""Launching a box: its descriptors, its environment, and nothing of Colony's own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import signal
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.errors import Refused, UsageProblem
from colony.host.box import FILTER, OPTIONS, Containment, Namespaces, NoBox, box_options, boxed
from colony.host.files import PRIVATE_FILE, Unsafe, write_problem
from colony.host.gate import GO, READY, gated
from colony.host.inherited import inherited

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_ABOVE: Final = 10
"""Own descriptors lie from here on, so that none is in the way when the box gets 0 to 6."""
_SAFELY: Final = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class Command:
    """A program to run, with exactly this environment, in `cwd`.

    Its input is read from a file, its outputs are appended to files (made 0600), which may be one
    and the same. Variables that belong to the shell (`gate.SHELLS_OWN`) are not passed on.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    stdin: Path
    stdout: Path
    stderr: Path


@dataclass(frozen=True, slots=True)
class Launched:
    """The outermost process of a box, and our ends of the gate's two pipes."""

    pid: int
    pidfd: int
    ready: int
    go: int


def launch(command: Command, containment: Containment, held: contextlib.ExitStack) -> Launched:
    """Start the box; the descriptors of the answer are closed by `held`.

    Closing `go` unused ends the gate, and the box with it.
    """
    check(command)
    argv = boxed(containment, command.cwd, gated(command.argv))
    with contextlib.ExitStack() as theirs:
        go_read, go_write = os.pipe()
        go = _move(go_write, held)
        files = {GO: _move(go_read, theirs)}
        ready_read, ready_write = os.pipe()
        ready = _move(ready_read, held)
        files[READY] = _move(ready_write, theirs)
        for number, opened in enumerate(_standard_files(command)):
            files[number] = _move(opened, theirs)
        env = command.env
        if isinstance(containment, Namespaces):
            options = (*box_options(containment, command.cwd), *_setting(env))
            files[OPTIONS] = _move(_in_memory("options", _listed(options)), theirs)
            if containment.hardening is not None and containment.hardening.filter:
                files[FILTER] = _move(_in_memory("filter", containment.hardening.filter), theirs)
            env = {name: value for name, value in env.items() if name == "COLONY_SESSION"}
        pid = _start(argv, env, files)
    pidfd = os.pidfd_open(pid)
    held.callback(os.close, pidfd)
    return Launched(pid, pidfd, ready, go)


def check(command: Command) -> None:
    """`UsageProblem`, `Refused`: it cannot be run as it stands; nothing was started."""
    program = command.argv[0] if command.argv else ""
    if not program or program.startswith("-") or "=" in program:
        raise UsageProblem(f"{program!r} cannot be run: no program, or `=` in its path")
    for name, value in command.env.items():
        if not _NAME.fullmatch(name):
            raise UsageProblem(f"environment: {name!r} is no name that a shell passes on")
        if not _passable(value):
            raise UsageProblem(f"environment: the value of {name} holds what no program can get")
    if not all(_passable(word) for word in command.argv):
        raise UsageProblem("the command line holds what no program can get (NUL)")
    if not command.cwd.is_dir():
        raise Refused(f"{command.cwd}: no such folder")


def _passable(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _move(fd: int, stack: contextlib.ExitStack) -> int:
    """The same file under a high number, closed with `stack`."""
    try:
        moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _ABOVE)
    finally:
        os.close(fd)
    stack.callback(os.close, moved)
    return moved


def _standard_files(command: Command) -> Iterator[int]:
    appending = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    yield _open(command.stdin, os.O_RDONLY)
    yield _open(command.stdout, appending)
    yield _open(command.stderr, appending)


def _open(path: Path, flags: int) -> int:
    """A regular file, or /dev/null; never a link, never something that could block."""
    try:
        fd = os.open(path, flags | _SAFELY, PRIVATE_FILE)
    except FileNotFoundError:
        raise Refused(f"{path}: no such file") from None
    except (OSError, ValueError) as problem:
        raise write_problem(problem, str(path)) from None
    if not stat.S_ISREG(os.fstat(fd).st_mode) and path != Path(os.devnull):
        os.close(fd)
        raise Unsafe(f"{path}: is not a file")
    os.set_blocking(fd, True)
    return fd


def _setting(env: Mapping[str, str]) -> tuple[str, ...]:
    """bubblewrap's options that set the environment."""
    return tuple(word for name, value in env.items() for word in ("--setenv", name, value))


def _listed(options: tuple[str, ...]) -> bytes:
    return b"".join(os.fsencode(word) + b"\0" for word in options)


def _in_memory(name: str, data: bytes) -> int:
    """A descriptor from which `data` can be read; no other process sees it."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC)
    with os.fdopen(fd, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _start(argv: tuple[str, ...], env: Mapping[str, str], files: Mapping[int, int]) -> int:
    """A new session with these descriptors alone, every signal as a fresh program has it."""
    actions: list[tuple[int, int] | tuple[int, int, int]] = [
        (os.POSIX_SPAWN_CLOSE, fd) for fd in inherited()
    ]
    actions += [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in files.items()]
    try:
        return os.posix_spawn(
            argv[0],
            argv,
            env,
            file_actions=actions,
            setsid=True,
            setsigmask=(),
            setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
        )
    except OSError as problem:
        raise NoBox(f"{argv[0]}: not started: {(problem.strerror or '').lower()}") from None
