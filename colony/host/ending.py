"""Ending processes: SIGTERM, a grace, SIGKILL, each by its pidfd."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from colony.host.clock import Clock
from colony.host.identity import ProcessId, has_ended, open_process

GRACE_S: Final = 5.0
"""Between SIGTERM and SIGKILL."""
DYING_S: Final = 5.0
"""After SIGKILL; what is still there then is stuck in the kernel."""

Ended = Literal["TERM", "KILL", "gone", "survived"]
"""The signal that ended it; `gone`: it had ended by itself; `survived`: even SIGKILL did not."""


def end_process(process: ProcessId, clock: Clock, grace_s: float = GRACE_S) -> Ended:
    """End that very process; another one that has its pid by now is not touched."""
    return end_processes([process], clock, grace_s)[0]


def end_processes(
    processes: Sequence[ProcessId], clock: Clock, grace_s: float = GRACE_S
) -> tuple[Ended, ...]:
    """End all of them at once; the answers stand in the order of `processes`."""
    ended: dict[ProcessId, Ended] = dict.fromkeys(processes, "gone")
    held: dict[ProcessId, int] = {}
    try:
        for process in processes:
            pidfd = open_process(process)
            if pidfd is not None:
                held[process] = pidfd
        steps: tuple[tuple[signal.Signals, Ended, float], ...] = (
            (signal.SIGTERM, "TERM", grace_s),
            (signal.SIGKILL, "KILL", DYING_S),
        )
        left = list(held)
        for number, word, seconds in steps:
            for process in left:
                send(held[process], number)
                ended[process] = word
            left = _still_there(left, held, clock, seconds)
        ended.update(dict.fromkeys(left, "survived"))
    finally:
        for pidfd in held.values():
            os.close(pidfd)
    return tuple(ended[process] for process in processes)


def send(pidfd: int, number: signal.Signals) -> None:
    """Send a signal; a process that has ended, or is not ours to end, is left alone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        signal.pidfd_send_signal(pidfd, number)


def _still_there(
    processes: Iterable[ProcessId], held: dict[ProcessId, int], clock: Clock, seconds: float
) -> list[ProcessId]:
    until = clock.boot_s() + seconds
    return [
        process for process in processes if not has_ended(held[process], until - clock.boot_s())
    ]
