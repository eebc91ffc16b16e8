"""Which range of ports a session gets: disjoint from every live session's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Range = tuple[int, int]
"""First and last port, both included."""


def parse_range(text: str) -> Range | None:
    """`8700-8799` as a range; None for anything else."""
    first, dash, last = text.partition("-")
    if not dash or not (first.isascii() and first.isdigit() and last.isascii() and last.isdigit()):
        return None
    span = (int(first), int(last))
    return span if 1 <= span[0] <= span[1] <= 65535 else None


def show_range(span: Range) -> str:
    return f"{span[0]}-{span[1]}"


def free_ranges(pool: Range, size: int, taken: Iterable[Range]) -> Iterator[Range]:
    """Every block of `size` ports of the pool that touches no taken range, lowest first."""
    held = tuple(taken)
    for first in range(pool[0], pool[1] - size + 2, size):
        block = (first, first + size - 1)
        if all(block[1] < low or high < block[0] for low, high in held):
            yield block
