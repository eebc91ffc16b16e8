"""Stop requests: signals as numbers to look at, and a descriptor that wakes whoever waits.

A loop waits for more: for processes that end, and for the signal to read its files again.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
from collections.abc import Callable, Collection
from types import FrameType, TracebackType
from typing import Final, Self

LAST: Final = 3
"""So many stops a loop counts; one more ends it."""
STOPPING: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StopSignals:
    """Within the `with` block a stop signal ends nothing: it is counted, and `fd` can be read.

    Only in the main thread. `wake` may be called from any thread.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._before: dict[signal.Signals, object] = {}
        self.count = 0
        self.first: signal.Signals | None = None

    @property
    def fd(self) -> int:
        return self._read

    def __enter__(self) -> Self:
        for each in STOPPING:
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

    def _note(self, number: int, frame: FrameType | None) -> None:
        del frame
        self.count += 1
        self.first = self.first or signal.Signals(number)
        self.wake()


class LoopSignals(StopSignals):
    """As `StopSignals`, for a loop that is told by SIGHUP to read its files again.

    `count` tells a second stop from a third.
    """

    def __init__(self, *, terminal: bool = False) -> None:
        """`terminal`: SIGHUP says that it is gone, which is a stop."""
        super().__init__()
        self._terminal = terminal
        self._read_again = False
        self.on_stop: Callable[[int], object] = lambda _: None
        """Called in the handler of a stop, with how many there were: also while whoever waits is
        in the middle of something else."""

    @property
    def reads_again(self) -> bool:
        """SIGHUP came and was not acted on yet."""
        return self._read_again

    def take_read_again(self) -> bool:
        """SIGHUP came since this was last asked."""
        asked, self._read_again = self._read_again, False
        return asked

    def wait_for(self, seconds: float, pidfds: Collection[int]) -> frozenset[int]:
        """Wait that long, or until a signal or a wake-up comes, or one of the processes has ended:
        those that have."""
        poller = select.poll()
        for fd in (self.fd, *pidfds):
            poller.register(fd, select.POLLIN)
        ready = poller.poll(math.ceil(max(0.0, seconds) * 1000))
        self.drain()
        return frozenset(fd for fd, _ in ready) - {self.fd}

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP and not self._terminal:
            self._read_again = True
            self.wake()
        else:
            super()._note(number, frame)
            self.on_stop(self.count)
            if self.count >= LAST:
                # Nothing of the loop is left to be ended in order: where it hangs in a write that
                # nobody reads, whoever stops it once more shall not need SIGKILL.
                for each in (signal.SIGTERM, signal.SIGINT):
                    signal.signal(each, signal.SIG_DFL)
