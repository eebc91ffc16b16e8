"""What a part does right now, for a person who waits: read from its stream as that grows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from colony.coding.protocol import CodingAgent
from colony.core.lines import clip
from colony.errors import ColonyError
from colony.host.streams import new_lines


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


class Follower:
    """Follows one part's stream. A stream that cannot be read tells nothing, and stops nothing."""

    def __init__(self, agent: CodingAgent, stream: Path) -> None:
        self._agent = agent
        self._stream = stream
        self._read = 0
        self.calls = 0
        self.last = ""

    def look(self) -> None:
        try:
            lines, self._read = new_lines(self._stream, self._read)
        except (ColonyError, OSError):
            return
        for step in self._agent.steps(lines):
            if step.kind == "call":
                self.calls += 1
                self.last = clip(f"{step.tool} {step.text}", 60)
            elif step.kind == "text":
                self.last = clip(step.text, 60)
