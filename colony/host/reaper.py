"""A parent for one program that leaves nothing of it behind. Run as a script, never imported.

    python -I -S reaper.py PARENT FOLDER PROGRAM [ARGUMENT…]

It starts PROGRAM in FOLDER. Whatever the program leaves behind, in whatever session or process
group, becomes a child of the reaper (`PR_SET_CHILD_SUBREAPER`) and is killed when the program ends
or when SIGTERM asks for it. The death of the thread that started the reaper counts as SIGTERM
(`PR_SET_PDEATHSIG`).
It ends as the program ended: same exit code, same signal.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
NOT_FOUND = 127
NOT_STARTED = 126
PARENT_GONE = 70


def main(parent: int, folder: str, program: list[str]) -> None:
    # Blocked signals wait to be fetched one by one: none is lost between two looks.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGCHLD})
    libc = ctypes.CDLL(None)
    # SIGTERM, not SIGKILL: when the caller dies there is still the rest to be killed.
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(PARENT_GONE)
    reaper = os.getpid()
    child = os.fork()
    if child == 0:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != reaper:
            os._exit(PARENT_GONE)
        become(folder, program)
    status = watch(child)
    kill_the_rest()
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # the core file, if any, is the program's
    end_as(status)


def become(folder: str, program: list[str]) -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.chdir(folder)
        os.execvpe(program[0], program, environment())  # noqa: S606
    except OSError as problem:
        os.write(2, os.fsencode(f"{problem.filename or program[0]}: {problem.strerror}\n"))
        os._exit(NOT_FOUND if isinstance(problem, FileNotFoundError) else NOT_STARTED)


def environment() -> dict[bytes, bytes]:
    """As this process got it: Python itself may have added a locale since."""
    with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - pathlib loads slowly
        entries = file.read().split(b"\0")
    return dict(entry.split(b"=", 1) for entry in entries if b"=" in entry)


def watch(child: int) -> int:
    """Reap whatever ends, until the program does; its wait status."""
    asked = False
    while True:
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended == child:
            return status
        if ended:
            continue
        if asked:
            os.kill(child, signal.SIGKILL)
        asked = signal.sigwait({signal.SIGTERM, signal.SIGCHLD}) == signal.SIGTERM or asked


def kill_the_rest() -> None:
    """Kill the children until there are none: those of a killed child become ours, too.

    Only own children are killed, by pid: a pid that we have not reaped cannot be used again.
    """
    while True:
        for pid in children():
            try:
                os.kill(pid, signal.SIGKILL)
            except PermissionError:
                return
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def children() -> list[int]:
    """Pids of the direct children, ended ones included."""
    found = []
    me = os.getpid()
    with os.scandir("/proc") as entries:
        names = [entry.name for entry in entries if entry.name.isdecimal()]
    for name in names:
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - pathlib loads slowly
                text = file.read()
        except OSError:
            continue
        if int(text[text.rindex(b")") + 2 :].split()[1]) == me:
            found.append(int(name))
    return found


def end_as(status: int) -> None:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
