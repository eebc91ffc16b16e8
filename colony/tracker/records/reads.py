"""The reads of records. Apart from those of tickets, which short commands make alone."""

from __future__ import annotations

from typing import Protocol

from colony.core.records import HostRecord, SessionRecord
from colony.tracker.reads import Reads


class RecordReads(Reads, Protocol):
    """All reads of a tracker."""

    def sessions(
        self, project: str | None = None, number: int | None = None, *, running: bool = False
    ) -> tuple[SessionRecord, ...]:
        """Oldest first; `running`: those only that have not ended. Empty where the tracker keeps
        none (feature `sessions`)."""
        ...

    def session(self, session: str) -> SessionRecord:
        """NotFound: no such session was told of."""
        ...

    def tail(self, session: str) -> str:
        """The last that a running session said; empty where nothing was told."""
        ...

    def hosts(self) -> tuple[HostRecord, ...]: ...
