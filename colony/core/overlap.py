"""What is new in the end of a text that was read before, when only its end is ever shown."""

from __future__ import annotations

from collections.abc import Sequence


def appended(before: Sequence[str], now: Sequence[str]) -> Sequence[str]:
    """The entries of `now` after the longest beginning of it that `before` ends with.

    In time of the two lengths together, whatever they hold.
    """
    fits = [0] * len(now)
    length = 0
    for at in range(1, len(now)):
        length = _longer(now, fits, length, now[at])
        fits[at] = length
    length = 0
    for entry in before:
        if now and length == len(now):
            length = fits[length - 1]
        length = _longer(now, fits, length, entry)
    return now[length:]


def _longer(now: Sequence[str], fits: Sequence[int], length: int, entry: str) -> int:
    """The longest beginning of `now` that what was read ends with, after one entry more."""
    if not now:
        return 0
    while length and now[length] != entry:
        length = fits[length - 1]
    return length + 1 if now[length] == entry else 0
