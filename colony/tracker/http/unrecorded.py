"""A tracker without records of sessions and hosts: what is told is lost, what is asked is empty."""

from __future__ import annotations

from colony.core.records import HostRecord, SessionRecord
from colony.errors import NotFound


class Unrecorded:
    """That part of a `Tracker`. Run folders hold what such a server does not."""

    def sessions(
        self,
        project: str | None = None,  # noqa: ARG002
        number: int | None = None,  # noqa: ARG002
        *,
        running: bool = False,  # noqa: ARG002
    ) -> tuple[SessionRecord, ...]:
        return ()

    def session(self, session: str) -> SessionRecord:  # noqa: ARG002
        raise NotFound("this tracker keeps no records of sessions: look into the run folders")

    def tail(self, session: str) -> str:  # noqa: ARG002
        return ""

    def hosts(self) -> tuple[HostRecord, ...]:
        return ()

    def put_session(self, record: SessionRecord) -> None:
        """Lost."""

    def put_tail(self, session: str, text: str) -> None:
        """Lost."""

    def put_host(self, record: HostRecord) -> None:
        """Lost."""
