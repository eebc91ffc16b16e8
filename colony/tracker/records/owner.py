"""Whose word a session's row is: others read it, and `deployed` posts its report from any host."""

from __future__ import annotations

from typing import Final

from colony.core.markers import LeaseLine, marker_of
from colony.core.ticket import Me, Ref
from colony.errors import Forbidden
from colony.tracker.sql import history, records
from colony.tracker.sql.engine import Transaction

_TAKING: Final = frozenset({"started", "salvage", "resumed", "renewed"})


def check(db: Transaction, me: Me, session: str, ref: Ref) -> None:
    """Forbidden: the row is another machine's. `ref` is where a new row is about to lie.

    The row is of the machine that wrote it first. While none is noted, it is of the one that took
    the ticket for this session: nobody comes before it with a row of that name.
    """
    row = records.owned(db, session)
    owner = None if row is None else row.user_id
    if owner is None:
        owner = _taker(db, ref if row is None else row.ref, session)
    if owner is not None and owner != me.user_id:
        raise Forbidden(f"session {session[:40]!a} is another machine's")


def _taker(db: Transaction, ref: Ref, session: str) -> str | None:
    """User id; None where the ticket's history knows no lease of this session."""
    for event in history.naming(db, ref, session):
        line = marker_of(event)
        if isinstance(line, LeaseLine) and line.session == session and line.kind in _TAKING:
            return event.user_id
    return None
