"""What all sessions on a ticket together may cost: the setting, or a person's word on the ticket.

The last `/budget $N` of somebody who may order work takes the place of the setting, whether it is
more or less. A cap is US cents; 0 stands for none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from colony.core.keywords import Keyword, keyword_of
from colony.core.money import NANOS_A_CENT
from colony.core.people import People, may_order
from colony.core.ticket import Event, Ticket

BUDGET_SOURCE: Final = "colony-budget:"
"""Begins the source of the question that is asked once the cap is reached."""


def cap_of(events: Iterable[Event], people: People, setting_cents: int) -> int:
    """What the ticket of this history may cost."""
    cap = setting_cents
    for event in events:
        said = _said(event)
        if said and may_order(event, people):
            cap = said
    return cap


def may_be_capped(events: Iterable[Event], setting_cents: int) -> bool:
    """False: no cap holds, whoever the people are."""
    return setting_cents > 0 or any(_said(event) for event in events)


def _said(event: Event) -> int:
    said = keyword_of(event)
    return said.number if isinstance(said, Keyword) and said.word == "budget" else 0


def was_asked(ticket: Ticket) -> bool:
    """The cap was reached before: whether it still is, only the history says."""
    return any(child.source.startswith(BUDGET_SOURCE) for child in ticket.children)


def is_used_up(cap_cents: int, cost_cents: int) -> bool:
    return 0 < cap_cents <= cost_cents


def limit_usd(own_usd: float | None, left_cents: int | None, spent_nanos: int) -> float | None:
    """The most dollars that a run may cost: its own limit, or what is left of the ticket's cap.

    `left_cents` is what was left when the session began, None without a cap; `spent_nanos` is what
    the session has cost since. None: no limit; 0: nothing is left. Fractions of a cent are rounded
    up: a run that is stopped at this limit has reached the cap.
    """
    if left_cents is None:
        return own_usd
    left = max(0, left_cents * NANOS_A_CENT - spent_nanos)
    left_usd = -(-left // NANOS_A_CENT) / 100
    return left_usd if own_usd is None else min(own_usd, left_usd)
