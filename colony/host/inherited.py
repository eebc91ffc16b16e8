"""Descriptors that this process would hand on to every program it starts."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


def inherited() -> Iterator[int]:
    """Those that this process itself was given, beyond the standard ones."""
    with os.scandir("/proc/self/fd") as entries:
        numbers = [int(entry.name) for entry in entries]
    for number in numbers:
        with contextlib.suppress(OSError):  # the listing's own descriptor is closed by now
            if number > 2 and os.get_inheritable(number):
                yield number
