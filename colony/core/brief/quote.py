"""Text from outside, made safe to stand inside a prompt: cleaned, cut, fenced.

Lengths are code points. A fence is longer than any run of backticks inside it, so that no text
can close its own fence, whatever its line endings are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from colony.core.lines import clip

GAP: Final = "[…]"
"""Stands where characters were left out."""

_RUN_MAX: Final = 60
"""A longer run of backticks is shortened: two fences of its length would outgrow the text."""
_UNFIT: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_LONG_RUN: Final = re.compile(f"`{{{_RUN_MAX + 1},}}")
_NOTE: Final = 280
"""Room for the line that follows a quote that was changed."""
SMALLEST: Final = 2 * _RUN_MAX + _NOTE + 200
"""The smallest room that `quote` keeps to."""


@dataclass(frozen=True, slots=True)
class Clean:
    """Text without NUL, other control characters and lone surrogates."""

    text: str
    replaced: int
    """How many places were changed."""


def clean(text: str) -> Clean:
    """Line breaks become `\\n`; what a prompt cannot carry becomes U+FFFD, one for one."""
    text, characters = _UNFIT.subn("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    text, runs = _LONG_RUN.subn("`" * _RUN_MAX, text)
    return Clean(text, characters + runs)


def cut(text: str, limit: int) -> tuple[str, int]:
    """`text` in at most `limit` code points, cut from its middle, and how many were left out.

    Two thirds of what is kept are its beginning.
    """
    if len(text) <= limit:
        return text, 0
    kept = max(0, limit - len(GAP) - 2)
    tail = kept // 3
    head = kept - tail
    end = text[len(text) - tail :]
    return f"{text[:head]}\n{GAP}\n{end}"[: max(0, limit)], len(text) - kept


def fence(text: str, kind: str = "text") -> str:
    """`text` between two lines of backticks, more of them than stand together anywhere inside."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{kind}\n{text}\n{ticks}"


def quote(text: str, room: int, rest: str, kind: str = "text") -> str:
    """`text` cleaned and fenced, in at most max(`room`, SMALLEST) code points.

    What was left out or replaced is said in a line after the fence; `rest` says where the whole
    text can be read.
    """
    tidy = clean(text.strip("\n"))
    space = max(room, SMALLEST) - 2 * (_RUN_MAX + 2) - len(kind) - _NOTE
    body, left_out = cut(tidy.text, space)
    notes = []
    if left_out:
        notes.append(f"{left_out:,} characters are left out at {GAP}; {clip(rest, 120)}.")
    if tidy.replaced:
        notes.append(f"{tidy.replaced:,} places that cannot be passed on were replaced.")
    note = f"\n({' '.join(notes)})" if notes else ""
    return f"{fence(body, kind)}{note}"


def code(text: str, limit: int = 300) -> str:
    """`text` as one inert line of Markdown code: names, paths and the like from outside."""
    line = clip(clean(text).text, limit)
    longest = max(map(len, re.findall("`+", line)), default=0)
    if not line:
        return "``"
    ticks = "`" * (longest + 1) if longest else "`"
    pad = " " if "`" in (line[0], line[-1]) else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


Block = Callable[[int], str]
"""One entry of a list: given the room it may take, its text."""


def within(blocks: Sequence[Block], room: int, rest: str) -> str:
    """Blocks one below the other, in at most `room` code points, left out from the middle.

    The newest stand last and are kept first: three quarters of the room are theirs. One block
    takes at most a quarter of the room, unless all fit.
    """
    texts = [block(room) for block in blocks]
    if _size(texts) <= room or len(texts) < 2:
        return "\n\n".join(texts)
    texts = [block(max(room // 4, SMALLEST)) for block in blocks]
    if _size(texts) <= room:
        return "\n\n".join(texts)
    notice = "({:,} entries are left out here; " + clip(rest, 120) + ".)"
    room -= len(notice) + 12
    tail = _fitting(texts[::-1], room * 3 // 4)
    head = _fitting(texts[: len(texts) - tail], room - _size(texts[len(texts) - tail :]))
    gone = len(texts) - head - tail
    return "\n\n".join([*texts[:head], notice.format(gone), *texts[len(texts) - tail :]])


def _fitting(texts: Sequence[str], room: int) -> int:
    """How many of the first texts fit."""
    for count, text in enumerate(texts):
        room -= len(text) + 2
        if room < 0:
            return count
    return len(texts)


def _size(texts: Sequence[str]) -> int:
    return sum(len(text) + 2 for text in texts)
