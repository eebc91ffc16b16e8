"""What a part does right now, for a person who waits: read from its stream as that grows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from colony.coding.protocol import CodingAgent
from colony.core.allowlist import masked
from colony.core.lines import clip
from colony.core.records import TAIL_MAX
from colony.errors import ColonyError
from colony.host.streams import new_lines

LAST_MAX: Final = 60
LINE_MAX: Final = 300
"""Characters of one line of the tail."""


@dataclass(frozen=True, slots=True)
class Doing:
    """One look at a part. `cost_usd` is what the session's earlier parts cost."""

    what: str
    """Ticket and kind of part."""
    elapsed_s: int
    calls: int
    """Tool calls so far."""
    last: str
    """The last tool call, or what the agent said last."""
    cost_usd: float


ShowDoing = Callable[[Doing | None], None]
"""Shows a look; None: the part is over."""


class Tail:
    """The last lines of what a session does, `TAIL_MAX` bytes of UTF-8 at most."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque()
        self._bytes = 0

    def add(self, line: str) -> None:
        self._lines.append(line)
        self._bytes += _size(line)
        while self._bytes > TAIL_MAX:
            self._bytes -= _size(self._lines.popleft())

    @property
    def text(self) -> str:
        """One line a step, each with its line break."""
        return "".join(f"{line}\n" for line in self._lines)


def _size(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1


class Follower:
    """Follows one part's stream. A stream that cannot be read tells nothing, and stops nothing.

    `secrets` are masked before anything is cut: half a secret is one, too. `tail` gets a line for
    each step.
    """

    def __init__(
        self,
        agent: CodingAgent,
        stream: Path,
        secrets: Mapping[str, str] | None = None,
        tail: Tail | None = None,
    ) -> None:
        self._agent = agent
        self._stream = stream
        self._secrets = secrets or {}
        self._tail = tail if tail is not None else Tail()
        self._read = 0
        self.calls = 0
        self.last = ""
        """The last call, or what the agent said last."""
        self.last_call = ""
        self.answered = False
        """The model said or did something; what its program says in its place is no answer."""

    def look(self) -> None:
        try:
            lines, self._read = new_lines(self._stream, self._read)
        except (ColonyError, OSError):
            return
        for step in self._agent.steps(lines):
            if step.kind == "result":
                continue
            self.answered = self.answered or not step.by_program
            calls = step.kind == "call"
            said = masked(f"{step.tool} {step.text}" if calls else step.text, self._secrets)
            self.last = clip(said, LAST_MAX)
            self._tail.add(clip(said, LINE_MAX))
            if calls:
                self.calls += 1
                self.last_call = self.last
