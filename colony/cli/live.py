"""The live line: what long work does right now, on a terminal and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status
from rich.text import Text

from colony.flow.following import Doing


class LiveLine:
    """Drawn on standard error while a part runs, and gone when it is over."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._console = Console(stderr=True, no_color=bool(environ.get("NO_COLOR")))
        self._status: Status | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.show(None)

    def show(self, doing: Doing | None) -> None:
        if doing is None:
            if self._status is not None:
                self._status.stop()
                self._status = None
            return
        # Text, not markup: what an agent says may hold brackets.
        text = Text(told(doing), no_wrap=True, overflow="ellipsis")
        if self._status is None:
            self._status = Status(text, console=self._console)
            self._status.start()
        self._status.update(text)


def told(doing: Doing) -> str:
    """The line's words."""
    minutes, seconds = divmod(doing.elapsed_s, 60)
    calls = f"{doing.calls} tool call{'s' if doing.calls != 1 else ''}"
    cost = f" · ${doing.cost_usd:.2f} before" if doing.cost_usd else ""
    last = f" · {doing.last}" if doing.last else ""
    return f"{doing.what} · {minutes}:{seconds:02} · {calls}{cost}{last}"
