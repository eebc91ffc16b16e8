"""What a session did, as text for the controller: one numbered entry a step.

A step's further lines are indented, so that nothing an agent or a tool wrote can look like a
step of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, assert_never

from colony.core.brief.quote import clean, cut
from colony.core.lines import clip
from colony.core.turn import Step

STEP_MAX: Final = 2_000
"""Characters of one step's text; a longer one is cut from its middle."""
HEAD: Final = 30_000
TAIL: Final = 50_000
"""Of a transcript that is longer than both, these first and last characters are kept."""


def transcript(steps: Iterable[Step]) -> str:
    """One part's steps: at most HEAD + TAIL characters, and a line that says what is missing."""
    return _window(_entries(steps))


def transcript_of_parts(parts: Sequence[tuple[str, Iterable[Step]]]) -> str:
    """Several parts under `Part 1 — <title>`, `Part 2 — …`; the limits are those of the whole."""
    return _window(_parted(parts))


def _parted(parts: Sequence[tuple[str, Iterable[Step]]]) -> Iterator[str]:
    for number, (title, steps) in enumerate(parts, 1):
        yield f"## Part {number} — {clip(title, 120)}\n"
        yield from _entries(steps)


def _entries(steps: Iterable[Step]) -> Iterator[str]:
    number = 0
    for number, step in enumerate(steps, 1):
        yield f"[{number}] {_label(step)}: {_indented(step.text)}\n"
    if not number:
        yield "(no steps were recorded)\n"


def _label(step: Step) -> str:
    tool = clip(step.tool, 80) or "a tool"
    match step.kind:
        case "text":
            return "the agent says"
        case "call":
            return f"the agent calls {tool}"
        case "result":
            return f"{tool} answers"
        case _:
            assert_never(step.kind)


def _indented(text: str) -> str:
    lines = cut(clean(text.strip()).text, STEP_MAX)[0].splitlines()
    return "\n    ".join(lines)


def _window(pieces: Iterable[str]) -> str:
    """The joined pieces: whole, or their first HEAD and last TAIL characters.

    Holds no more than a little over that in memory, however long the stream is.
    """
    head = ""
    tail: deque[str] = deque()
    kept = dropped = 0
    for piece in pieces:
        space = HEAD - len(head)
        head += piece[:space]
        rest = piece[space:]
        if rest:
            tail.append(rest)
            kept += len(rest)
        while tail and kept - len(tail[0]) >= TAIL:
            kept -= len(tail[0])
            dropped += len(tail.popleft())
    end = "".join(tail)
    dropped += max(0, kept - TAIL)
    if dropped:
        head += f"\n[… {dropped:,} characters of the middle are left out …]\n"
    return (head + end[-TAIL:]).rstrip("\n")
