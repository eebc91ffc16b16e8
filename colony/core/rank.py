"""The order among tickets that are work: priority, then age, then number."""

from __future__ import annotations

from colony.core.ticket import Ticket


def rank(ticket: Ticket) -> tuple[int, int, int, str]:
    """Sorts what is worked first to the front. The project's name breaks the last tie."""
    return (-ticket.priority, ticket.created_ms, ticket.ref.number, ticket.ref.project)
