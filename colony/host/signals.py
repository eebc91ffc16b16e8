"""Stop requests: signals as numbers to look at, and a descriptor that wakes whoever waits."""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
from collections.abc import Callable, Collection
from types import FrameType, TracebackType
from typing import Final, Self

STOPPING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StopSignals:
    """Within the `with` block a stop signal ends nothing: it is counted, and `fd` can be read.

    Only in the main thread. `wake` may be called from any thread.
    """

    stopping: tuple[signal.Signals, ...] = STOPPING

    def __init__(self) -> None:
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._before: dict[signal.Signals, object] = {}
        self.count = 0
        self.first: signal.Signals | None = None

    @property
    def fd(self) -> int:
        return self._read

    def __enter__(self) -> Self:
        for each in self.stopping:
            self._before[each] = signal.signal(each, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)  # type: ignore[arg-type]
        os.close(self._read)
        os.close(self._write)

    def wake(self) -> None:
        # A full pipe wakes as well as one more byte; a closed one has nobody left to wake.
        with contextlib.suppress(OSError):
            os.write(self._write, b".")

    def wait(self, seconds: float) -> None:
        """Wait that long, or until a signal or a wake-up comes."""
        select.select([self._read], [], [], max(0.0, seconds))
        self.drain()

    def drain(self) -> None:
        """Forget earlier wake-ups."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._read, 4096):
                pass

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self.count += 1
        self.first = self.first or signal.Signals(number)
        self.wake()


class LoopSignals(StopSignals):
    """As `StopSignals`, for a loop that waits for processes too; SIGHUP asks it to read again."""

    stopping = (signal.SIGTERM, signal.SIGINT)

    def __init__(self) -> None:
        super().__init__()
        self.on_stop: Callable[[int], object] = lambda _: None
        """Called in the handler of a stop, with how many there were: also while whoever waits is
        in the middle of something else."""
        self.again = False
        """SIGHUP came since this was last set to False."""

    def __enter__(self) -> Self:
        super().__enter__()
        self._before[signal.SIGHUP] = signal.signal(signal.SIGHUP, self._note_again)
        return self

    def wait_for(self, pidfds: Collection[int], seconds: float) -> frozenset[int]:
        """Wait until one of these processes ends, a signal or a wake-up comes, or the time is over:
        the processes that have ended."""
        poller = select.poll()
        for fd in (self.fd, *pidfds):
            poller.register(fd, select.POLLIN)
        ready = poller.poll(math.ceil(max(0.0, seconds) * 1000))
        self.drain()
        return frozenset(fd for fd, _ in ready if fd != self.fd)

    def _note(self, number: int, frame: FrameType | None) -> None:
        super()._note(number, frame)
        self.on_stop(self.count)

    def _note_again(self, _number: int, _frame: FrameType | None) -> None:
        self.again = True
        self.wake()
